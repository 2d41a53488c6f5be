"""The input stage of an ensemble: what its networks see of an image, before normalisation.

    PixelInputs     the pixels as they are, uint8 (N, H, W, channels)
    FeatureInputs   the features of a frozen extractor, as images of one pixel, float32 (N, 1, 1, F)

An ensemble holds one of them and treats both alike.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor, nn

from versionspace.ensemble.arguments import read_images
from versionspace.ensemble.checkpoint import BACKBONE, Backbone
from versionspace.ensemble.normalise import Normalisation
from versionspace.errors import InputError
from versionspace.features import CachedExtractor, CacheLocation, FeatureExtractor, make_extractor
from versionspace.files import replacing
from versionspace.types import Array, ArrayLike

ImageShape = tuple[int, int, int]
"""Height, width and channels of an image."""


class InputStage(Protocol):
    """From images to the inputs of the networks."""

    channels_are: str
    """What the last axis of the inputs holds, for messages."""
    perturbation_unit: float | None
    """Inputs per unit of a perturbation's size; None: sizes are those of normalised inputs."""

    @property
    def width(self) -> int | None:
        """Channels or features of the inputs; None if they depend on the images."""

    def read(self, images: ArrayLike, name: str = "images", check: Callable[[], None] | None = None) -> Array:
        """Return the inputs (N, h, w, c) of checked images. ``check`` is called now and then and may raise."""

    def statistics(self, inputs: Array) -> Normalisation:
        """Return the normalisation of these inputs."""

    def save(self, folder: Path, image: ImageShape) -> None:
        """Write what is necessary to make the stage again; ``image`` is the shape of the images of the fit."""

    def module(self) -> nn.Module:
        """Return a module from uint8 images (N, H, W, channels) to inputs (N, h, w, c), for ONNX export."""


class PixelInputs:
    """Pixels as they are. Perturbations are measured in pixels from 0 to 1."""

    channels_are: str = "channels"
    perturbation_unit: float | None = 255.0
    width: int | None = None

    def read(self, images: ArrayLike, name: str = "images", check: Callable[[], None] | None = None) -> Array:
        """Return the checked images."""
        return read_images(images, name)

    def statistics(self, inputs: Array) -> Normalisation:
        """Return the mean and deviation of each channel."""
        return Normalisation.of(inputs)

    def save(self, folder: Path, image: ImageShape) -> None:
        """Delete the description of features, which another ensemble may have left in the folder."""
        (folder / BACKBONE).unlink(missing_ok=True)

    def module(self) -> nn.Module:
        """Return a module that converts pixels to floats."""
        return _Floats()


class FeatureInputs:
    """Features of a frozen extractor, cached. Perturbations are measured in normalised features.

    Args:
        extractor: the name of one, or one of your own.
        side: pixels that the longer side of an image is resized to; None for the extractor's default.
        device, threads, progress, cache: as for `CachedExtractor`.
    """

    channels_are: str = "features"
    perturbation_unit: float | None = None

    def __init__(
        self,
        extractor: str | FeatureExtractor,
        *,
        side: int | None,
        device: torch.device,
        threads: int,
        progress: bool | None,
        cache: CacheLocation,
    ) -> None:
        self.name = extractor if isinstance(extractor, str) else None
        made = make_extractor(extractor, side=side, device=device)
        self.extract = CachedExtractor(made, threads=threads, progress=progress, cache=cache)

    @property
    def extractor(self) -> FeatureExtractor:
        """What computes the features."""
        return self.extract.extractor

    @property
    def width(self) -> int:
        """F."""
        return self.extractor.width

    def read(self, images: ArrayLike, name: str = "images", check: Callable[[], None] | None = None) -> Array:
        """Return the features of images of any size, float32 (N, 1, 1, F)."""
        return self.extract(read_images(images, name), check)[:, None, None]

    def statistics(self, inputs: Array) -> Normalisation:
        """Return the mean of each feature and one deviation for all."""
        return Normalisation.of_features(inputs[:, 0, 0])

    def save(self, folder: Path, image: ImageShape) -> None:
        """Write ``backbone.json``, which names the extractor; its weights are not copied."""
        backbone = Backbone(self.extractor.identity, self.extractor.side, image, self.name)
        with replacing(folder / BACKBONE) as new:
            new.write_text(json.dumps(backbone.to_body()))

    def module(self) -> nn.Module:
        """Return the extractor's module; raise `InputError` if it has none."""
        module = self.extractor.module()
        if module is None:
            raise InputError(
                "extractor",
                expected="one with a torch module, which an ONNX file can contain",
                got=f"{self.extractor.identity}, which has none",
                fix="Export safetensors instead.",
            )
        return _AsPixels(module)


class _Floats(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return images.float()


class _AsPixels(nn.Module):
    """Features as images of one pixel."""

    def __init__(self, extractor: nn.Module) -> None:
        super().__init__()
        self.extractor = extractor

    def forward(self, images: Tensor) -> Tensor:
        features: Tensor = self.extractor(images)
        return features[:, None, None]
