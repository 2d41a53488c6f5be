"""Features on disk, found by the SHA-256 of each image's pixels: a folder that grows computes only what is new.

``CACHE/features/WEIGHTS-SIDE-ROUNDING-VERSION/`` holds blocks ``NAME.npy``; ROUNDING is a hash of processor and torch.
A row of a block is an image's key, its features and a checksum of both, so that one file is whole by itself and what is
damaged is not believed: it is computed again. Keys are the images' own and not the array's, since pool, validation and
labelled images are cut anew in every round, and folders grow. Blocks appear whole or not at all and never change; there
is no pickle in them. One is open only while it is read: a large cache has more blocks than a process may have files.
Where the disk is full or not to be written to, features are kept in memory instead, and one warning is logged.
"""

import hashlib
import logging
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from versionspace.data.cache import CACHE_VARIABLE, cache_folder
from versionspace.files import replacing
from versionspace.types import Array

VERSION = 1
"""Raised whenever the same image would get other features, or the rows another form."""
Key: TypeAlias = bytes
Place: TypeAlias = "str | os.PathLike[str] | Literal[False] | None"
"""The cache's folder; None for the user's own, False for memory only."""

_log = logging.getLogger("versionspace.ensemble")


def key_of(image: Array) -> Key:
    """SHA-256 of an image's shape and pixels, uint8 (H, W, channels)."""
    digest = hashlib.sha256(repr(image.shape).encode())
    digest.update(np.ascontiguousarray(image).data)
    return digest.digest()


def _rows(features: int) -> np.dtype[np.void]:
    return np.dtype([("key", "u1", (32,)), ("features", "<f4", (features,)), ("check", "<u4")])


def _check(row: np.void) -> int:
    """Of the key and the features."""
    return zlib.crc32(row["features"].tobytes(), zlib.crc32(row["key"].tobytes()))


@dataclass(frozen=True)
class Found:
    """What a cache had."""

    positions: npt.NDArray[np.int64]
    """(n,): which of the keys."""
    features: npt.NDArray[np.float32]
    """(n, F)."""


class FeatureCache:
    """Features of one backbone at one size.

    >>> cache = FeatureCache("made-up", 2, place=False)
    >>> keys = [key_of(np.full((1, 1, 1), i, np.uint8)) for i in range(3)]
    >>> cache.add(keys[1:], np.array([[1, 2], [3, 4]], np.float32))
    >>> cache.find(keys)
    Found(positions=array([1, 2]), features=array([[1., 2.], [3., 4.]], dtype=float32))
    """

    def __init__(self, name: str, features: int, place: Place = None) -> None:
        self.folder: Path | None = None if place is False else cache_folder(place) / "features" / f"{name}-{VERSION}"
        self.features = features
        self._blocks: dict[str, Array | Path] = {}
        """By name: where it lies, or what could not be written."""
        self._places: dict[Key, list[tuple[str, int]]] = {}
        """Block and row of each key, several where one was damaged or two processes computed the same."""
        self._believed: set[tuple[str, int]] = set()
        """Rows whose checksum was found right: it is not computed twice."""

    def find(self, keys: Sequence[Key]) -> Found:
        """Features of those keys that are here and whole. Cost: 5 kB read for each."""
        self._look()
        positions: dict[Key, list[int]] = {}
        for position, key in enumerate(keys):
            positions.setdefault(key, []).append(position)
        where: list[int] = []
        parts = [np.empty((0, self.features), np.float32)]
        left = list(positions)
        while left := [key for key in left if self._places.get(key)]:
            blocks: dict[str, list[Key]] = {}
            for key in left:
                blocks.setdefault(self._places[key][-1][0], []).append(key)
            left = []
            for name, some in blocks.items():
                rows = self._read(name, [self._places[key][-1][1] for key in some])
                good: list[int] = []
                for i, key in enumerate(some):
                    if rows is not None and self._whole(self._places[key][-1], rows[i]):
                        where += positions[key]
                        good += [i] * len(positions[key])
                    else:  # another block may hold it
                        self._believed.discard(self._places[key].pop())
                        left.append(key)
                if rows is not None:
                    parts.append(rows["features"][good])
        return Found(np.array(where, np.int64), np.concatenate(parts))

    def _read(self, name: str, numbers: list[int]) -> Array | None:
        """Rows of a block, copied; None where it is gone."""
        found = self._blocks.get(name)
        block = self._opened(found) if isinstance(found, Path) else found
        if block is None or len(block) <= max(numbers):
            self._blocks.pop(name, None)
            return None
        return np.asarray(block[numbers])

    def _whole(self, place: tuple[str, int], row: np.void) -> bool:
        """Whether a row is what was written."""
        if place not in self._believed:
            if int(row["check"]) != _check(row) or not np.isfinite(row["features"]).all():
                return False
            self._believed.add(place)
        return True

    def add(self, keys: Sequence[Key], features: Array) -> None:
        """Keeps features (N, F) of these keys."""
        block = np.zeros(len(keys), _rows(self.features))
        block["key"] = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), 32)
        block["features"] = features
        for row in block:
            row["check"] = _check(row)
        name = hashlib.sha256(block.tobytes()).hexdigest()[:32]
        path = self._written(name, block)
        self._take(name, block, block if path is None else path)

    def _written(self, name: str, block: Array) -> Path | None:
        """Where the block lies, if it could be written."""
        if self.folder is None:
            return None
        path = self.folder / f"{name}.npy"
        try:
            with replacing(path) as temporary, temporary.open("wb") as file:
                np.lib.format.write_array(file, block, allow_pickle=False)
        except OSError as error:
            _log.warning(
                "features are kept in memory only: %s cannot be written to (%s). Name another folder with the "
                "variable %s to compute them once for all.", self.folder, error.strerror or error, CACHE_VARIABLE,
            )  # fmt: skip
            self.folder = None
            return None
        return path

    def _opened(self, path: Path) -> Array | None:
        """A block, memory-mapped; None where it is damaged or was just removed: it is computed again."""
        try:
            block: Array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        return block if block.dtype == _rows(self.features) and block.ndim == 1 else None

    def _look(self) -> None:
        """Takes in what has appeared on disk since, from other processes too."""
        if self.folder is None:
            return
        for path in sorted(self.folder.glob("*.npy")):
            if path.stem not in self._blocks:
                block = self._opened(path)
                if block is not None:
                    self._take(path.stem, block, path)

    def _take(self, name: str, block: Array, kept: Array | Path) -> None:
        self._blocks[name] = kept
        keys = np.ascontiguousarray(block["key"])
        for i in range(len(keys)):
            places = self._places.setdefault(keys[i].tobytes(), [])
            if (name, i) not in places:
                places.append((name, i))
