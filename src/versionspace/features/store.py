"""Features of the images of one folder as a matrix on disk, filled row by row and memory-mapped.

``CACHE/features/NAME/`` holds three files for each set of images: ``SET.ids`` their ids, ``SET.f32`` the matrix, and
``SET.crc`` a checksum of each row, 0 where the row is not computed yet. A row is written before its checksum, and every
checksum is compared when the store is opened: after a power failure, damaged rows are computed again. A new set takes
over the rows that other sets of the same extractor have of its images: when a folder grows, only new ones are computed.
"""

import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from versionspace.data import cache_folder, explaining_write_errors
from versionspace.features.cache import CacheLocation
from versionspace.files import replacing
from versionspace.types import Array, Bools, Ints

VERSION = 1
"""Raised whenever the same image would get different features, or the files a different layout."""
_ROWS = 2048
"""Rows read at a time."""


class FeatureStore:
    """Features (N, F) of images that are identified by the SHA-256 of their files.

    Memory: 5 bytes an image; the matrix is on disk.

    Args:
        name: of the extractor, the size of the images, and what rounds.
        width: F.
        ids: of the images, in hex, ascending.
        location: the cache folder; None for the user's own.
    """

    def __init__(self, name: str, width: int, ids: Array, location: CacheLocation = None) -> None:
        self.ids, self.width = ids, width
        self.folder = cache_folder(location or None) / "features" / f"{name}-files-{VERSION}"
        digests = _digests(ids)
        set_name = hashlib.sha256(digests.data).hexdigest()[:32]
        self._matrix, self._checks = (self.folder / f"{set_name}{suffix}" for suffix in (".f32", ".crc"))
        with explaining_write_errors(self.folder):
            self._create(self.folder / f"{set_name}.ids", digests)
        self.features: Array = np.memmap(self._matrix, "<f4", "r", shape=(len(ids), width))
        """(N, F), memory-mapped; rows that are not `done` are arbitrary."""
        self._crc = self._verified(np.fromfile(self._checks, "<u4"))

    @property
    def done(self) -> Bools:
        """(N,): which rows are computed."""
        computed: Bools = self._crc != 0
        return computed

    def is_done(self, rows: Ints) -> Bools:
        """Return which of these rows are computed."""
        computed: Bools = self._crc[rows] != 0
        return computed

    def rows(self, ids: Array) -> Ints:
        """Return the row of each of these images, all of which must be in the store."""
        return np.searchsorted(self.ids, ids)

    def add(self, rows: Ints, features: Array) -> None:
        """Write the features (n, F) of some rows. Raises `DataError` if they cannot be written."""
        values = np.ascontiguousarray(features, "<f4")
        checks = np.array([_checksum(row) for row in values], "<u4")
        with explaining_write_errors(self.folder):
            _write_rows(self._matrix, rows, values)
            _write_rows(self._checks, rows, checks)
        self._crc[rows] = checks

    def _create(self, ids_file: Path, digests: Array) -> None:
        """Create the files, unless they exist; the ids, which make a set known to others, come last."""
        self.folder.mkdir(parents=True, exist_ok=True)
        sizes = {self._matrix: 4 * self.width * len(digests), self._checks: 4 * len(digests)}
        if ids_file.exists() and all(path.is_file() and path.stat().st_size == n for path, n in sizes.items()):
            return
        for path, size in sizes.items():
            with path.open("wb") as file:
                file.truncate(size)  # takes no space until rows are written
        self._crc = np.zeros(len(digests), "<u4")
        for other in sorted(self.folder.glob("*.ids")):
            if other != ids_file:
                self._take_over(other, digests)
        with replacing(ids_file) as temporary:
            digests.tofile(temporary)

    def _take_over(self, other: Path, digests: Array) -> None:
        """Copy the rows that another set has of these images and this one lacks."""
        try:
            theirs = np.fromfile(other, "S32")
            crc = np.fromfile(other.with_suffix(".crc"), "<u4")
            matrix = np.memmap(other.with_suffix(".f32"), "<f4", "r", shape=(len(theirs), self.width))
        except (OSError, ValueError):
            return
        if len(theirs) != len(crc) or not len(theirs):
            return
        places = np.minimum(np.searchsorted(theirs, digests), len(theirs) - 1)
        mine = np.flatnonzero((theirs[places] == digests) & (crc[places] != 0) & (self._crc == 0))
        for some in _blocks(mine):
            copied = np.asarray(matrix[places[some]])
            intact = np.array([_checksum(row) for row in copied], "<u4") == crc[places[some]]
            self.add(some[intact], copied[intact])

    def _verified(self, crc: Array) -> Array:
        """Return the checksums with 0 for rows that are damaged."""
        for rows in _blocks(np.flatnonzero(crc)):
            actual = np.array([_checksum(row) for row in self.features[rows]], "<u4")
            crc[rows[actual != crc[rows]]] = 0
        return crc


def _digests(ids: Array) -> Array:
    """Return ids as bytes: their order is that of the hex digits."""
    parts = (ids[start : start + _ROWS].tolist() for start in range(0, len(ids), _ROWS))
    return np.frombuffer(b"".join(bytes.fromhex("".join(part)) for part in parts), "S32")


def _checksum(row: Array) -> int:
    return zlib.crc32(row.data) or 1


def _blocks(rows: Ints) -> Iterator[Ints]:
    for start in range(0, len(rows), _ROWS):
        yield rows[start : start + _ROWS]


def _write_rows(path: Path, rows: Ints, values: Array) -> None:
    """Write rows of a file with `write`: a full disk is then an error, while a mapped page would end the process."""
    with path.open("r+b", buffering=0) as file:
        for row, value in zip(rows.tolist(), values, strict=True):
            file.seek(row * value.nbytes)
            file.write(np.ascontiguousarray(value).tobytes())
