"""Creation of a campaign from a folder of images and class names, with settings for a person who labels."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from versionspace.campaign import (
    Campaign,
    Datasets,
    absolute_path,
    computed_from_files,
    default_net,
    image_side,
    open_for_labelling,
    reject_target,
    set_target,
)
from versionspace.config import Config, answered_by_person, validate_config
from versionspace.data import Dataset, is_features_file, pair_with_features, read_features, without_features_message
from versionspace.errors import InputError
from versionspace.features import DEFAULT_EXTRACTOR, absolute_name
from versionspace.label.auth import stored_identity
from versionspace.label.import_labels import (
    ImportedLabels,
    already_imported,
    commit_import,
    imported_count,
    read_labels,
    usable_labels,
)
from versionspace.query import find
from versionspace.store import CampaignFolder, Lock, LockedError, is_campaign, read_stored_config
from versionspace.text import printable
from versionspace.types import is_count

BUDGET = 300
AUDIT = 50
MEMBERS = 10
METHOD = "pwd-cover"
LEAST = 30
"""Minimum number of images: fewer are labelled faster by hand."""
LEAST_BUDGET = 20
"""Minimum budget: fewer labels train no model worth having."""
MANY = 100_000
"""From this many images on, what happens after they are read takes more than a moment, and is said."""
_SIDE_WITH_FEATURES = 32
"""Pixels that images are decoded to if the learner does not see them: decoding a small folder finds damaged files."""

_log = logging.getLogger("versionspace.label")


@dataclass(frozen=True)
class GivenFeatures:
    """A features file for the images of a folder, and a text file with the name of the image of each row."""

    file: Path
    names: Path | None = None

    def config(self) -> dict[str, str]:
        """Return the values of the section ``data``."""
        names = {} if self.names is None else {"ids": str(absolute_path(self.names))}
        return {"features": str(absolute_path(self.file)), **names}


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
    extractor: str = DEFAULT_EXTRACTOR,
    before: int = 0,
    features: GivenFeatures | None = None,
    follow_links: bool = False,
    target: float | None = None,
) -> Config:
    """Return the config of a new campaign. ``before``: imported labels, which are added to the budget."""
    if len(dataset.train) < LEAST:
        raise InputError(
            str(photos), expected=f"at least {LEAST} images", got=f"{len(dataset.train)} that can be read",
            fix="Labelling so few by hand takes less time than training a model.",
        )  # fmt: skip
    audit = min(AUDIT, budget // 6, len(dataset.train) // 5)
    values: dict[str, dict[str, object]] = {
        "data": {
            "name": str(absolute_path(photos)),
            "classes": list(classes),
            "balanced": False,
            "follow_links": follow_links,
        },
        "ensemble": {"net": net, "members": MEMBERS, "extractor": extractor},
        "training": {"epochs": 60} if net == "small" else {},
        "query": {"method": method, "size": 10},
        "budget": {"total": budget + before, "audit": audit},
        "oracle": {"kind": "person"},
        "cold_start": {"method": "random"} if method == "random" else {},
        "stop": {} if target is None else {"target": target},
    }
    validate_config(values, "label")
    side = image_side(net, extractor) if features is None else _SIDE_WITH_FEATURES
    if side is not None:
        values["data"]["size"] = side
    if features is not None:
        values["data"] |= features.config()
    return validate_config(values, "label")


def label_folder(
    photos: str | Path | None = None,
    classes: str | Sequence[str] | None = None,
    *,
    budget: int | None = None,
    net: str | None = None,
    method: str | None = None,
    extractor: str | None = None,
    labels: str | Path | None = None,
    campaign: str | Path | None = None,
    features: str | Path | None = None,
    ids: str | Path | None = None,
    follow_links: bool | None = None,
    target: float | None = None,
) -> Campaign:
    """Create or resume the campaign of a folder of images, as ``versionspace label`` does.

    Use it for a loop of your own, for example in a notebook; the page continues with its answers, and vice versa.

    Args:
        photos: the folder; optional when an existing ``campaign`` is resumed, unless it was moved.
        classes: class names, as a list or separated by commas; more can be added later.
        budget: labels to give, at least 20 (default 300), not counting imported ones; a larger number later extends it.
        net: "heads", "small", "conv2" …; by default "heads" if the backbone is installed, else "small".
        method: the query method, see ``versionspace methods``; by default "pwd-cover".
        extractor: what "heads" see an image through, by default "lite0"; see docs/ensembles.md. It decides how large
            images are kept.
        labels: a CSV file or an export of Label Studio (JSON) to import when the campaign is created.
        campaign: where everything is stored; by default ``PHOTOS.versionspace`` beside the folder.
        features: a features file (`versionspace.data.read_features`), whose vectors the model uses in place of pixels.
            Images without features are left out. To resume, only if it was moved.
        ids: a text file with the name of the image of each row of ``features``, one on a line, relative to the folder;
            by default the ids in the features file.
        follow_links: whether links that lead out of the folder are followed (git-annex, DVC); by default they are left
            out, and listed in ``campaign.dataset.report``.
        target: the accuracy that is good enough, by default 0.8: the page advises to stop once the audit assures it.
            It can be changed at any time.

    Returns the campaign, which is closed at the end of a ``with`` block. Loop over it: every proposal has the ``ids``
    and the ``paths`` of the images to label next. After the loop, `Campaign.model` returns the classifier,
    `Campaign.predict` the classes of all other images, `Campaign.audit` the estimated accuracy, and `Campaign.measured`
    a row for each round. Raises InputError where the command would reject an option; LockedError if another process
    uses the campaign, with the address of its page if that is open.

    >>> import tempfile
    >>> import numpy as np
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as place:
    ...     photos = Path(place) / "photos"
    ...     photos.mkdir()
    ...     for i in range(40):
    ...         Image.fromarray(np.full((8, 8), 6 * i, np.uint8)).save(photos / f"{i}.png")
    ...     with label_folder(photos, "dark, bright", budget=20, net="small") as campaign:
    ...         for proposal in campaign:
    ...             bright = [np.asarray(Image.open(path)).mean() > 120 for path in proposal.paths]
    ...             campaign.accept({i: "bright" if b else "dark" for i, b in zip(proposal.ids, bright)})
    ...     names = {found.item.name: found.name for found in campaign.predict()}
    >>> campaign.state.ended, campaign.audit.images, len(names)
    ('budget', 3, 20)
    """
    photos = None if photos is None else Path(photos).expanduser()
    if photos is None and campaign is None:
        raise InputError("PHOTOS", expected="a folder of images, or --campaign", got="neither", fix="Name one.")
    names = None if classes is None else class_names(classes)
    if budget is not None:
        _reject_small_budget(budget)
    if target is not None:
        reject_target(target)
    kept = None if campaign is None else Path(campaign).expanduser()
    folder = kept if photos is None else campaign_folder(photos, kept)
    assert folder is not None
    _log.info("Reading %s", printable(photos or folder))
    start, vectors, rows = (None if file is None else Path(file).expanduser() for file in (labels, features, ids))
    config, datasets = existing_config(folder), Datasets()
    if config is not None:
        found = None
        _reject_changes(config, folder, names, net, method, extractor)
        if follow_links is not None and follow_links != config.data.follow_links:
            _reject_change("--follow-links", follow_links, folder)
        if config.data.features is None:
            _reject_change("--features", features, folder)
        if config.data.ids is None:
            _reject_change("--ids", ids, folder)
    elif photos is None or names is None:
        raise InputError(
            str(folder), expected="a folder of images and --classes to create a campaign", got="no campaign yet",
            fix="For example: versionspace label photos/ --classes cat,dog,other",
        )  # fmt: skip
    else:
        config, found = new_config(
            photos, names, budget=budget or BUDGET, net=net, method=method, extractor=extractor, labels=start,
            features=_given_features(vectors, rows), follow_links=bool(follow_links), datasets=datasets,
            target=target,
        )  # fmt: skip
    try:
        opened = Campaign.create(folder, config, images=photos, features=vectors, ids=rows, datasets=datasets)
    except LockedError as error:
        raise _in_use(folder, error) from error
    if left_out := without_features_message(opened.dataset):
        _log.warning("%s", left_out)
    try:
        if not opened.state.asks:  # new, or killed before the import
            commit_import(opened, found or _read_labels(opened, start))
        elif start is not None and not already_imported(opened, start):
            _reject_change(
                "--labels", labels if usable_labels(_read_labels(opened, start), opened.images.roles) else None, folder
            )
        if budget is not None and (total := budget + imported_count(opened)) > opened.budget:
            opened.reopen(total)
        if target is not None:
            set_target(opened, target)
    except BaseException:
        opened.close()
        raise
    return opened


def _given_features(file: Path | None, names: Path | None) -> GivenFeatures | None:
    if file is None and names is not None:
        raise InputError("--ids", expected="nothing without --features", got=str(names), fix="Pass both, or neither.")
    return None if file is None else GivenFeatures(file, names)


def _read_labels(opened: Campaign, labels: Path | None) -> ImportedLabels:
    return read_labels(opened.dataset, tuple(opened.state.classes), labels, Path(opened.config.data.name))


def _reject_changes(
    config: Config,
    folder: Path,
    classes: Sequence[str] | None,
    net: str | None,
    method: str | None,
    extractor: str | None,
) -> None:
    if classes is not None and tuple(classes) != config.data.classes:
        _reject_change("--classes", ",".join(classes), folder)
    if net != config.ensemble.net:
        _reject_change("--net", net, folder)
    if method != config.query.method:
        _reject_change("--method", method, folder)
    if extractor is not None and absolute_name(extractor) != config.ensemble.extractor:
        _reject_change("--extractor", extractor, folder)


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


def class_names(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names in a list, or in a text that separates them by commas, without spaces around them.

    Raises InputError for duplicates, fewer than two, names that are empty, no text or not Unicode.

    >>> class_names("cat, dog,other"), class_names(["cat", "dog, small"])
    (('cat', 'dog', 'other'), ('cat', 'dog, small'))
    """
    texts: Sequence[object] = given.rstrip(" ,").split(",") if isinstance(given, str) else list(given)
    names = tuple(text.strip() for text in texts if isinstance(text, str) and text.strip())
    if len(names) < max(2, len(texts)) or len(set(names)) < len(names):
        raise InputError(
            "--classes", expected="at least two different names, separated by commas", got=repr(given),
            fix="For example --classes cat,dog,other; in Python, classes=[\"cat\", \"dog\", \"other\"].",
        )  # fmt: skip
    _reject_surrogates(names)
    return names


def _reject_small_budget(budget: object) -> None:
    if not is_count(budget) or budget < LEAST_BUDGET:
        raise InputError(
            "--budget", expected=f"a whole number of labels, at least {LEAST_BUDGET}", got=repr(budget),
            fix=f"The default is {BUDGET}.",
        )  # fmt: skip


def _in_use(folder: Path, error: LockedError) -> LockedError:
    """Return the error for a campaign that another process uses, with the address of its page if it is open."""
    known = stored_identity(folder)
    if known is None or str(known.process) != Lock(folder).holder():
        return error
    return LockedError(
        str(folder), expected="a campaign that no other process is using",
        got=f"one whose page is open at {known.address}",
        fix="Label there, or stop that process first.",
    )  # fmt: skip


def new_config(
    photos: Path,
    classes: Sequence[str],
    *,
    budget: int = BUDGET,
    net: str | None = None,
    method: str | None = None,
    extractor: str | None = None,
    labels: Path | None = None,
    features: GivenFeatures | None = None,
    follow_links: bool = False,
    datasets: Datasets | None = None,
    target: float | None = None,
) -> tuple[Config, ImportedLabels]:
    """Return the config of a new campaign and the labels to import. ``datasets`` remembers the folder as it was read.

    No image of a large folder is decoded: its damaged files are found by what computes features.
    """
    if is_features_file(photos) and not photos.is_dir():
        raise InputError(
            str(photos), expected="a folder of images, which are shown to the person who labels", got="a features file",
            fix="Pass the folder, and the file with --features. Features alone: `versionspace run`, or "
            "versionspace.Campaign in a loop of your own.",
        )  # fmt: skip
    chosen, datasets = find(method or METHOD).name, datasets or Datasets()
    plain = features is None and not extractor
    net, extractor = net or (default_net() if plain else "heads"), extractor or DEFAULT_EXTRACTOR
    data: dict[str, object] = {"name": str(absolute_path(photos)), "classes": list(classes)}
    ensemble = {"net": net, "members": MEMBERS, "extractor": extractor}
    validate_config(
        {"data": data, "ensemble": ensemble, "query": {"method": chosen}, "budget": {"total": budget}}, "label"
    )
    side = image_side(net, extractor) if features is None else _SIDE_WITH_FEATURES
    options = {"follow_links": follow_links, "lazy": True} | ({} if side is None else {"size": side})
    dataset = open_for_labelling(str(absolute_path(photos)), tuple(classes), progress=None, **options)
    if len(dataset.train) >= MANY:
        _log.info("%s images found; drawing which of them are held out", f"{len(dataset.train):,}")
    if features is not None:
        dataset = pair_with_features(dataset, read_features(features.file), features.names)
    found = read_labels(dataset, tuple(classes), labels, photos)
    suit = partial(
        person_config, photos, classes, dataset, budget=budget, method=chosen, features=features,
        follow_links=follow_links, target=target, net=net, extractor=extractor,
    )  # fmt: skip
    if features is not None or computed_from_files(suit()):
        datasets.remember(suit(), dataset)
    before = len(usable_labels(found, datasets.draw(suit()).roles))
    return suit(before=before), found


def _reject_surrogates(classes: Sequence[str]) -> None:
    for name in classes:
        if any(0xD800 <= ord(c) <= 0xDFFF for c in name):
            raise InputError(
                "--classes", expected="names in Unicode", got=repr(name),
                fix="Enter the name again, and rename the class's folder if there is one: it uses another encoding.",
            )  # fmt: skip
