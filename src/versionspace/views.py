"""Arrays that are read on access: a pool may be larger than memory."""

from typing import Any

import numpy as np

from versionspace.types import Array, Ints


class ImageView:
    """Selected images, or vectors, of an array, read on access.

    Indexing with a slice or with row numbers returns an array in memory, so that a memory-mapped array larger than
    memory can be processed in chunks.

    >>> view = ImageView(np.arange(12, dtype=np.uint8).reshape(3, 2, 2, 1), np.array([2, 0]))
    >>> view.shape, view[1:].ravel().tolist(), np.asarray(view).shape
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

    def select(self, rows: Ints) -> "ImageView":
        """Return some of these images, read on access."""
        return ImageView(self._images, self._rows[rows])


class ExtractedFeatures(ImageView):
    """Features (N, F) that an extractor has computed of images, read on access.

    Args:
        features: the array that holds them.
        rows: the row of each image in it.
        image_shape: height, width and channels of the images that they were computed from.
    """

    def __init__(self, features: Array, rows: Ints, image_shape: tuple[int, int, int]) -> None:
        super().__init__(features, rows)
        self.image_shape = image_shape

    def select(self, rows: Ints) -> "ExtractedFeatures":
        """Return the features of some of these images, read on access."""
        return ExtractedFeatures(self._images, self._rows[rows], self.image_shape)
