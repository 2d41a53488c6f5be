"""From a folder of images and the names of classes to a campaign: the settings that suit a person."""

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from versionspace.campaign.campaign import Campaign
from versionspace.campaign.datasets import open_for_labelling
from versionspace.campaign.images import draw_roles
from versionspace.campaign.setup import absolute_path
from versionspace.config import Config, answered_by_person
from versionspace.config.toml import validated
from versionspace.data import Dataset
from versionspace.errors import InputError
from versionspace.label.import_labels import Imported, began_with, counted, imported, left_alone, taken_in
from versionspace.query.api import find
from versionspace.store.layout import Folder, is_campaign, read_config

BUDGET = 300
AUDIT = 50
MEMBERS = 10
METHOD = "gvd-batch"
SIZES = {"small": 32, "heads": 160}
"""Pixels a side: a small network trained from nothing needs few, and is eight times as fast for it; a pretrained one
needs what it was made for."""
LEAST = 30
"""Fewer images than this are labelled faster by hand."""


def campaign_folder(photos: Path, given: Path | None) -> Path:
    """Beside the images, never among them.

    >>> campaign_folder(Path("/photos/cats"), None).as_posix()
    '/photos/cats.versionspace'
    """
    root = absolute_path(photos)
    chosen = absolute_path(given) if given else root.with_name(f"{root.name}.versionspace")
    if chosen.resolve() == root.resolve() or chosen.resolve().is_relative_to(root.resolve()):
        raise InputError(
            "--campaign", expected="a folder outside the images", got=str(chosen),
            fix=f"For example {root.with_name(f'{root.name}.versionspace')}.",
        )  # fmt: skip
    return chosen


def default_net() -> str:
    """Heads on the features of a pretrained network where one is installed, else the small ConvNet."""
    if find_spec("versionspace.ensemble.heads") is None:
        return "small"
    available = getattr(import_module("versionspace.ensemble.heads"), "available", None)
    return "heads" if available is not None and available() else "small"


def suited(
    photos: Path,
    classes: Sequence[str],
    dataset: Dataset,
    *,
    budget: int,
    net: str,
    method: str = METHOD,
    before: int = 0,
) -> Config:
    """The config of a new campaign; labels that were known ``before`` come on top of the budget."""
    if len(dataset.train) < LEAST:
        raise InputError(
            str(photos), expected=f"at least {LEAST} images", got=f"{len(dataset.train)} that can be read",
            fix="So few are labelled by hand in less time than it takes to train.",
        )  # fmt: skip
    audit = min(AUDIT, budget // 6, len(dataset.train) // 5)
    values = {
        "data": {"name": str(absolute_path(photos)), "classes": list(classes), "balanced": False}
        | ({"size": SIZES[net]} if net in SIZES else {}),
        "ensemble": {"net": net, "members": MEMBERS},
        "training": {"epochs": 60} if net == "small" else {},
        "query": {"method": method, "size": 10},
        "budget": {"total": budget + before, "audit": audit},
        "oracle": {"kind": "person"},
    }
    return validated(values, "label")


def label_folder(
    photos: str | Path | None = None,
    classes: Sequence[str] | None = None,
    *,
    budget: int | None = None,
    net: str | None = None,
    method: str | None = None,
    labels: str | Path | None = None,
    campaign: str | Path | None = None,
) -> Campaign:
    """The campaign of a folder of images, as ``versionspace label`` has it: begun, or gone on with.

    For a loop of your own, in a notebook say; the page goes on with what was answered there, and the other way round.

    Args:
        photos: the folder; not needed to go on with a ``campaign`` unless it was moved.
        classes: names to choose from; more can be added later.
        budget: labels to give, 300 where nothing is said, besides those there are; a larger one later goes on.
        net: "heads", "small", "conv2" …; by default "heads" where the backbone is installed, else "small".
        method: which images are asked for, one of ``versionspace methods``; by default "gvd-batch".
        labels: start from a labels.csv or an export of Label Studio (JSON); later it is left alone.
        campaign: where all is kept; by default the folder's name and ``.versionspace``, beside it.

    >>> import tempfile
    >>> import numpy as np
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as place:
    ...     photos = Path(place) / "photos"
    ...     photos.mkdir()
    ...     for i in range(40):
    ...         Image.fromarray(np.full((8, 8), 6 * i, np.uint8)).save(photos / f"{i}.png")
    ...     with label_folder(photos, ["dark", "bright"], budget=20, net="small") as campaign:
    ...         proposal = campaign.propose()
    ...         campaign.accept({image: "dark" for image in proposal.ids})
    ...         proposal.purpose, campaign.state.spent() == len(proposal.ids)
    ('audit', True)
    """
    photos = None if photos is None else Path(photos).expanduser()
    if photos is None and campaign is None:
        raise InputError("PHOTOS", expected="a folder of images, or --campaign", got="neither", fix="Name one.")
    kept = None if campaign is None else Path(campaign)
    folder = kept if photos is None else campaign_folder(photos, kept)
    assert folder is not None
    start = None if labels is None else Path(labels)
    config = begun(folder)
    if config is not None:
        found = None
        _unchanged(config, folder, classes, net, method)
    elif photos is None or classes is None:
        raise InputError(
            str(folder), expected="a folder of images and --classes to begin with", got="no campaign yet",
            fix="For example: versionspace label photos/ --classes cat,dog,other",
        )  # fmt: skip
    else:
        config, found = new(photos, classes, budget=budget or BUDGET, net=net, method=method, labels=start)
    opened = Campaign.create(folder, config, images=photos)
    try:
        if not opened.state.asks:  # begun now, or killed before it had taken them in
            taken_in(opened, found or _known(opened, start))
        elif start is not None and not left_alone(opened, start):
            _nothing_new("--labels", labels if counted(_known(opened, start), opened.images.roles) else None, folder)
        if budget is not None and (total := budget + began_with(opened)) > opened.budget:
            opened.reopen(total)
    except BaseException:
        opened.close()
        raise
    return opened


def _known(opened: Campaign, labels: Path | None) -> Imported:
    return imported(opened.dataset, tuple(opened.state.classes), labels, Path(opened.config.data.name))


def _unchanged(
    config: Config, folder: Path, classes: Sequence[str] | None, net: str | None, method: str | None
) -> None:
    if classes is not None and tuple(classes) != config.data.classes:
        _nothing_new("--classes", ",".join(classes), folder)
    if net != config.ensemble.net:
        _nothing_new("--net", net, folder)
    if method != config.query.method:
        _nothing_new("--method", method, folder)


def _nothing_new(option: str, value: object, folder: Path) -> None:
    if value is not None:
        raise InputError(
            option, expected=f"nothing new for the campaign in {folder}", got=str(value),
            fix="Leave it out to go on, or begin another with --campaign. Classes are added on the page.",
        )  # fmt: skip


def begun(folder: Path) -> Config | None:
    """The config of a campaign that is there already."""
    if not is_campaign(folder):
        return None
    config = read_config(Folder(folder).config)
    if not answered_by_person(config):
        raise InputError(
            str(folder), expected="a campaign that a person labels", got="one with known labels",
            fix="Choose another folder with --campaign, or go on with `versionspace resume`.",
        )  # fmt: skip
    return config


def class_names(text: str) -> tuple[str, ...]:
    """Names between commas, each once.

    >>> class_names("cat, dog,other")
    ('cat', 'dog', 'other')
    """
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if len(set(names)) < len(names) or len(names) < 2:
        raise InputError(
            "--classes", expected="two names or more, each once, between commas", got=repr(text),
            fix="For example --classes cat,dog,other.",
        )  # fmt: skip
    return names


def new(
    photos: Path,
    classes: Sequence[str],
    *,
    budget: int = BUDGET,
    net: str | None = None,
    method: str | None = None,
    labels: Path | None = None,
) -> tuple[Config, Imported]:
    """The config of a new campaign, and the labels that it starts from."""
    chosen = find(method or METHOD).name
    _storable(classes)
    dataset = open_for_labelling(str(absolute_path(photos)), tuple(classes), progress=None)
    links = _leaving(photos, dataset.train.files or ())
    if links:
        raise InputError(
            str(photos / links[0]), expected="files inside the folder", got="a link that leads out of it",
            fix="Copy the file into the folder, or pass the folder where it lies.",
        )  # fmt: skip
    found = imported(dataset, tuple(classes), labels, photos)
    suit = partial(suited, photos, classes, dataset, budget=budget, net=net or default_net(), method=chosen)
    before = len(counted(found, draw_roles(suit(), dataset)))
    return suit(before=before), found


def _storable(classes: Sequence[str]) -> None:
    for name in classes:
        if any(0xD800 <= ord(c) <= 0xDFFF for c in name):
            raise InputError(
                "--classes", expected="names in Unicode", got=repr(name),
                fix="Type the name anew, and rename the class's folder where there is one: it is in another encoding.",
            )  # fmt: skip


def _leaving(photos: Path, files: Sequence[str]) -> list[str]:
    """Files that are, or lie in, a link that leads out of the folder."""
    root = photos.resolve()
    away = {f.rpartition("/")[0] for f in files}
    away = {folder for folder in away if not (photos / folder).resolve().is_relative_to(root)}
    return [
        f for f in files
        if f.rpartition("/")[0] in away
        or ((photos / f).is_symlink() and not (photos / f).resolve().is_relative_to(root))
    ]  # fmt: skip
