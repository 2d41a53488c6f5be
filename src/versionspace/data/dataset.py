"""The records of a loaded dataset: `Dataset`, its `Subset` objects, and the `FolderReport` of an image folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from versionspace.errors import InputError
from versionspace.types import Array, ArrayLike, Bools, Ints
from versionspace.views import ImageView

_BLOCK = 1 << 16
"""Ids compared at a time."""


@dataclass(frozen=True)
class Subset:
    """The training, validation or test images of a dataset, with their labels and ids.

    >>> subset = Subset(np.zeros((3, 8, 8, 1), np.uint8), np.array([0, 1, 1]), np.array([40, 50, 60]))
    >>> subset.take([60, 40]).labels
    array([1, 0])
    """

    images: ArrayLike
    """uint8 (N, H, W, channels), or the features of each item, numbers (N, F). From a file or the cache they are
    memory-mapped and read-only; of a folder that was read lazily, they are decoded when rows are selected."""
    labels: Ints | None
    """int64 (N,), -1 for an unlabelled image; None if no image is labelled."""
    ids: Array
    """(N,): the image's index in the published file (int64), or the SHA-256 of its file (64 hex digits)."""
    files: tuple[str, ...] | None = None
    """For an image folder: the path of each image relative to the folder, with forward slashes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", np.asarray(self.ids))
        if self.labels is not None:
            object.__setattr__(self, "labels", np.asarray(self.labels))
        counts = {len(x) for x in (self.images, self.labels, self.ids, self.files) if x is not None}
        is_image = self.images.dtype == np.uint8 and self.images.ndim == 4
        if not (is_image or (self.images.ndim == 2 and self.images.dtype.kind in "fiu")) or len(counts) != 1:
            raise InputError(
                "images",
                expected="uint8 (N, H, W, channels) or features (N, F), with N labels, ids and files",
                got=f"{self.images.dtype} {self.images.shape}, with lengths {sorted(counts)}",
                fix="Build all of them from the same list of images.",
            )
        for name, values, kinds in (("ids", self.ids, "iuU"), ("labels", self.labels, "iu")):
            if values is not None and (values.ndim != 1 or (values.dtype.kind not in kinds and len(values))):
                raise InputError(
                    name,
                    expected="integers" + (" or strings" if "U" in kinds else "") + ", one for each image",
                    got=f"{values.dtype} of shape {values.shape}",
                    fix="An id identifies an image; a label is the number of its class, or -1 if it has none.",
                )

    def __len__(self) -> int:
        return len(self.images)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of an image; of features, 1, 1 and F."""
        height, width, channels = (1, 1, *self.images.shape[1:])[-3:]
        return height, width, channels

    def rows(self, ids: ArrayLike) -> Ints:
        """Return the position of each id, as an index into images, labels and ids. Cost N log N.

        Raises `InputError` if an id is not in this subset, or if ``ids`` is not a list of ids.
        """
        wanted = np.asarray(ids)
        if wanted.ndim == 1 and not len(wanted):
            return np.empty(0, np.int64)
        if wanted.dtype.kind == "O" and wanted.ndim == 1:
            wanted = np.asarray(wanted.tolist())
        if wanted.ndim != 1 or (wanted.dtype.kind == "U") != (self.ids.dtype.kind == "U") or wanted.dtype.kind in "bf":
            raise InputError(
                "ids",
                expected=f"a list of ids, such as {self.ids[0].item()!r}"
                if len(self.ids)
                else "an empty list: the subset has no images",
                got=f"{wanted.dtype} of shape {wanted.shape}",
                fix="A boolean mask is not a list of ids: pass subset.ids[mask].",
            )
        order = self._order
        places = np.searchsorted(self.ids, wanted, sorter=order)
        rows: Ints = order[np.minimum(places, len(order) - 1)] if len(order) else np.empty(0, np.int64)
        missing = wanted if not len(order) else wanted[self.ids[rows] != wanted]
        if len(missing):
            raise InputError(
                "ids",
                expected="ids of images in this subset",
                got=f"{missing[0]}" + (f" and {len(missing) - 1} other unknown ids" if len(missing) > 1 else ""),
                fix="Ids are absolute, not positions. Look up test images in dataset.test and pool images in "
                "dataset.train.",
            )
        return rows

    def view(self, ids: ArrayLike) -> ImageView:
        """Return the pixels of these images, in this order, read on access."""
        rows, images = self.rows(ids), self.images
        return images.select(rows) if isinstance(images, ImageView) else ImageView(images, rows)

    def has(self, ids: Array) -> Bools:
        """Return whether each of these ids is that of an image of this subset."""
        if not len(ids) or not len(self.ids):
            return np.zeros(len(ids), np.bool_)
        places = np.minimum(np.searchsorted(self.ids, ids, sorter=self._order), len(self.ids) - 1)
        found: Bools = self.ids[self._order[places]] == ids
        return found

    def repeated_id(self) -> int | str | None:
        """Return an id that several images have; None if there is none. Ids are compared in blocks, not copied."""
        for start in range(0, len(self.ids), _BLOCK):
            block = self.ids[self._order[start : start + _BLOCK + 1]]
            same = np.flatnonzero(block[1:] == block[:-1])
            if len(same):
                found: int | str = block[same[0]].item()
                return found
        return None

    @cached_property
    def _order(self) -> Ints:
        """The rows in the order of their ids."""
        return np.argsort(self.ids, kind="stable")

    def take(self, ids: ArrayLike) -> "Subset":
        """Return these images, in this order, copied into memory."""
        rows = self.rows(ids)
        return Subset(
            np.asarray(self.images[rows]),
            None if self.labels is None else self.labels[rows],
            self.ids[rows],
            None if self.files is None else tuple(self.files[row] for row in rows),
        )


@dataclass(frozen=True)
class Skipped:
    """A file that cannot be used, and the reason."""

    file: str
    why: str


@dataclass(frozen=True)
class Duplicate:
    """Several files with the same content. The first one is used."""

    id: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Conflict:
    """One content labelled with several classes. It counts as unlabelled."""

    id: str
    files: tuple[str, ...]
    classes: tuple[str, ...]


@dataclass(frozen=True)
class LabelSource:
    """Where the labels of a subset come from, and every class that occurs there."""

    subset: str
    """"train", "validation" or "test"."""
    from_table: bool
    """True: labels.csv. False: the names of class folders."""
    classes: tuple[str, ...]


@dataclass(frozen=True)
class FolderReport:
    """Everything noteworthy found while reading an image folder. No file is dropped silently."""

    skipped: tuple[Skipped, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    unknown: tuple[str, ...] = ()
    """Files listed in labels.csv that are not in the folder, or whose content differs from the listed id."""
    sources: tuple[LabelSource, ...] = ()
    decoded: int = 0
    """Number of images decoded in this run; the others came from the cache."""

    def lines(self) -> list[str]:
        """Return the report as text, one line for each finding."""
        return [
            *(f"skipped {entry.file}: {entry.why}" for entry in self.skipped),
            *(f"duplicates: {', '.join(entry.files)} (the first is used)" for entry in self.duplicates),
            *(
                f"conflict: {', '.join(entry.files)} are the same image, labelled {' and '.join(entry.classes)} "
                "(counts as unlabelled)"
                for entry in self.conflicts
            ),
            *(f"labels.csv lists {file}, which is missing from the folder or has changed" for file in self.unknown),
        ]


@dataclass(frozen=True)
class Dataset:
    """A dataset with its published or folder-given subsets. Subsets that do not exist are None."""

    name: str
    classes: tuple[str, ...]
    train: Subset
    test: Subset | None = None
    validation: Subset | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of every source file, by file name."""
    source: str = ""
    """Description of where the files came from."""
    different: tuple[str, ...] = ()
    """Source files that differ from the published ones and were accepted explicitly."""
    report: FolderReport | None = None
    """For an image folder: skipped files, duplicates and conflicting labels."""
    features_sha256: str = ""
    """If items are features from a file: the SHA-256 of the file, and of the file of their names if there is one."""

    def __post_init__(self) -> None:
        for name, subset in (("train", self.train), ("validation", self.validation), ("test", self.test)):
            twice = None if subset is None else subset.repeated_id()
            if subset is not None and twice is not None:
                count = int((subset.ids == twice).sum())
                raise InputError(
                    f"{self.name}, {name}",
                    expected="unique ids",
                    got=f"{twice!r} {count} times",
                    fix="Give every image its own id, so that a label belongs to exactly one image.",
                )
