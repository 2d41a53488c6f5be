"""``versionspace label``: label images in the browser."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from versionspace.data import FolderReport
    from versionspace.label import ServedPage

_LISTED = 20
"""Files that are named if they are not read."""


def label(
    photos: Annotated[
        Path | None,
        typer.Argument(metavar="PHOTOS", help="A folder of images; to resume, only if it was moved."),
    ] = None,
    classes: Annotated[str | None, typer.Option(help="Class names, separated by commas.", show_default=False)] = None,
    budget: Annotated[
        int | None,
        typer.Option(help="Label budget, at least 20 (default 300). Pass a larger number later to extend it."),
    ] = None,
    campaign: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where everything is stored (default: PHOTOS.versionspace)."),
    ] = None,
    net: Annotated[
        str | None,
        typer.Option(help="heads, small, conv2, conv3, conv6 or resnet18 (default: heads if available, else small)."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="Query method, see `versionspace methods` (default: pwd-cover).")
    ] = None,
    extractor: Annotated[
        str | None,
        typer.Option(
            help="What heads see images through: lite0, lite1, lite2, hf:NAME_OR_FOLDER, timm:NAME, torchvision:NAME, "
            "onnx:FILE or package.module:function (default: lite0)."
        ),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Import labels from a CSV file or a Label Studio export (JSON).")
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Features of the images (.npy, .npz, .safetensors, .parquet), which the model uses instead of pixels.",
        ),
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Text file with the name of the image of each row of --features, relative to PHOTOS.",
        ),
    ] = None,
    follow_links: Annotated[
        bool | None,
        typer.Option(
            "--follow-links/--no-follow-links",
            show_default=False,
            help="Follow links that lead out of PHOTOS, as git-annex and DVC make them (default: leave them out).",
        ),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(
            show_default=False,
            help="Accuracy that is good enough, between 0 and 1 (default 0.8). The page advises to stop once a random "
            "sample assures it; it can be changed later.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Another than the default lets other machines connect.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port, which must be free (default: the previous one, or a free one)."),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Label images in the browser; a model trained in the background chooses which. Run it again to resume.

    Example: versionspace label photos/ --classes cat,dog,other --budget 200
    """
    from versionspace.label import label_folder

    with _showing_notes():
        found = label_folder(
            photos, classes, budget=budget, net=net, method=method, extractor=extractor, labels=labels,
            campaign=campaign, features=features, ids=ids, follow_links=follow_links, target=target,
        )  # fmt: skip

        from versionspace.label import serve

        serve(found, host=host, port=port, browser=browser, say=lambda o: _say(o, host, found.dataset.report))


@contextmanager
def _showing_notes() -> Iterator[None]:
    """Print what is worth knowing, such as how many labels were imported, and what the final model is trained on."""
    from versionspace.data import PROGRESS_LOG

    handler = logging.StreamHandler()
    logs = [logging.getLogger(name) for name in ("versionspace.label", PROGRESS_LOG)]
    before = [log.level for log in logs]
    for log in logs:
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        for log, level in zip(logs, before, strict=True):
            log.removeHandler(handler)
            log.setLevel(level)


def _not_read(report: "FolderReport | None") -> list[str]:
    """Return a heading and a line for each file that is not read, with the reason; no lines if all are read."""
    from versionspace.data import LEADS_OUT

    skipped = report.skipped if report else ()
    if not skipped:
        return []
    lines = [f"{len(skipped)} {'file is' if len(skipped) == 1 else 'files are'} not read:"]
    lines += [f"  {entry.file}: {entry.why}" for entry in skipped[:_LISTED]]
    if len(skipped) > _LISTED:
        lines.append(f"  and {len(skipped) - _LISTED} more")
    if any(entry.why == LEADS_OUT for entry in skipped):
        lines.append("--follow-links follows such links, in a new campaign.")
    return lines


def _say(opened: "ServedPage", host: str, report: "FolderReport | None") -> None:
    from versionspace.text import printable

    out = Console(highlight=False, soft_wrap=True)
    out.print(f"Label at [bold]{escape(opened.address)}[/]")
    out.print(f"Labels are stored in {escape(printable(opened.folder))}. Press Ctrl-C to stop; run it again to resume.")
    for line in _not_read(report):
        out.print(escape(printable(line)))
    if host not in ("127.0.0.1", "localhost", "::1"):
        out.print(
            "[yellow]note[/] Anyone on this network who has the address can label. The connection is not encrypted, so "
            "others on the network can read the address."
        )
