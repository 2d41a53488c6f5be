"""Creation of a campaign from a folder of images and class names, with settings for a person who labels."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from versionspace.campaign import Campaign, absolute_path, default_net, draw_roles, learner_kind, open_for_labelling
from versionspace.config import Config, answered_by_person, validate_config
from versionspace.data import Dataset
from versionspace.errors import InputError
from versionspace.label.import_labels import (
    ImportedLabels,
    already_imported,
    commit_import,
    imported_count,
    read_labels,
    usable_labels,
)
from versionspace.query import find
from versionspace.store import CampaignFolder, is_campaign, read_stored_config

BUDGET = 300
AUDIT = 50
MEMBERS = 10
METHOD = "gvd-batch"
LEAST = 30
"""Minimum number of images: fewer are labelled faster by hand."""


def campaign_folder(photos: Path, given: Path | None) -> Path:
    """Return where a campaign is stored: beside the images, never among them.

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


def person_config(
    photos: Path,
    classes: Sequence[str],
    dataset: Dataset,
    *,
    budget: int,
    net: str,
    method: str = METHOD,
    before: int = 0,
) -> Config:
    """Return the config of a new campaign. ``before``: imported labels, which are added to the budget."""
    if len(dataset.train) < LEAST:
        raise InputError(
            str(photos), expected=f"at least {LEAST} images", got=f"{len(dataset.train)} that can be read",
            fix="Labelling so few by hand takes less time than training a model.",
        )  # fmt: skip
    audit = min(AUDIT, budget // 6, len(dataset.train) // 5)
    side = learner_kind(net).image_side
    values = {
        "data": {"name": str(absolute_path(photos)), "classes": list(classes), "balanced": False}
        | ({} if side is None else {"size": side}),
        "ensemble": {"net": net, "members": MEMBERS},
        "training": {"epochs": 60} if net == "small" else {},
        "query": {"method": method, "size": 10},
        "budget": {"total": budget + before, "audit": audit},
        "oracle": {"kind": "person"},
    }
    return validate_config(values, "label")


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
    """Create or resume the campaign of a folder of images, as ``versionspace label`` does.

    Use it for a loop of your own, for example in a notebook; the page continues with its answers, and vice versa.

    Args:
        photos: the folder; optional when an existing ``campaign`` is resumed, unless it was moved.
        classes: class names; more can be added later.
        budget: labels to give (default 300), not counting imported ones; a larger number later extends it.
        net: "heads", "small", "conv2" …; by default "heads" if the backbone is installed, else "small".
        method: the query method, see ``versionspace methods``; by default "gvd-batch".
        labels: a CSV file or an export of Label Studio (JSON) to import when the campaign is created.
        campaign: where everything is stored; by default ``PHOTOS.versionspace`` beside the folder.

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
    config = existing_config(folder)
    if config is not None:
        found = None
        _reject_changes(config, folder, classes, net, method)
    elif photos is None or classes is None:
        raise InputError(
            str(folder), expected="a folder of images and --classes to create a campaign", got="no campaign yet",
            fix="For example: versionspace label photos/ --classes cat,dog,other",
        )  # fmt: skip
    else:
        config, found = new_config(photos, classes, budget=budget or BUDGET, net=net, method=method, labels=start)
    opened = Campaign.create(folder, config, images=photos)
    try:
        if not opened.state.asks:  # new, or killed before the import
            commit_import(opened, found or _read_labels(opened, start))
        elif start is not None and not already_imported(opened, start):
            _reject_change(
                "--labels", labels if usable_labels(_read_labels(opened, start), opened.images.roles) else None, folder
            )
        if budget is not None and (total := budget + imported_count(opened)) > opened.budget:
            opened.reopen(total)
    except BaseException:
        opened.close()
        raise
    return opened


def _read_labels(opened: Campaign, labels: Path | None) -> ImportedLabels:
    return read_labels(opened.dataset, tuple(opened.state.classes), labels, Path(opened.config.data.name))


def _reject_changes(
    config: Config, folder: Path, classes: Sequence[str] | None, net: str | None, method: str | None
) -> None:
    if classes is not None and tuple(classes) != config.data.classes:
        _reject_change("--classes", ",".join(classes), folder)
    if net != config.ensemble.net:
        _reject_change("--net", net, folder)
    if method != config.query.method:
        _reject_change("--method", method, folder)


def _reject_change(option: str, value: object, folder: Path) -> None:
    if value is not None:
        raise InputError(
            option, expected=f"no change for the campaign in {folder}", got=str(value),
            fix="Leave it out to resume, or create another campaign with --campaign. Classes are added on the page.",
        )  # fmt: skip


def existing_config(folder: Path) -> Config | None:
    """Return the config of an existing campaign, or None. Raises InputError if nobody labels it by hand."""
    if not is_campaign(folder):
        return None
    config = read_stored_config(CampaignFolder(folder).config)
    if not answered_by_person(config):
        raise InputError(
            str(folder), expected="a campaign that a person labels", got="one with known labels",
            fix="Choose another folder with --campaign, or use `versionspace resume`.",
        )  # fmt: skip
    return config


def class_names(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list. Raises InputError for duplicates and fewer than two.

    >>> class_names("cat, dog,other")
    ('cat', 'dog', 'other')
    """
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if len(set(names)) < len(names) or len(names) < 2:
        raise InputError(
            "--classes", expected="at least two different names, separated by commas", got=repr(text),
            fix="For example --classes cat,dog,other.",
        )  # fmt: skip
    return names


def new_config(
    photos: Path,
    classes: Sequence[str],
    *,
    budget: int = BUDGET,
    net: str | None = None,
    method: str | None = None,
    labels: Path | None = None,
) -> tuple[Config, ImportedLabels]:
    """Return the config of a new campaign and the labels to import."""
    chosen = find(method or METHOD).name
    _reject_surrogates(classes)
    dataset = open_for_labelling(str(absolute_path(photos)), tuple(classes), progress=None)
    links = _links_out(photos, dataset.train.files or ())
    if links:
        raise InputError(
            str(photos / links[0]), expected="files inside the folder", got="a link that leads out of it",
            fix="Copy the file into the folder, or pass the folder that contains it.",
        )  # fmt: skip
    found = read_labels(dataset, tuple(classes), labels, photos)
    suit = partial(person_config, photos, classes, dataset, budget=budget, net=net or default_net(), method=chosen)
    before = len(usable_labels(found, draw_roles(suit(), dataset)))
    return suit(before=before), found


def _reject_surrogates(classes: Sequence[str]) -> None:
    for name in classes:
        if any(0xD800 <= ord(c) <= 0xDFFF for c in name):
            raise InputError(
                "--classes", expected="names in Unicode", got=repr(name),
                fix="Enter the name again, and rename the class's folder if there is one: it uses another encoding.",
            )  # fmt: skip


def _links_out(photos: Path, files: Sequence[str]) -> list[str]:
    """Return the files that are, or are inside, a link that leads out of the folder."""
    root = photos.resolve()
    away = {f.rpartition("/")[0] for f in files}
    away = {folder for folder in away if not (photos / folder).resolve().is_relative_to(root)}
    return [
        f for f in files
        if f.rpartition("/")[0] in away
        or ((photos / f).is_symlink() and not (photos / f).resolve().is_relative_to(root))
    ]  # fmt: skip
