"""Checks of what users pass to an ensemble: images and labels."""

from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from versionspace.data import ImageView
from versionspace.errors import InputError
from versionspace.types import Array, ArrayLike

_CHANNELS = (1, 2, 3, 4)
"""Usual numbers of channels: if the last axis has another and axis 1 has 1 or 3, images are taken as channels-first."""


def read_images(given: ArrayLike, name: str = "images") -> Array:
    """Return uint8 images (N, H, W, channels); a missing channel axis is added. An `ImageView` is returned as it is."""
    images: Any = given if isinstance(given, ImageView) else to_array(given, name)
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.dtype != np.uint8 or 0 in images.shape:
        raise InputError(
            name,
            expected="uint8 images of shape (N, height, width, channels), at least one",
            got=f"{images.dtype} of shape {images.shape}",
            fix="Pass pixels from 0 to 255; the ensemble normalises them.",
        )
    if images.shape[1] in (1, 3) and images.shape[3] not in _CHANNELS:
        raise InputError(
            name,
            expected="images of shape (N, height, width, channels)",
            got=f"{images.shape}, in which the channels come first",
            fix="Pass images.transpose(0, 2, 3, 1).",
        )
    checked: Array = images
    return checked


def read_labels(given: ArrayLike, count: int, classes: int, name: str = "labels") -> Array:
    """Return int64 classes (count,), each below ``classes``."""
    if given is None:
        raise InputError(
            name, expected="the class of each image", got="nothing", fix="Call fit(images, labels) with two arrays."
        )
    labels = to_array(given, name)
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


def read_weights(given: ArrayLike, count: int) -> Array:
    """Return the weights of images (count,), divided by their mean."""
    weights = to_array(given, "sample_weight").astype(np.float64)
    if weights.shape != (count,) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
        raise InputError(
            "sample_weight",
            expected=f"numbers of at least 0 of shape ({count},), one for each image, not all zero",
            got=f"{weights.dtype} of shape {weights.shape}",
            fix="Pass a weight for each labelled image.",
        )
    scaled: Array = weights / weights.mean()
    return scaled


def collect(images: ArrayLike, labels: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
    """Return images and labels; those of a torch `Dataset` or `DataLoader` are collected into two arrays."""
    if labels is not None or not isinstance(images, DataLoader | TorchDataset):
        return images, labels
    pairs: Any = images if isinstance(images, DataLoader) else (images[i] for i in range(len(images)))  # type: ignore[arg-type]
    parts: list[list[Array]] = [[], []]
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(
                "images",
                expected=f"a {type(images).__name__} of pairs (image, class)",
                got=f"items of {type(pair).__name__}",
                fix="Pass two arrays, fit(images, labels), if yours has other items.",
            )
        for part, value in zip(parts, pair, strict=True):
            part.append(np.asarray(value))
    joined = np.concatenate if isinstance(images, DataLoader) else np.stack
    try:
        return joined(parts[0]), joined(parts[1])
    except ValueError as error:
        raise InputError(
            "images", expected="images of one size, at least one", got=str(error), fix="Resize them in the dataset."
        ) from error


def to_array(given: ArrayLike, name: str) -> Array:
    """Convert to a NumPy array; raise `InputError` for what is not an array."""
    if isinstance(given, DataLoader | TorchDataset):
        raise InputError(
            name,
            expected="an array",
            got=f"a {type(given).__name__}",
            fix="Collect it into two arrays and pass them: fit(images, labels), with uint8 images (N, height, width, "
            "channels) and integer labels (N,).",
        )
    if hasattr(given, "tocsr"):
        raise InputError(
            name,
            expected="a dense array",
            got=f"sparse input ({type(given).__name__})",
            fix="Pass features.toarray(), or reduce them first, for example with TruncatedSVD; vs.bootstrap_committee "
            "trains classifiers on sparse features as they are.",
        )
    try:
        return np.asarray(given.detach().cpu() if isinstance(given, torch.Tensor) else given)
    except (TypeError, ValueError) as error:
        raise InputError(
            name, expected="an array", got=f"{type(given).__name__} ({error})", fix="All rows must have the same shape."
        ) from error
