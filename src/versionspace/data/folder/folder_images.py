"""Images of a folder that are decoded when they are selected: no pixels are kept, in memory or on disk."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.data.errors import DataError
from versionspace.data.folder.decode import Frame, UnreadableError, decode, decoding
from versionspace.machine import cores
from versionspace.text import printable
from versionspace.types import Array, Ints

CHANGED = "changed while it was being read"
_ONE_THREAD = 16
"""Up to this many images are decoded without starting threads."""


class FolderImages:
    """Images (N, H, W, channels) of one size, uint8; selecting rows returns an array in memory.

    Args:
        root: the folder.
        files: the file of each image, relative to the folder.
        ids: the SHA-256 of each file, in hex; a file with another content counts as unreadable.
        to: the size.
        workers: threads; None: one per core.
    """

    def __init__(self, root: Path, files: Sequence[str], ids: Array, to: Frame, workers: int | None = None) -> None:
        self.root, self.files, self.ids, self.frame = root, files, ids, to
        self.shape: tuple[int, ...] = (len(files), *to.shape)
        self.ndim, self.dtype = 4, np.dtype(np.uint8)
        self._workers = workers or cores()

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, which: Any) -> Array:
        """Return the pixels of these rows. Raises `DataError` if a file cannot be decoded."""
        rows = np.arange(len(self))[which]
        pixels = np.empty((rows.size, *self.shape[1:]), np.uint8)
        for place, (row, result) in enumerate(zip(rows.ravel().tolist(), self.decode(rows.ravel()), strict=True)):
            if isinstance(result, str):
                raise DataError(
                    printable(self.files[row]), expected="an image that can be read, as when the folder was read",
                    got=result, fix="Restore the file, or move it out of the folder.",
                )  # fmt: skip
            pixels[place] = result
        return pixels.reshape(*rows.shape, *self.shape[1:])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype)

    def decode(self, rows: Ints) -> Iterator[Array | str]:
        """Yield the pixels (H, W, channels) of each of these rows, or why its file cannot be read."""
        todo = np.asarray(rows).tolist()
        with decoding():
            if len(todo) <= _ONE_THREAD or self._workers == 1:
                yield from map(self._pixels, todo)
            else:
                with ThreadPoolExecutor(self._workers) as pool:
                    step = 64 * self._workers  # what is decoded ahead of the reader
                    for start in range(0, len(todo), step):
                        yield from pool.map(self._pixels, todo[start : start + step], chunksize=8)

    def _pixels(self, row: int) -> Array | str:
        try:
            content = (self.root / self.files[row]).read_bytes()
            if sha256(content).hexdigest() != self.ids[row]:
                return CHANGED
            return decode(content, self.frame)
        except (OSError, UnreadableError) as error:
            return str(getattr(error, "strerror", None) or error)
