"""Matching of rows that name image files to the images of a folder.

A row is matched to the image whose content (id) or path it names, and only if the match is certain; a label is never
attached to another image. A full match is the image's id, its path in the folder, or that path after the folders that
contain it. A partial match, such as the file name alone, counts if it fits exactly one image and no other row fits that
image. Rows with paths on another machine count if all of them place the folder at the same location.
"""

import os
import posixpath
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from versionspace.data import Dataset
from versionspace.files import is_sha256, sha256
from versionspace.label.label_studio import LabelledFile
from versionspace.store import as_ids
from versionspace.text import printable
from versionspace.types import ImageId

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
    """Classes by image, and the rows that give none, by the reason; rows are named by their files."""

    names: dict[ImageId, str]
    rows: dict[ImageId, tuple[str, ...]]
    """The rows that name each of these images."""
    unknown: tuple[str, ...]
    """Rows that match no image or several."""
    ambiguous: tuple[str, ...]
    """Rows of images with several classes, and these classes."""
    without_class: dict[str, str]
    """Rows without a class, and why: "unsure", "bad image", "skipped", or empty."""
    notes: tuple[str, ...]
    """What was assumed."""


def match_rows(dataset: Dataset, named: Sequence[LabelledFile], folder: Path | None = None) -> Matches:
    """Match rows to the images of a dataset. ``folder``: the location of the images, if known."""
    matches, notes = _PathIndex(dataset, folder).matches(named)
    numbers_of: dict[ImageId, list[int]] = {}
    for number, match in enumerate(matches):
        if match is not None:
            numbers_of.setdefault(match.image, []).append(number)
    matched: set[int] = set()
    found = Matches({}, {}, (), (), {}, tuple(notes))
    ambiguous: list[str] = []
    for image, numbers in numbers_of.items():
        rows = _surest(matches, numbers)
        matched.update(rows)
        classes = sorted({name for row in rows for name in (named[row].name, *named[row].more) if name is not None})
        if len(classes) == 1:
            found.names[image] = classes[0]
            found.rows[image] = tuple(named[row].files[0] for row in rows)
        elif classes:
            ambiguous += [f"{named[row].files[0]} ({', '.join(classes)})" for row in rows]
        else:
            found.without_class.update((named[row].files[0], named[row].reason) for row in rows)
    unknown = tuple(one.files[0] for number, one in enumerate(named) if number not in matched)
    return replace(found, unknown=unknown, ambiguous=tuple(ambiguous))


def _surest(matches: Sequence[_Match | None], numbers: Sequence[int]) -> list[int]:
    """Return the rows that match an image with the most certainty; none if that is by the ends of different paths."""
    found = {number: match for number in numbers if (match := matches[number]) is not None}
    surest = min(match.by for match in found.values())
    best = [number for number, match in found.items() if match.by is surest]
    return [] if surest is _By.END and len({found[number].name for number in best}) > 1 else best


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
