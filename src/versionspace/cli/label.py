"""``versionspace label``: a page in the browser, where a person labels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from versionspace.errors import InputError

if TYPE_CHECKING:
    from versionspace.label.server import Opened


def label(
    photos: Annotated[
        Path | None, typer.Argument(metavar="PHOTOS", help="A folder of images; not needed to go on.")
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
    from versionspace.label.beginning import BUDGET, begun, campaign_folder, class_names, new
    from versionspace.label.imports import Imported

    if photos is None and campaign is None:
        raise InputError("PHOTOS", expected="a folder of images, or --campaign", got="neither", fix="Name one.")
    folder = campaign if photos is None else campaign_folder(photos, campaign)
    assert folder is not None
    config, found = begun(folder), Imported({})
    if config is None:
        if photos is None or classes is None:
            raise InputError(
                str(folder), expected="a folder of images and --classes to begin with", got="no campaign yet",
                fix="For example: versionspace label photos/ --classes cat,dog,other",
            )  # fmt: skip
        config, found = new(photos, class_names(classes), budget=budget or BUDGET, net=net, labels=labels)
    else:
        _unchanged(config, folder, classes, net, labels)

    from versionspace.campaign.campaign import Campaign
    from versionspace.label.server import serve

    opened = Campaign.create(folder, config)
    if budget is not None and budget > opened.budget:
        opened.reopen(budget)
    serve(opened, found, host=host, port=port, browser=browser, say=lambda o: _say(o, host))


def _unchanged(config: object, folder: Path, classes: str | None, net: str | None, labels: Path | None) -> None:
    from versionspace.config import Config
    from versionspace.label.beginning import class_names

    assert isinstance(config, Config)
    asked = {
        "--classes": None if classes is None or class_names(classes) == config.data.classes else classes,
        "--net": None if net == config.ensemble.net else net,
        "--labels": labels,
    }
    for option, value in asked.items():
        if value is not None:
            raise InputError(
                option, expected=f"nothing new for the campaign in {folder}", got=str(value),
                fix="Leave it out to go on, or begin another with --campaign. Classes are added on the page.",
            )  # fmt: skip


def _say(opened: "Opened", host: str) -> None:
    out = Console(highlight=False, soft_wrap=True)
    out.print(f"Label at [bold]{escape(opened.address)}[/]")
    out.print(f"Labels are kept in {escape(str(opened.folder))}. Ctrl-C stops; the same command goes on.")
    if host not in ("127.0.0.1", "localhost", "::1"):
        out.print(
            "[yellow]note[/] Others on this network can label with that address, and see it on its way: the "
            "connection is not encrypted."
        )
