"""Features on disk, found by the SHA-256 of each image's pixels: when a folder grows, only new images are computed.

``CACHE/features/IDENTITY-SIDE-ROUNDING-VERSION/`` holds blocks ``NAME.npy``; ROUNDING is a hash of processor and torch.
A row of a block is an image's key, its features and a checksum of both, so that each row can be verified by itself:
damaged rows are ignored, and their features computed again. Keys belong to images and not to arrays, because pool,
validation and labelled images are selected anew in every round, and folders grow. Blocks are written atomically, never
change and contain no pickle. A block is open only while it is read: a large cache has more blocks than a process may
have open files. If the disk is full or read-only, features are kept in memory instead, and one warning is logged.
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

from versionspace.data import CACHE_VARIABLE, cache_folder
from versionspace.files import replacing
from versionspace.types import Array

VERSION = 1
"""Raised whenever the same image would get different features, or rows a different layout."""
Key: TypeAlias = bytes
CacheLocation: TypeAlias = "str | os.PathLike[str] | Literal[False] | None"
"""The cache folder; None for the user's own, False for memory only."""

_log = logging.getLogger("versionspace.features")


def image_key(image: Array) -> Key:
    """Return the SHA-256 of an image's shape and pixels, uint8 (H, W, channels)."""
    digest = hashlib.sha256(repr(image.shape).encode())
    digest.update(np.ascontiguousarray(image).data)
    return digest.digest()


def _row_dtype(features: int) -> np.dtype[np.void]:
    return np.dtype([("key", "u1", (32,)), ("features", "<f4", (features,)), ("check", "<u4")])


def _checksum(row: np.void) -> int:
    """Return the CRC-32 of a row's key and features."""
    return zlib.crc32(row["features"].tobytes(), zlib.crc32(row["key"].tobytes()))


@dataclass(frozen=True)
class CacheHits:
    """The features that a cache has of some keys."""

    positions: npt.NDArray[np.int64]
    """(n,): positions in the sequence of keys."""
    features: npt.NDArray[np.float32]
    """(n, F)."""


class FeatureCache:
    """Features of one extractor at one image size.

    >>> cache = FeatureCache("example", 2, location=False)
    >>> keys = [image_key(np.full((1, 1, 1), i, np.uint8)) for i in range(3)]
    >>> cache.add(keys[1:], np.array([[1, 2], [3, 4]], np.float32))
    >>> cache.find(keys)
    CacheHits(positions=array([1, 2]), features=array([[1., 2.], [3., 4.]], dtype=float32))
    """

    def __init__(self, name: str, features: int, location: CacheLocation = None) -> None:
        self.folder: Path | None = (
            None if location is False else cache_folder(location) / "features" / f"{name}-{VERSION}"
        )
        self.features = features
        self._blocks: dict[str, Array | Path] = {}
        """By name: the file, or the rows of a block that could not be written."""
        self._places: dict[Key, list[tuple[str, int]]] = {}
        """Block and row of each key: several if one is damaged or two processes computed the same image."""
        self._verified: set[tuple[str, int]] = set()
        """Rows whose checksum has been compared."""

    def find(self, keys: Sequence[Key]) -> CacheHits:
        """Return the intact features of these keys. Cost: reads 4·F + 36 bytes per key."""
        self._discover_blocks()
        positions_of: dict[Key, list[int]] = {}
        for position, key in enumerate(keys):
            positions_of.setdefault(key, []).append(position)
        positions: list[int] = []
        parts = [np.empty((0, self.features), np.float32)]
        left = list(positions_of)
        while left := [key for key in left if self._places.get(key)]:
            keys_of: dict[str, list[Key]] = {}
            for key in left:
                keys_of.setdefault(self._places[key][-1][0], []).append(key)
            left = []
            for name, block_keys in keys_of.items():
                rows = self._read_rows(name, [self._places[key][-1][1] for key in block_keys])
                intact: list[int] = []
                for i, key in enumerate(block_keys):
                    if rows is not None and self._is_intact(self._places[key][-1], rows[i]):
                        positions += positions_of[key]
                        intact += [i] * len(positions_of[key])
                    else:  # another block may have the key
                        self._verified.discard(self._places[key].pop())
                        left.append(key)
                if rows is not None:
                    parts.append(rows["features"][intact])
        return CacheHits(np.array(positions, np.int64), np.concatenate(parts))

    def add(self, keys: Sequence[Key], features: Array) -> None:
        """Store features (N, F) of these keys as one block."""
        block = np.zeros(len(keys), _row_dtype(self.features))
        block["key"] = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), 32)
        block["features"] = features
        for row in block:
            row["check"] = _checksum(row)
        name = hashlib.sha256(block.tobytes()).hexdigest()[:32]
        path = self._write_block(name, block)
        self._index_block(name, block, block if path is None else path)

    def _read_rows(self, name: str, numbers: list[int]) -> Array | None:
        """Return a copy of some rows of a block; None if the block is missing or damaged."""
        stored = self._blocks.get(name)
        block = self._open_block(stored) if isinstance(stored, Path) else stored
        if block is None or len(block) <= max(numbers):
            self._blocks.pop(name, None)
            return None
        return np.asarray(block[numbers])

    def _is_intact(self, place: tuple[str, int], row: np.void) -> bool:
        """Return whether a row is as it was written; a row is verified once."""
        if place not in self._verified:
            if int(row["check"]) != _checksum(row) or not np.isfinite(row["features"]).all():
                return False
            self._verified.add(place)
        return True

    def _write_block(self, name: str, block: Array) -> Path | None:
        """Return the file of a block; None if it cannot be written."""
        if self.folder is None:
            return None
        path = self.folder / f"{name}.npy"
        try:
            with replacing(path) as temporary, temporary.open("wb") as file:
                np.lib.format.write_array(file, block, allow_pickle=False)
        except OSError as error:
            _log.warning(
                "features are kept in memory only: %s cannot be written (%s). Set the variable %s to another folder to "
                "keep them on disk.", self.folder, error.strerror or error, CACHE_VARIABLE,
            )  # fmt: skip
            self.folder = None
            return None
        return path

    def _open_block(self, path: Path) -> Array | None:
        """Return a memory-mapped block; None if it is damaged or has just been deleted."""
        try:
            block: Array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        return block if block.dtype == _row_dtype(self.features) and block.ndim == 1 else None

    def _discover_blocks(self) -> None:
        """Index blocks that have appeared on disk, including those of other processes."""
        if self.folder is None:
            return
        for path in sorted(self.folder.glob("*.npy")):
            if path.stem not in self._blocks:
                block = self._open_block(path)
                if block is not None:
                    self._index_block(path.stem, block, path)

    def _index_block(self, name: str, block: Array, stored: Array | Path) -> None:
        self._blocks[name] = stored
        keys = np.ascontiguousarray(block["key"])
        for i in range(len(keys)):
            places = self._places.setdefault(keys[i].tobytes(), [])
            if (name, i) not in places:
                places.append((name, i))
