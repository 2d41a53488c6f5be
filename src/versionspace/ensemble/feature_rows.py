"""Features in place of images: rows (N, F) that networks see as images of one pixel."""

from typing import Any

import numpy as np

from versionspace.data import ImageView
from versionspace.ensemble.arguments import to_array
from versionspace.errors import InputError
from versionspace.types import Array, ArrayLike


class Vectors:
    """Vectors (N, F) as images of one pixel, float32 (N, 1, 1, F), converted and checked on access.

    >>> vectors = Vectors(np.arange(6, dtype=np.float16).reshape(3, 2), "features")
    >>> vectors.shape, vectors[1:].dtype, vectors[1:].shape
    ((3, 1, 1, 2), dtype('float32'), (2, 1, 1, 2))
    """

    def __init__(self, rows: Any, name: str) -> None:
        self._rows, self._name = rows, name
        self.shape: tuple[int, ...] = (len(rows), 1, 1, rows.shape[1])
        self.ndim, self.dtype = 4, np.dtype(np.float32)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, which: Any) -> Array:
        with np.errstate(over="ignore"):
            block = np.asarray(self._rows[which]).astype(self.dtype)
        finite = np.isfinite(block).all(axis=1)
        if not finite.all():
            row = int(np.arange(len(self))[which][np.argmin(finite)])
            raise InputError(
                f"{self._name}[{row}]", expected="finite features", got="a number that is not finite",
                fix="Look for a division by zero or an overflow in the code that computes the features.",
            )  # fmt: skip
        return block[:, None, None]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype)


def read_vectors(given: ArrayLike, name: str = "features") -> Vectors:
    """Return vectors (N, F) of an array, an `ImageView` or a DataFrame; nothing is copied before it is read."""
    if isinstance(given, Vectors):
        return given
    rows: Any = given if isinstance(given, ImageView) else to_array(given, name)
    if rows.ndim != 2 or rows.dtype.kind not in "fiu" or 0 in rows.shape:
        raise InputError(
            name, expected="features of shape (N, F), numbers, at least one row",
            got=f"{rows.dtype} of shape {rows.shape}",
            fix="This ensemble sees features and not pixels: compute them with the model that computed those of fit."
            if rows.ndim == 4
            else "Flatten the features of each item into one row.",
        )  # fmt: skip
    return Vectors(rows, name)
