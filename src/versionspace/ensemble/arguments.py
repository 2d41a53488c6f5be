"""Checks of what users pass to an ensemble: images and labels."""

from typing import Any

import numpy as np

from versionspace.data.dataset import Rows
from versionspace.errors import InputError
from versionspace.types import Array, ArrayLike


def read_images(given: ArrayLike, name: str = "images") -> Array:
    """Return uint8 images (N, H, W, channels); a missing channel axis is added. `Rows` are returned as they are."""
    images: Any = given if isinstance(given, np.ndarray | Rows) else np.asarray(given)
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.dtype != np.uint8 or 0 in images.shape:
        raise InputError(
            name,
            expected="uint8 images of shape (N, height, width, channels), at least one",
            got=f"{images.dtype} of shape {images.shape}",
            fix="Pass pixels from 0 to 255; the ensemble normalises them.",
        )
    checked: Array = images
    return checked


def read_labels(given: ArrayLike, count: int, classes: int, name: str = "labels") -> Array:
    """Return int64 classes (count,), each below ``classes``."""
    labels: Array = np.asarray(given)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) != count:
        raise InputError(
            name,
            expected=f"integer classes of shape ({count},), one for each image",
            got=f"{labels.dtype} of shape {labels.shape}",
            fix="Pass the class number of each image, in the same order.",
        )
    if labels.min() < 0 or labels.max() >= classes:
        raise InputError(
            name,
            expected=f"classes from 0 to {classes - 1}",
            got=f"{labels.min()} to {labels.max()}",
            fix="Leave out images without a label, or raise classes.",
        )
    return labels.astype(np.int64)
