"""Import of existing labels: class folders, labels.csv, or an export of Label Studio.

A row is matched to the image whose content (id) or path it names, and only if the match is certain; a label is never
attached to another image. A full match is the image's id, its path in the folder, or that path after the folders that
contain it. A partial match, such as the file name alone, counts if it fits exactly one image and no other row fits that
image. Rows with paths on another machine count if all of them place the folder at the same location.
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

from versionspace.campaign import Campaign, Roles, proposal_event
from versionspace.data import Dataset, read_label_table
from versionspace.errors import InputError
from versionspace.files import is_sha256, sha256
from versionspace.label.label_studio import LabelledFile, choices
from versionspace.store import Event, Ledger, as_ids
from versionspace.text import printable
from versionspace.types import Array, ImageId

Parts: TypeAlias = tuple[str, ...]
"""The components of a path."""


class _By(IntEnum):
    """How a row was matched, the most certain first."""

    CONTENT = 0
    PATH = 1
    PLACE = 2
    """Its path, preceded by the folders that contain it."""
    END = 3
    """The end of its path, or of the row's path."""


@dataclass(frozen=True)
class _Match:
    """An image that a row may refer to."""

    image: ImageId
    name: str
    by: _By
    front: Parts = ()
    """Leading folders in the row's path that are not part of the image's path."""

    @property
    def guessed(self) -> bool:
        """Whether the row's leading folders differ from the actual location."""
        return self.by is _By.END and bool(self.front)


@dataclass(frozen=True)
class Matches:
    """Classes by image, rows that match no image or several, and notes for the user."""

    names: dict[ImageId, str]
    unknown: tuple[str, ...]
    notes: tuple[str, ...]


def match_rows(dataset: Dataset, named: Sequence[LabelledFile], folder: Path | None = None) -> Matches:
    """Match rows to the images of a dataset. ``folder``: the location of the images, if known."""
    matches, notes = _PathIndex(dataset, folder).matches(named)
    rows: dict[ImageId, list[int]] = {}
    for number, match in enumerate(matches):
        if match is not None:
            rows.setdefault(match.image, []).append(number)
    kept: set[int] = set()
    names: dict[ImageId, str] = {}
    torn: list[str] = []
    for image, numbers in rows.items():
        found = {number: match for number in numbers if (match := matches[number]) is not None}
        surest = min(match.by for match in found.values())
        best = [number for number, match in found.items() if match.by is surest]
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
        have, are = ("image has", "is") if len(torn) == 1 else ("images have", "are")
        notes.append(f"{len(torn)} {have} several classes and {are} not imported, such as {torn[0]}")
    unknown = tuple(one.files[0] for number, one in enumerate(named) if number not in kept)
    return Matches(names, unknown, tuple(notes))


class _PathIndex:
    """Images by id, by path, and by the ends of their paths."""

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
        for name in (file, printable(file)):  # exports escape bytes that are not UTF-8
            parts = _parts(name)
            self.whole.setdefault("/".join(parts), set()).add(image)
            for start in range(1, len(parts)):
                self.ends.setdefault("/".join(parts[start:]), set()).add(image)

    def matches(self, named: Sequence[LabelledFile]) -> tuple[list[_Match | None], list[str]]:
        """Return the match of each row, None if there is none or several; and notes on assumptions."""
        found = [self._match(one) for one in named]
        guesses = [match for match in found if match is not None and match.guessed]
        if not guesses:
            return found, []
        sure = any(match is not None and match.by in (_By.PATH, _By.PLACE) for match in found)
        front = None if sure else self._front(guesses)
        notes = []
        if front is not None and not self._agreement(front):
            notes.append(f"the prefix {'/'.join(front)}/ of its names is ignored")
        return [one if one is None or not one.guessed or one.front == front else None for one in found], notes

    def _front(self, guesses: Sequence[_Match]) -> Parts | None:
        """Return where the rows place the folder, if that is unique; the location most similar to the actual one."""
        fronts = {match.front for match in guesses}
        most = max(self._agreement(front) for front in fronts)
        best = [front for front in fronts if self._agreement(front) == most]
        if len(best) > 1 or any(self._names_other_file(one) for one in guesses if one.front == best[0]):
            return None
        return best[0]

    def _match(self, one: LabelledFile) -> _Match | None:
        if one.image in self.ids:
            return _Match(one.image, one.image, _By.CONTENT)
        if is_sha256(one.image):
            return None  # a file of the same name has other content
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
        return _Match(next(iter(within)), "/".join(paths[0]), _By.END) if len(within) == 1 else None

    def _whole(self, parts: Parts) -> list[_Match]:
        """Return the images whose path is the end of the row's path."""
        found = []
        for start in range(len(parts)):
            images, front = self.whole.get("/".join(parts[start:]), ()), parts[:start]
            if len(images) == 1:  # two files may differ only in Unicode normalisation
                by = _By.PATH if not front else _By.PLACE if self._is_location(front) else _By.END
                found.append(_Match(next(iter(images)), "/".join(parts), by, front))
        return found

    def _uploaded(self, parts: Parts) -> set[ImageId]:
        """Return the images whose name equals that of an upload without Label Studio's prefix of eight hex digits.

        Outside Label Studio's upload folder, eight decimal digits are taken for a date.
        """
        head, dash, name = parts[-1].partition("-")
        if not dash or len(head) != 8 or set(head) - set("0123456789abcdef"):
            return set()
        if head.isdecimal() and "upload" not in parts[:-1]:
            return set()
        return self.ends.get(name, set()) | self.whole.get(name, set())

    def _is_location(self, front: Parts) -> bool:
        return any(own[-len(front) :] == front for own in self.own)

    def _agreement(self, front: Parts) -> int:
        """Return how many leading folders, counted from the last, equal those that contain the images."""
        pairs = [zip(reversed(own), reversed(front), strict=False) for own in self.own]
        return max((sum(1 for _ in takewhile(lambda two: two[0] == two[1], both)) for both in pairs), default=0)

    def _names_other_file(self, match: _Match) -> bool:
        """Return whether the row's path leads to an existing file with other content."""
        for above in self.root.parents if self.root is not None else ():
            file = above / match.name
            try:
                if file.is_file() and sha256(file) != match.image:
                    return True
            except OSError:  # no permission
                continue
        return False


def _parts(file: str) -> Parts:
    """Return a path's components for comparison, without the root and '..'."""
    plain = unicodedata.normalize("NFC", file.replace("\\", "/"))
    return tuple(part for part in PurePosixPath(posixpath.normpath(plain)).parts if part not in ("/", "//", ".."))


_log = logging.getLogger("versionspace.label")


@dataclass(frozen=True)
class ImportedLabels:
    """Classes by image, their source, and the names that match no image."""

    names: Mapping[ImageId, str]
    source: str = ""
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Further messages for the user."""


def read_labels(
    dataset: Dataset, classes: Sequence[str], path: Path | None, folder: Path | None = None
) -> ImportedLabels:  # fmt: skip
    """Read labels from a file, or without one from the folder itself. ``folder``: the location of the images."""
    if path is None:
        return _from_folder(dataset)
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
                str(path), expected="an export of Label Studio, as JSON", got=str(error), fix="Export it again."
            ) from error
    else:
        rows = read_label_table(path)
        lost = tuple(row.name for row in rows if row.orphaned)
        named = [LabelledFile(row.spellings or (row.id,), row.label, row.id) for row in rows if not row.orphaned]
    return _from_file(dataset, classes, named, path, folder, lost)


def _from_folder(dataset: Dataset) -> ImportedLabels:
    labels = dataset.train.labels
    ids = as_ids(dataset.train.ids) if labels is not None else ()
    numbers = labels.tolist() if labels is not None else ()
    found = {i: dataset.classes[n] for i, n in zip(ids, numbers, strict=True) if n >= 0}
    unknown = dataset.report.unknown if dataset.report else ()
    return ImportedLabels(found, "class folders or labels.csv", unknown, _ignored_classes(dataset))


def _ignored_classes(dataset: Dataset) -> tuple[str, ...]:
    """Return a note on classes of the folder that were not chosen; sub-folders without any class need none."""
    for source in dataset.report.sources if dataset.report else ():
        other = [name for name in source.classes if name not in dataset.classes]
        if source.subset == "train" and other and (source.from_table or len(other) < len(source.classes)):
            are = "is" if len(other) == 1 else "are"
            listed = ", ".join(other[:5]) + (f" and {len(other) - 5} more" if len(other) > 5 else "")
            what = f"labels of {listed}" if source.from_table else "folder names"
            return (
                f"{what} are not imported, since {listed} {are} not among the classes {', '.join(dataset.classes)}",
            )
    return ()


def _from_file(
    dataset: Dataset, classes: Sequence[str], named: Sequence[LabelledFile], path: Path, folder: Path | None,
    lost: tuple[str, ...],
) -> ImportedLabels:  # fmt: skip
    found = match_rows(dataset, named, folder)
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
            fix="Write paths relative to the folder. A label whose image is ambiguous is not imported.",
        )  # fmt: skip
    return ImportedLabels(found.names, path.name, lost + found.unknown, found.notes)


def usable_labels(found: ImportedLabels, cut: Roles) -> dict[ImageId, str]:
    """Return the labels of images that can be asked or audited; those of the reference set are not used."""
    kept = {*as_ids(cut.audit), *as_ids(cut.askable())}
    return {image: name for image, name in found.names.items() if image in kept}


def commit_import(campaign: Campaign, found: ImportedLabels) -> int:
    """Commit imported labels in one transaction, before anything is asked; return how many were used.

    Labels of audit images remain part of the audit. Names that match no image are logged.
    """
    if campaign.state.asks:
        return 0
    _log_notes(found)
    if not found.names:
        return 0
    cut = campaign.images.roles
    known = usable_labels(found, cut)
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


def _log_notes(found: ImportedLabels) -> None:
    if found.unknown:
        few, many = ", ".join(found.unknown[:3]), len(found.unknown)
        _log.warning("%s: %d of its names match no image of the folder, such as %s", found.source, many, few)
    for note in found.notes:
        _log.warning("%s: %s", found.source, note)


def imported_count(campaign: Campaign) -> int:
    """Return the number of labels imported at the start, including those corrected since."""
    return len(_sources(campaign))


def already_imported(campaign: Campaign, path: Path) -> bool:
    """Return whether labels of this file were imported at the start; log that it is not imported again."""
    count = _sources(campaign).count(_who(path.name))
    if count:
        _log.warning(
            "%s: %d of its labels were imported when the campaign began; it is not imported again", path.name, count
        )
    return count > 0


def _sources(campaign: Campaign) -> list[str]:
    """Return the source of each imported label."""
    with Ledger.view(campaign.folder.ledger) as ledger:
        return [e.who for e in ledger.events() if e.kind == "answered" and e.uid == _uid(e.body["id"])]


def _who(source: str) -> str:
    return f"import: {source}"


def _uid(image: ImageId) -> str:
    return f"import-{image}"


def _proposed(part: int, purpose: str, ids: "Array | Sequence[ImageId]") -> Event:
    import numpy as np

    return proposal_event(0, part, purpose, np.asarray(ids), np.zeros(len(ids)))
