"""``versionspace label``: label images in the browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from versionspace.label import ServedPage


def label(
    photos: Annotated[
        Path | None,
        typer.Argument(metavar="PHOTOS", help="A folder of images; to resume, only if it was moved."),
    ] = None,
    classes: Annotated[str | None, typer.Option(help="Class names, separated by commas.", show_default=False)] = None,
    budget: Annotated[
        int | None, typer.Option(min=20, help="Label budget (default 300). Pass a larger number later to extend it.")
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
        str | None, typer.Option(help="Query method, see `versionspace methods` (default: gvd-batch).")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Import labels from a CSV file or a Label Studio export (JSON).")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Another than the default lets other machines connect.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port (default: the previous one, or a free one).")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Label images in the browser; a model trained in the background chooses which. Run it again to resume.

    Example: versionspace label photos/ --classes cat,dog,other --budget 200
    """
    from versionspace.label import class_names, label_folder

    found = label_folder(
        photos, None if classes is None else class_names(classes), budget=budget, net=net, method=method,
        labels=labels, campaign=campaign,
    )  # fmt: skip

    from versionspace.label import serve

    serve(found, host=host, port=port, browser=browser, say=lambda o: _say(o, host))


def _say(opened: "ServedPage", host: str) -> None:
    from versionspace.text import printable

    out = Console(highlight=False, soft_wrap=True)
    out.print(f"Label at [bold]{escape(opened.address)}[/]")
    out.print(f"Labels are stored in {escape(printable(opened.folder))}. Press Ctrl-C to stop; run it again to resume.")
    if host not in ("127.0.0.1", "localhost", "::1"):
        out.print(
            "[yellow]note[/] Anyone on this network who has the address can label. The connection is not encrypted, so "
            "others on the network can read the address."
        )
