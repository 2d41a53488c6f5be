"""The preprocessing that pretrained networks share: resize, crop the centre, normalise.

It is done in torch, so that an ONNX file can contain it. Resizing is two matrix products with the weights that Pillow
uses, which are equal on every device; Pillow rounds to whole grey levels after each, and this does not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from versionspace.errors import InputError

Weights = npt.NDArray[np.float64]


def _box(x: Weights) -> Weights:
    return np.where((x > -0.5) & (x <= 0.5), 1.0, 0.0)


def _bilinear(x: Weights) -> Weights:
    return np.where(np.abs(x) < 1, 1 - np.abs(x), 0.0)


def _hamming(x: Weights) -> Weights:
    return np.where(np.abs(x) < 1, np.sinc(x) * (0.54 + 0.46 * np.cos(np.pi * x)), 0.0)


def _bicubic(x: Weights) -> Weights:
    a, x = -0.5, np.abs(x)
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def _lanczos(x: Weights) -> Weights:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0.0)


NEAREST = "nearest"
FILTERS: dict[str, Callable[[Weights], Weights]] = {
    "box": _box, "bilinear": _bilinear, "hamming": _hamming, "bicubic": _bicubic, "lanczos": _lanczos,
}  # fmt: skip
"""Weight of a pixel by its distance, in pixels of the smaller image."""
PILLOW_FILTERS = (NEAREST, "lanczos", "bilinear", "bicubic", "box", "hamming")
"""By Pillow's numbers."""
_SQUASHED = 384
"""From this size on, ConvNeXt's processor makes images square without cropping."""


@dataclass(frozen=True)
class Preprocessing:
    """What happens to pixels before a network sees them: (x·scale − mean)/deviation after resizing and cropping."""

    mean: tuple[float, ...]
    """Of each channel that the network takes."""
    deviation: tuple[float, ...]
    size: int | tuple[int, int] | None = None
    """Pixels of the shorter side, with the proportions kept; or height and width; None for no resizing."""
    crop: tuple[int, int] | None = None
    """Height and width of the centre that is kept; None for everything."""
    half_pixels: Literal["down", "even"] = "down"
    """How the crop's position is rounded: Hugging Face rounds it down, torchvision and timm to even."""
    filter: str = "bicubic"
    scale: float = 1 / 255

    @property
    def side(self) -> int:
        """Pixels that a square image should have: what it is resized to, or cropped to; 0 if it is taken as it is."""
        if isinstance(self.size, int):
            return self.size
        return max(self.size or self.crop or (0,))

    def resized_shape(self, height: int, width: int) -> tuple[int, int]:
        """Return height and width after resizing.

        >>> Preprocessing((0.0,), (1.0,), size=256).resized_shape(300, 400)
        (256, 341)
        """
        if self.size is None:
            return height, width
        if isinstance(self.size, tuple):
            return self.size
        if height <= width:
            return self.size, int(self.size * width / height)
        return int(self.size * height / width), self.size


def read_processor_settings(given: Mapping[str, Any]) -> Preprocessing | None:
    """Return the settings in a ``preprocessor_config.json`` of Hugging Face; None if they have another form.

    >>> read_processor_settings({"size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224},
    ...     "do_resize": True, "do_center_crop": True, "do_normalize": False, "resample": 3}).crop
    (224, 224)
    """
    try:
        resized = _resized_to(given) if given.get("do_resize", True) else None
        cropped = _square_or_sides(given["crop_size"]) if given.get("do_center_crop") else None
        if given.get("crop_pct") and isinstance(resized, int):  # ConvNeXt
            cropped = (resized, resized)
            resized = int(resized / given["crop_pct"]) if resized < _SQUASHED else cropped
        normalised = given.get("do_normalize", True)
        return Preprocessing(
            mean=tuple(map(float, given["image_mean"])) if normalised else (0.0,) * 3,
            deviation=tuple(map(float, given["image_std"])) if normalised else (1.0,) * 3,
            size=resized,
            crop=cropped,
            filter=PILLOW_FILTERS[int(given["resample"])] if resized is not None else "bicubic",
            scale=float(given.get("rescale_factor", 1 / 255)) if given.get("do_rescale", True) else 1.0,
        )
    except (KeyError, TypeError, ValueError, IndexError):
        return None


def _resized_to(given: Mapping[str, Any]) -> int | tuple[int, int]:
    """Return the shorter side, or height and width."""
    size = given["size"]
    if isinstance(size, int):
        return size if given.get("do_center_crop") else (size, size)
    shorter = size.get("shortest_edge")
    return int(shorter) if shorter else _square_or_sides(size)


def _square_or_sides(size: int | Mapping[str, int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (int(size["height"]), int(size["width"]))


@cache
def resize_matrix(pixels: int, resized: int, filter_: str) -> npt.NDArray[np.float32]:
    """Return the matrix (resized, pixels) that resizes one axis as Pillow does, antialiased.

    >>> resize_matrix(4, 2, "box")
    array([[0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5]], dtype=float32)
    """
    ratio = pixels / resized
    centres = (np.arange(resized) + 0.5) * ratio
    if filter_ == NEAREST:
        return np.eye(pixels, dtype=np.float32)[centres.astype(np.int64)]
    distances = (np.arange(pixels) + 0.5 - centres[:, None]) / max(ratio, 1.0)
    weights = FILTERS[filter_](distances)
    matrix: npt.NDArray[np.float32] = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return matrix


class Preprocess(nn.Module):
    """uint8 images (N, H, W, 1 or C) to network inputs (N, C, h, w)."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, settings: Preprocessing) -> None:
        super().__init__()
        self.settings = settings
        for name in ("mean", "deviation"):
            values = torch.tensor(getattr(settings, name), dtype=torch.float32).view(-1, 1, 1)
            self.register_buffer(name, values, persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Resize, crop and normalise; grey images get as many equal channels as the network takes."""
        settings, channels = self.settings, len(self.settings.mean)
        check_channels(images.shape[3], channels)
        pixels = images.float().permute(0, 3, 1, 2)
        height, width = images.shape[1], images.shape[2]
        tall, wide = settings.resized_shape(height, width)
        if wide != width:
            across = torch.from_numpy(resize_matrix(width, wide, settings.filter)).to(pixels.device)
            pixels = (pixels @ across.T).clamp(0, 255)
        if tall != height:
            down = torch.from_numpy(resize_matrix(height, tall, settings.filter)).to(pixels.device)
            pixels = (down @ pixels).clamp(0, 255)
        if settings.crop is not None:
            pixels = _crop_centre(pixels, *settings.crop, half_pixels=settings.half_pixels)
        pixels = pixels.expand(-1, channels, -1, -1)
        return (pixels * settings.scale - self.mean) / self.deviation


def check_channels(given: int, taken: int) -> None:
    """Raise `InputError` unless images have the channels that a network takes, or one, which is repeated."""
    if given not in (1, taken):
        raise InputError(
            "images",
            expected=f"images of 1 channel (grey) or {taken}, as the network takes them",
            got=f"{given} channels",
            fix="Convert them, or train a network from scratch: net='small'.",
        )


def _crop_centre(pixels: Tensor, height: int, width: int, *, half_pixels: str) -> Tensor:
    """Return the centre of images (N, C, H, W); images that are too small get black borders."""
    more_y, more_x = max(0, height - pixels.shape[2]), max(0, width - pixels.shape[3])
    if more_y or more_x:
        before_y, before_x = more_y - more_y // 2, more_x - more_x // 2
        pixels = nn.functional.pad(pixels, (before_x, more_x - before_x, before_y, more_y - before_y))
    spare_y, spare_x = pixels.shape[2] - height, pixels.shape[3] - width
    top, left = (round(s / 2) if half_pixels == "even" else s // 2 for s in (spare_y, spare_x))
    return pixels[:, :, top : top + height, left : left + width]
