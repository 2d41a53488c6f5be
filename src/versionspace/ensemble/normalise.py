"""From uint8 images to what a network sees: each channel less its mean, divided by its deviation."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from versionspace.data.dataset import ImageView
from versionspace.errors import InputError
from versionspace.types import Array, ArrayLike

_BYTES = 16 << 20
"""Pixels read in one go."""
_COUNTED = 1 << 20
"""Pixels counted in one go: counting widens each to eight bytes."""


@dataclass(frozen=True)
class Normalisation:
    """Mean and deviation of each channel, in units of 0 to 255; taken from the pool and saved with the ensemble."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @staticmethod
    def of(given: ArrayLike) -> "Normalisation":
        """The statistics of some uint8 images (N, H, W, channels). Values are counted, so that chunks change no bit."""
        images = read_images(given)
        channels = images.shape[3]
        counts = np.zeros((channels, 256), np.int64)
        step = max(1, _BYTES // int(np.prod(images.shape[1:])))
        for i in range(0, len(images), step):
            pixels = np.asarray(images[i : i + step]).reshape(-1, channels)
            for j in range(0, len(pixels), _COUNTED):
                for c in range(channels):
                    counts[c] += np.bincount(pixels[j : j + _COUNTED, c], minlength=256)
        values = np.arange(256)
        total, squares = (counts @ values).tolist(), (counts @ values**2).tolist()
        count = images.shape[0] * images.shape[1] * images.shape[2]
        means = [t / count for t in total]
        variances = [s / count - m * m for s, m in zip(squares, means, strict=True)]
        return Normalisation(tuple(means), tuple(max(v, 0.0) ** 0.5 or 1.0 for v in variances))

    def apply(self, images: Tensor, dtype: torch.dtype) -> Tensor:
        """uint8 (…, H, W, channels) to floats of the same shape."""
        mean = torch.tensor(self.mean, dtype=dtype, device=images.device)
        deviation = torch.tensor(self.deviation, dtype=dtype, device=images.device)
        return (images.to(dtype) - mean) / deviation


def read_images(given: ArrayLike, name: str = "images") -> Array:
    """uint8 images (N, H, W, channels); a missing axis of channels is added. `ImageView` stay what they are."""
    images: Any = given if isinstance(given, np.ndarray | ImageView) else np.asarray(given)
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.dtype != np.uint8 or 0 in images.shape:
        raise InputError(
            name,
            expected="uint8 images of shape (N, height, width, channels), at least one",
            got=f"{images.dtype} of shape {images.shape}",
            fix="Pass pixels from 0 to 255; normalising is done here.",
        )
    found: Array = images
    return found
