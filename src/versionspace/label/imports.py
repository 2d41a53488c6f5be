"""Labels that are known before the first click: class folders, labels.csv, or an export of Label Studio."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from versionspace.campaign.campaign import Campaign
from versionspace.campaign.pictures import Cut
from versionspace.campaign.rounds import proposed
from versionspace.data import Dataset
from versionspace.data.folder.table import read_rows
from versionspace.errors import InputError
from versionspace.label.matching import matched
from versionspace.label.studio import Named, choices
from versionspace.store.events import Event
from versionspace.store.ledger import Ledger
from versionspace.store.record import as_ids
from versionspace.store.replay import ImageId
from versionspace.types import Array

_log = logging.getLogger("versionspace.label")


@dataclass(frozen=True)
class Imported:
    """Classes by image, where they came from, and what named no image of the folder."""

    names: Mapping[ImageId, str]
    source: str = ""
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What else is to be said."""


def imported(
    dataset: Dataset, classes: Sequence[str], path: Path | None, folder: Path | None = None
) -> Imported:  # fmt: skip
    """From a file where one is given, else from what the folder itself says; ``folder``: where the images lie."""
    if path is None:
        return _of_folder(dataset)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            str(path), expected="a file of labels in UTF-8", got=str(error), fix="Check the path."
        ) from error
    lost: tuple[str, ...] = ()
    if text.lstrip().startswith(("[", "{")):
        try:
            named = choices(json.loads(text))
        except ValueError as error:
            raise InputError(
                str(path), expected="an export of Label Studio, as JSON", got=str(error), fix="Export it anew."
            ) from error
    else:
        rows = read_rows(path)
        lost = tuple(row.name for row in rows if row.lost)
        named = [Named(row.files or (row.image,), row.label, row.image) for row in rows if not row.lost]
    return _of_file(dataset, classes, named, path, folder, lost)


def _of_folder(dataset: Dataset) -> Imported:
    labels = dataset.train.labels
    ids = as_ids(dataset.train.ids) if labels is not None else ()
    numbers = labels.tolist() if labels is not None else ()
    found = {i: dataset.classes[n] for i, n in zip(ids, numbers, strict=True) if n >= 0}
    unknown = dataset.report.unknown if dataset.report else ()
    return Imported(found, "class folders or labels.csv", unknown, _not_taken(dataset))


def _not_taken(dataset: Dataset) -> tuple[str, ...]:
    """A sentence about classes that the folder names and that were not chosen; years for folders need none."""
    for source in dataset.report.sources if dataset.report else ():
        other = [name for name in source.classes if name not in dataset.classes]
        if source.part == "train" and other and (source.table or len(other) < len(source.classes)):
            are = "is none" if len(other) == 1 else "are none"
            listed = ", ".join(other[:5]) + (f" and {len(other) - 5} more" if len(other) > 5 else "")
            what = f"labels of {listed} are" if source.table else "the names of folders are"
            return (f"{what} not taken over, since {listed} {are} of the classes {', '.join(dataset.classes)}",)
    return ()


def _of_file(
    dataset: Dataset, classes: Sequence[str], named: Sequence[Named], path: Path, folder: Path | None,
    lost: tuple[str, ...],
) -> Imported:  # fmt: skip
    found = matched(dataset, named, folder)
    other = sorted(set(found.names.values()) - set(classes))
    if other:
        raise InputError(
            str(path), expected=f"the classes {', '.join(classes)}", got=f"also {', '.join(other[:5])}",
            fix="Add them to --classes.",
        )  # fmt: skip
    if (named or lost) and not found.names:
        first = (*lost, *(one.files[0] for one in named))[0]
        raise InputError(
            str(path), expected="labels for images of this folder",
            got="; ".join((f"none of {len(named) + len(lost)}, such as {first!r}", *found.notes)),
            fix="Write the files' paths relative to the folder. A label whose image is not certain is not taken.",
        )  # fmt: skip
    return Imported(found.names, path.name, lost + found.unknown, found.notes)


def counted(found: Imported, cut: Cut) -> dict[ImageId, str]:
    """What is taken in: labels of images that may be asked or audited. Others only measure distances."""
    kept = {*as_ids(cut.audit), *as_ids(cut.askable())}
    return {image: name for image, name in found.names.items() if image in kept}


def taken_in(campaign: Campaign, found: Imported) -> int:
    """Commits imported labels once and all together, before anything is asked; how many count.

    Those of the audit's images stay the audit's. Names that fit no image are said, and what else is not taken.
    """
    if campaign.state.asks:
        return 0
    _say(found)
    if not found.names:
        return 0
    cut = campaign.pictures.cut
    known = counted(found, cut)
    events = []
    if len(cut.audit):
        events.append(_proposed(0, "audit", cut.audit))
    if first := [i for i in as_ids(cut.askable()) if i in known]:
        events.append(_proposed(len(events), "initial", first))
    for ask in list(events):
        for rank, image in enumerate(ask.body["ids"]):
            if image in known:
                body = {"id": image, "class": known[image], "part": ask.body["part"], "rank": rank}
                events.append(Event("answered", 0, body, who=_who(found.source), uid=_uid(image)))
    campaign.commit(events)
    return len(known)


def _say(found: Imported) -> None:
    if found.unknown:
        few, many = ", ".join(found.unknown[:3]), len(found.unknown)
        _log.warning("%s: %d of its names fit no image of the folder, such as %s", found.source, many, few)
    for note in found.notes:
        _log.warning("%s: %s", found.source, note)


def began_with(campaign: Campaign) -> int:
    """Labels that were taken in at the start, whatever became of them since."""
    return len(_sources(campaign))


def left_alone(campaign: Campaign, path: Path) -> bool:
    """Whether labels of this file were taken in at the start, which is said; then it is not read again."""
    count = _sources(campaign).count(_who(path.name))
    if count:
        _log.warning("%s: %d labels of it are there since the campaign began; it is not read again", path.name, count)
    return count > 0


def _sources(campaign: Campaign) -> list[str]:
    """Who gave each label that was taken in at the start."""
    with Ledger.view(campaign.folder.ledger) as ledger:
        return [e.who for e in ledger.events() if e.kind == "answered" and e.uid == _uid(e.body["id"])]


def _who(source: str) -> str:
    return f"import: {source}"


def _uid(image: ImageId) -> str:
    return f"import-{image}"


def _proposed(part: int, purpose: str, ids: "Array | Sequence[ImageId]") -> Event:
    import numpy as np

    return proposed(0, part, purpose, np.asarray(ids), np.zeros(len(ids)))
