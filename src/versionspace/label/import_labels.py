"""Which image a row of labels means: the one whose content it names, or whose path, as far as that is certain.

A label never goes to another image. What a row says must be true of the image: its id, its path in the folder, or that
with folders before it in which the folder lies. A row that says less, such as the file's name alone, counts where one
image fits it and no other row fits that image. A row that puts the folder elsewhere, as on another machine, counts
where all rows put it in one place.

Labels that are known before the first click: class folders, labels.csv, or an export of Label Studio.
"""

import json
import logging
import os
import posixpath
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from versionspace.campaign.campaign import Campaign
from versionspace.campaign.images import Roles
from versionspace.campaign.round import proposal_event
from versionspace.data import Dataset
from versionspace.data.label_table import read_rows
from versionspace.errors import InputError
from versionspace.files import is_sha256, sha256
from versionspace.label.label_studio import Named, choices
from versionspace.store.ledger import Event, Ledger
from versionspace.store.record import as_ids
from versionspace.text import printable
from versionspace.types import Array, ImageId

Parts: TypeAlias = tuple[str, ...]
"""A path, split at its slashes."""


class _By(IntEnum):
    """What an image was told by, the surest first."""

    CONTENT = 0
    PATH = 1
    PLACE = 2
    """Its path, after the folders that it lies in."""
    END = 3
    """The end of its path, or of the row's."""


@dataclass(frozen=True)
class _Reading:
    """An image that a row may mean."""

    image: ImageId
    name: str
    by: _By
    front: Parts = ()
    """Folders that the row puts before the image's path."""

    @property
    def guessed(self) -> bool:
        """Whether the row puts the folder where it is not."""
        return self.by is _By.END and bool(self.front)


@dataclass(frozen=True)
class Matched:
    """Classes by image, names that fit no image or not one alone, and what else is to be said."""

    names: dict[ImageId, str]
    unknown: tuple[str, ...]
    notes: tuple[str, ...]


def matched(dataset: Dataset, named: Sequence[Named], folder: Path | None = None) -> Matched:
    """What rows say of the images of a dataset; ``folder``: where they lie, if that is known."""
    readings, notes = _Places(dataset, folder).readings(named)
    rows: dict[ImageId, list[int]] = {}
    for number, reading in enumerate(readings):
        if reading is not None:
            rows.setdefault(reading.image, []).append(number)
    kept: set[int] = set()
    names: dict[ImageId, str] = {}
    torn: list[str] = []
    for image, numbers in rows.items():
        found = {number: reading for number in numbers if (reading := readings[number]) is not None}
        surest = min(reading.by for reading in found.values())
        best = [number for number, reading in found.items() if reading.by is surest]
        if surest is _By.END and len({found[number].name for number in best}) > 1:
            continue
        kept.update(best)
        given = [name for number in best for name in (named[number].name, *named[number].more)]
        classes = sorted({name for name in given if name is not None})
        if len(classes) == 1:
            names[image] = classes[0]
        elif classes:
            torn.append(f"{named[best[0]].files[0]} ({', '.join(classes)})")
    if torn:
        have = "image has" if len(torn) == 1 else "images have"
        notes.append(f"{len(torn)} {have} several classes there, of which none is taken over, such as {torn[0]}")
    unknown = tuple(one.files[0] for number, one in enumerate(named) if number not in kept)
    return Matched(names, unknown, tuple(notes))


class _Places:
    """Images by their id, their file's path, and the ends of that."""

    def __init__(self, dataset: Dataset, folder: Path | None) -> None:
        self.ids: set[ImageId] = set()
        self.whole: dict[str, set[ImageId]] = {}
        self.ends: dict[str, set[ImageId]] = {}
        parts = [part for part in (dataset.train, dataset.validation, dataset.test) if part is not None]
        for part in parts:
            self.ids.update(as_ids(part.ids))
            for file, image in zip(part.files or (), as_ids(part.ids), strict=False):
                self._add(file, image)
        for copies in dataset.report.duplicates if dataset.report else ():
            for file in copies.files:
                self._add(file, copies.id)
        self.root = None if folder is None else Path(os.path.abspath(folder))  # noqa: PTH100 — a link stays a link
        places = [] if self.root is None else [self.root, self.root.resolve()]
        self.own = [_parts(place.as_posix()) for place in places]

    def _add(self, file: str, image: ImageId) -> None:
        for name in (file, printable(file)):  # an export writes what is not UTF-8 in its own way
            parts = _parts(name)
            self.whole.setdefault("/".join(parts), set()).add(image)
            for start in range(1, len(parts)):
                self.ends.setdefault("/".join(parts[start:]), set()).add(image)

    def readings(self, named: Sequence[Named]) -> tuple[list[_Reading | None], list[str]]:
        """The image of each row, None where there is none or not one alone; and what was assumed."""
        found = [self._reading(one) for one in named]
        guesses = [reading for reading in found if reading is not None and reading.guessed]
        if not guesses:
            return found, []
        sure = any(reading is not None and reading.by in (_By.PATH, _By.PLACE) for reading in found)
        front = None if sure else self._front(guesses)
        notes = []
        if front is not None and not self._agreement(front):
            notes.append(f"its names are read without {'/'.join(front)}/, with which they begin")
        return [one if one is None or not one.guessed or one.front == front else None for one in found], notes

    def _front(self, guesses: Sequence[_Reading]) -> Parts | None:
        """The one place where rows put the folder, if they put it in one; that which is most like where it lies."""
        fronts = {reading.front for reading in guesses}
        most = max(self._agreement(front) for front in fronts)
        best = [front for front in fronts if self._agreement(front) == most]
        if len(best) > 1 or any(self._elsewhere(one) for one in guesses if one.front == best[0]):
            return None
        return best[0]

    def _reading(self, one: Named) -> _Reading | None:
        if one.image in self.ids:
            return _Reading(one.image, one.image, _By.CONTENT)
        if is_sha256(one.image):
            return None  # that content is not here, whatever has its name now
        paths = [parts for file in one.files if (parts := _parts(file))]
        whole = [found for parts in paths for found in self._whole(parts)]
        best = min(whole, key=lambda found: (found.by, len(found.front) - found.name.count("/")), default=None)
        if best is not None and not best.guessed:
            return best
        within = {image for parts in paths for image in self.ends.get("/".join(parts), ())}
        if best is not None:
            return None if within else best
        if not within:
            within = {image for parts in paths for image in self._uploaded(parts)}
        return _Reading(next(iter(within)), "/".join(paths[0]), _By.END) if len(within) == 1 else None

    def _whole(self, parts: Parts) -> list[_Reading]:
        """Images whose path the row ends with."""
        found = []
        for start in range(len(parts)):
            images, front = self.whole.get("/".join(parts[start:]), ()), parts[:start]
            if len(images) == 1:  # not so where files differ in how an é is spelt
                by = _By.PATH if not front else _By.PLACE if self._leads_here(front) else _By.END
                found.append(_Reading(next(iter(images)), "/".join(parts), by, front))
        return found

    def _uploaded(self, parts: Parts) -> set[ImageId]:
        """Images that have the name of a file that was uploaded, before Label Studio put eight hex digits before it.

        Outside its folder for uploads, eight decimal digits are a date.
        """
        head, dash, name = parts[-1].partition("-")
        if not dash or len(head) != 8 or set(head) - set("0123456789abcdef"):
            return set()
        if head.isdecimal() and "upload" not in parts[:-1]:
            return set()
        return self.ends.get(name, set()) | self.whole.get(name, set())

    def _leads_here(self, front: Parts) -> bool:
        return any(own[-len(front) :] == front for own in self.own)

    def _agreement(self, front: Parts) -> int:
        """How many folders before the image's path are those that it lies in, counted from the last."""
        pairs = [zip(reversed(own), reversed(front), strict=False) for own in self.own]
        return max((sum(1 for _ in takewhile(lambda two: two[0] == two[1], both)) for both in pairs), default=0)

    def _elsewhere(self, reading: _Reading) -> bool:
        """Whether a row leads to another file that is there, with another content."""
        for above in self.root.parents if self.root is not None else ():
            file = above / reading.name
            try:
                if file.is_file() and sha256(file) != reading.image:
                    return True
            except OSError:  # one may not look there
                continue
        return False


def _parts(file: str) -> Parts:
    """A path as it is compared, without what leads to the root or upwards."""
    plain = unicodedata.normalize("NFC", file.replace("\\", "/"))
    return tuple(part for part in PurePosixPath(posixpath.normpath(plain)).parts if part not in ("/", "//", ".."))


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


def counted(found: Imported, cut: Roles) -> dict[ImageId, str]:
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
    cut = campaign.images.roles
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

    return proposal_event(0, part, purpose, np.asarray(ids), np.zeros(len(ids)))
