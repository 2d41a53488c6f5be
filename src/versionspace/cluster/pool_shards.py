"""The parts of a large pool: files of a folder of images, or rows of features files.

A shard is plain data that can be pickled; it is read where it is scored. Write a class of your own with the members of
`PoolShard` for other sources.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from versionspace.data import Fit, UnreadableError, decode, decoding, frame, image_files, is_folder
from versionspace.errors import InputError
from versionspace.extras import require
from versionspace.features import read_image
from versionspace.text import printable
from versionspace.types import Array

_CHUNK = 256
"""Images decoded at a time."""
_ROWS = 8_192
"""Rows of features read at a time."""


@dataclass(frozen=True)
class Chunk:
    """Some neighbouring items of a pool."""

    position: int
    """Of the first item in the whole pool."""
    items: Array | None
    """Images (n, H, W, channels) or features (n, F); None if only beliefs are known."""
    ids: Array | None = None
    """(n,): text or integers; None: the positions."""
    beliefs: Array | None = None
    """Votes (M, n) or probabilities (M, n, C), where they are known already and no model is given."""

    @property
    def count(self) -> int:
        """n. Raises InputError for a chunk without items and beliefs."""
        if self.items is not None:
            return len(self.items)
        if self.beliefs is None:
            raise InputError("chunk", expected="items or beliefs", got="neither", fix="Pass one of them.")
        return int(self.beliefs.shape[1])


class PoolShard(Protocol):
    """A part of a pool."""

    def chunks(self) -> Iterator[Chunk]:
        """Yield the items in the order of their positions. Positions of unreadable items are left out."""
        ...


@dataclass(frozen=True)
class ImageShard:
    """Some files of a folder of images, which every machine sees at this path."""

    folder: str
    files: tuple[str, ...]
    position: int
    """Of the first file in the list of all files."""
    size: int | tuple[int, int]
    channels: int = 3
    fit: Fit = "crop"

    def chunks(self) -> Iterator[Chunk]:
        """Yield images; an unreadable one ends a chunk."""
        to = frame(self.size, self.channels, self.fit)
        images: list[Array] = []
        with decoding():
            for number, file in enumerate(self.files):
                try:
                    images.append(decode(read_image(self.folder, file), to))
                except UnreadableError:
                    yield from self._chunk(number, images)
                    images = []
                if len(images) == _CHUNK:
                    yield from self._chunk(number + 1, images)
                    images = []
        yield from self._chunk(len(self.files), images)

    def _chunk(self, end: int, images: list[Array]) -> Iterator[Chunk]:
        if images:
            start = end - len(images)
            yield Chunk(self.position + start, np.stack(images), np.array(self.files[start:end], np.str_))


@dataclass(frozen=True)
class FeatureShard:
    """Some rows of a features file, which every machine sees at this path: row groups of Parquet, or rows of .npy."""

    path: str
    position: int
    """Of its first row in the whole pool."""
    start: int
    """The first row group, or row, of the file."""
    stop: int

    def chunks(self) -> Iterator[Chunk]:
        """Yield features in blocks."""
        position = self.position
        for block in self._npy() if self.path.endswith(".npy") else self._parquet():
            yield Chunk(position, block.items, block.ids)
            position += block.count

    def _npy(self) -> Iterator[Chunk]:
        rows = np.load(self.path, mmap_mode="r", allow_pickle=False)
        for first in range(self.start, self.stop, _ROWS):
            yield Chunk(0, np.array(rows[first : min(first + _ROWS, self.stop)]))

    def _parquet(self) -> Iterator[Chunk]:
        with require("pyarrow.parquet").ParquetFile(self.path) as file:
            names = [name for name in ("features", "ids") if name in file.schema_arrow.names]
            for batch in file.iter_batches(_ROWS, row_groups=range(self.start, self.stop), columns=names):
                lists = batch.column("features")
                flat = lists.flatten().to_numpy(zero_copy_only=False)
                ids = np.array(batch.column("ids").to_pylist()) if "ids" in names else None
                yield Chunk(0, flat.reshape(len(lists), -1), ids)


def image_shards(
    folder: str | Path, size: int | tuple[int, int], *, channels: int = 3, fit: Fit = "crop", shard_files: int = 1_024
) -> list[ImageShard]:
    """Return the shards of a folder of images, with their paths in the folder as ids; no file is opened.

    Files are ordered by name. Size, channels and fit must be those of the images that the model was trained on.
    """
    root = Path(folder).expanduser().absolute()
    if not is_folder(root):
        raise InputError("folder", expected="a folder of images", got=repr(str(folder)), fix="Check the path.")
    files = image_files(root)
    starts = range(0, len(files), shard_files)
    return [ImageShard(str(root), tuple(files[i : i + shard_files]), i, size, channels, fit) for i in starts]


def feature_shards(paths: Sequence[str | Path], *, shard_rows: int = 100_000) -> list[FeatureShard]:
    """Return the shards of features files, .parquet with ``features`` and ``ids`` or .npy, of about so many rows each.

    A Parquet file is divided between its row groups. Only the headers are read.
    """
    shards: list[FeatureShard] = []
    position = 0
    for given in paths:
        path = Path(given).expanduser().absolute()
        for part in _rows_of_npy(path, shard_rows) if path.suffix == ".npy" else _row_groups(path, shard_rows):
            shards.append(FeatureShard(str(path), position, part.start, part.stop))
            position += part.rows
    return shards


@dataclass(frozen=True)
class _Part:
    """Rows, or row groups, of a file, and the number of rows that they have."""

    start: int
    stop: int
    rows: int


def _rows_of_npy(path: Path, most: int) -> Iterator[_Part]:
    _check_file(path)
    total = len(np.load(path, mmap_mode="r", allow_pickle=False))
    for start in range(0, total, most):
        stop = min(start + most, total)
        yield _Part(start, stop, stop - start)


def _row_groups(path: Path, most: int) -> Iterator[_Part]:
    _check_file(path)
    with require("pyarrow.parquet").ParquetFile(path) as file:
        rows = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    start, count = 0, 0
    for group, more in enumerate(rows):
        if count and count + more > most:
            yield _Part(start, group, count)
            start, count = group, 0
        count += more
    if count:
        yield _Part(start, len(rows), count)


def _check_file(path: Path) -> None:
    if not path.is_file() or path.suffix not in (".parquet", ".npy"):
        raise InputError(
            printable(path), expected="a .parquet or .npy file of features",
            got="no file there" if not path.is_file() else "another extension", fix="Check the path.",
        )  # fmt: skip
