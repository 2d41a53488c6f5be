"""What a dataset is, once read: images, labels and ids that never change.

What was found in a folder besides good images: nothing is dropped in silence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from versionspace.errors import InputError
from versionspace.types import Array, ArrayLike, Ints


@dataclass(frozen=True)
class Skipped:
    """A file that could not be used, and why."""

    file: str
    why: str


@dataclass(frozen=True)
class Duplicate:
    """One content under several names. The first name is used."""

    id: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Conflict:
    """One content under several classes. It counts as not labelled."""

    id: str
    files: tuple[str, ...]
    classes: tuple[str, ...]


@dataclass(frozen=True)
class LabelSource:
    """Where the labels of a part come from, and all classes that it names."""

    subset: str
    """"train", "validation" or "test"."""
    from_table: bool
    """A labels.csv; else the names of folders."""
    classes: tuple[str, ...]


@dataclass(frozen=True)
class FolderReport:
    """What reading a folder came upon."""

    skipped: tuple[Skipped, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    unknown: tuple[str, ...] = ()
    """Files that labels.csv names and that are not in the folder, or not with the content that it tells."""
    sources: tuple[LabelSource, ...] = ()
    decoded: int = 0
    """Images decoded in this run; the others came from the cache."""

    def lines(self) -> list[str]:
        """The report in words, a line for each finding."""
        return [
            *(f"skipped {entry.file}: {entry.why}" for entry in self.skipped),
            *(f"duplicates: {', '.join(entry.files)} (the first is used)" for entry in self.duplicates),
            *(
                f"conflict: {', '.join(entry.files)} are the same image, labelled {' and '.join(entry.classes)} "
                "(counts as not labelled)"
                for entry in self.conflicts
            ),
            *(f"labels.csv names {file}, which is not in the folder as it was" for file in self.unknown),
        ]


class ImageView:
    """Some images of an array, in an order of their own, read when they are looked at.

    What is asked of it, a slice or rows by number, comes as an array in memory: of a memory-mapped array that is larger
    than memory, images can be looked at a chunk at a time.

    >>> some = ImageView(np.arange(12, dtype=np.uint8).reshape(3, 2, 2, 1), np.array([2, 0]))
    >>> some.shape, some[1:].ravel().tolist(), np.asarray(some).shape
    ((2, 2, 2, 1), [0, 1, 2, 3], (2, 2, 2, 1))
    """

    def __init__(self, images: Array, rows: Ints) -> None:
        self._images, self._rows = images, rows
        self.shape: tuple[int, ...] = (len(rows), *images.shape[1:])
        self.ndim, self.dtype = images.ndim, images.dtype

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, which: Any) -> Array:
        return np.asarray(self._images[self._rows[which]])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype)


@dataclass(frozen=True)
class Subset:
    """Images that belong together, with their labels and ids.

    >>> part = Subset(np.zeros((3, 8, 8, 1), np.uint8), np.array([0, 1, 1]), np.array([40, 50, 60]))
    >>> part.take([60, 40]).labels
    array([1, 0])
    """

    images: Array
    """uint8 (N, H, W, channels); memory-mapped and read-only where it comes from the cache."""
    labels: Ints | None
    """int64 (N,), -1 for an image without a label; None where no image has one."""
    ids: Array
    """(N,): the image's index in the published file (int64), or the SHA-256 of its file (64 hex digits)."""
    files: tuple[str, ...] | None = None
    """For a folder: the path of each image, relative to the folder, with forward slashes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", np.asarray(self.ids))
        if self.labels is not None:
            object.__setattr__(self, "labels", np.asarray(self.labels))
        counts = {len(x) for x in (self.images, self.labels, self.ids, self.files) if x is not None}
        if self.images.dtype != np.uint8 or self.images.ndim != 4 or len(counts) != 1:
            raise InputError(
                "images",
                expected="uint8 (N, H, W, channels) with as many labels, ids and files",
                got=f"{self.images.dtype} {self.images.shape} with {sorted(counts)} of the others",
                fix="Build each of them from the same list of images.",
            )
        for name, found, kinds in (("ids", self.ids, "iuU"), ("labels", self.labels, "iu")):
            if found is not None and (found.ndim != 1 or (found.dtype.kind not in kinds and len(found))):
                raise InputError(
                    name,
                    expected="whole numbers" + (" or text" if "U" in kinds else "") + ", one for each image",
                    got=f"{found.dtype} of shape {found.shape}",
                    fix="Ids name images, labels number their classes; -1 is an image without a label.",
                )

    def __len__(self) -> int:
        return len(self.images)

    def rows(self, ids: ArrayLike) -> Ints:
        """Where these ids are in this part: an index into images, labels and ids. Cost N log N."""
        wanted = np.asarray(ids)
        if wanted.ndim == 1 and not len(wanted):
            return np.empty(0, np.int64)
        if wanted.dtype.kind == "O" and wanted.ndim == 1:
            wanted = np.asarray(wanted.tolist())
        if wanted.ndim != 1 or (wanted.dtype.kind == "U") != (self.ids.dtype.kind == "U") or wanted.dtype.kind in "bf":
            raise InputError(
                "ids",
                expected=f"a list of ids, such as {self.ids[0].item()!r}" if len(self.ids) else "no ids: there is none",
                got=f"{wanted.dtype} of shape {wanted.shape}",
                fix="A mask is no list of ids: pass part.ids[mask].",
            )
        order = np.argsort(self.ids, kind="stable")
        places = np.searchsorted(self.ids, wanted, sorter=order)
        found: Ints = order[np.minimum(places, len(order) - 1)] if len(order) else np.empty(0, np.int64)
        missing = wanted if not len(order) else wanted[self.ids[found] != wanted]
        if len(missing):
            raise InputError(
                "ids",
                expected="ids of this part of the dataset",
                got=f"{missing[0]}" + (f" and {len(missing) - 1} others that are not" if len(missing) > 1 else ""),
                fix="Ids are absolute, never positions: test images are looked up in dataset.test, others in train.",
            )
        return found

    def view(self, ids: ArrayLike) -> ImageView:
        """The pixels of these images, in this order, read when they are looked at."""
        return ImageView(self.images, self.rows(ids))

    def take(self, ids: ArrayLike) -> "Subset":
        """These images, in this order, copied into memory."""
        rows = self.rows(ids)
        return Subset(
            np.asarray(self.images[rows]),
            None if self.labels is None else self.labels[rows],
            self.ids[rows],
            None if self.files is None else tuple(self.files[row] for row in rows),
        )


@dataclass(frozen=True)
class Dataset:
    """A dataset as its publisher cut it, or as a folder holds it. Parts that were not published are None."""

    name: str
    classes: tuple[str, ...]
    train: Subset
    test: Subset | None = None
    validation: Subset | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of every source file, by name."""
    source: str = ""
    """Where the files came from, in words."""
    different: tuple[str, ...] = ()
    """Source files that differ from the published ones and were accepted knowingly."""
    report: FolderReport | None = None
    """For a folder: what was skipped, found twice or labelled in two ways."""

    def __post_init__(self) -> None:
        for name, part in (("train", self.train), ("validation", self.validation), ("test", self.test)):
            values, counts = np.unique(np.empty(0) if part is None else part.ids, return_counts=True)
            if len(values) and counts.max() > 1:
                raise InputError(
                    f"{self.name}, {name}",
                    expected="ids that are all different",
                    got=f"{values[counts.argmax()].item()!r} {counts.max()} times",
                    fix="Give every image an id of its own: a label must belong to one image.",
                )
