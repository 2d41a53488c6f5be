"""From uint8 images to what a network sees: each channel less its mean, divided by its deviation."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from versionspace.errors import InputError
from versionspace.types import Array, ArrayLike

_IMAGES = 4096
"""Images looked at in one go."""


@dataclass(frozen=True)
class Normalisation:
    """Mean and deviation of each channel, in units of 0 to 255; taken from the pool and saved with the ensemble."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @staticmethod
    def of(images: Array) -> "Normalisation":
        """The statistics of some images (N, H, W, channels). Whole numbers are added, so that chunks change no bit."""
        channels = images.shape[3]
        total, squares = [0] * channels, [0] * channels
        for i in range(0, len(images), _IMAGES):
            values = np.asarray(images[i : i + _IMAGES]).astype(np.int64)
            for c in range(channels):
                total[c] += int(values[..., c].sum())
                squares[c] += int((values[..., c] ** 2).sum())
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
    """uint8 images (N, H, W, channels); a missing axis of channels is added."""
    images: Array = given if isinstance(given, np.ndarray) else np.asarray(given)
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.dtype != np.uint8 or 0 in images.shape:
        raise InputError(
            name,
            expected="uint8 images of shape (N, height, width, channels), at least one",
            got=f"{images.dtype} of shape {images.shape}",
            fix="Pass pixels from 0 to 255; normalising is done here.",
        )
    return images
