"""``versionspace label``: a page in the browser, where a person labels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from versionspace.label.server import Opened


def label(
    photos: Annotated[
        Path | None, typer.Argument(metavar="PHOTOS", help="A folder of images; to go on, only if it was moved.")
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="Names between commas, e.g. cat,dog,other.", show_default=False)
    ] = None,
    budget: Annotated[int | None, typer.Option(min=20, help="Labels to give, 300 where not said; later, more.")] = None,
    campaign: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where all is kept; by default PHOTOS.versionspace.")
    ] = None,
    net: Annotated[
        str | None, typer.Option(help="heads, small, conv2, conv3, conv6 or resnet18; by default heads, else small.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="What is asked for: one of `versionspace methods`; by default gvd-batch.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Start from labels.csv or an export of Label Studio (JSON).")
    ] = None,
    host: Annotated[str, typer.Option(help="Let other machines in: an address of this one.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="By default the last one, or a free one.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Label images in the browser; a model trained meanwhile chooses which. The same command goes on later.

    Example: versionspace label photos/ --classes cat,dog,other --budget 200
    """
    from versionspace.label.create import class_names, label_folder

    found = label_folder(
        photos, None if classes is None else class_names(classes), budget=budget, net=net, method=method,
        labels=labels, campaign=campaign,
    )  # fmt: skip

    from versionspace.label.server import serve

    serve(found, host=host, port=port, browser=browser, say=lambda o: _say(o, host))


def _say(opened: "Opened", host: str) -> None:
    from versionspace.text import printable

    out = Console(highlight=False, soft_wrap=True)
    out.print(f"Label at [bold]{escape(opened.address)}[/]")
    out.print(f"Labels are kept in {escape(printable(opened.folder))}. Ctrl-C stops; the same command goes on.")
    if host not in ("127.0.0.1", "localhost", "::1"):
        out.print(
            "[yellow]note[/] Others on this network can label with that address, and see it on its way: the "
            "connection is not encrypted."
        )
