"""The input stage of an ensemble: what its networks see of an image, before normalisation.

    PixelInputs     the pixels as they are, uint8 (N, H, W, channels)
    FeatureInputs   the features of a frozen extractor, as images of one pixel, float32 (N, 1, 1, F)
    VectorInputs    features that were computed elsewhere, likewise (versionspace.ensemble.vectors)

An ensemble holds one of them and treats all alike.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from versionspace.data import ExtractedFeatures
from versionspace.ensemble.arguments import read_images
from versionspace.ensemble.checkpoint import BACKBONE, Backbone
from versionspace.ensemble.feature_rows import Vectors, read_vectors
from versionspace.ensemble.normalise import Normalisation
from versionspace.ensemble.settings import PRECOMPUTED
from versionspace.errors import InputError
from versionspace.features import CachedExtractor, CacheLocation, FeatureExtractor, absolute_name, make_extractor
from versionspace.files import replacing
from versionspace.types import Array, ArrayLike

ImageShape = tuple[int, int, int]
"""Height, width and channels of an image."""


@dataclass(frozen=True)
class OnnxInput:
    """The input of an ONNX file: its name, a description, and a few examples to compare with torch."""

    name: str
    about: str
    examples: Array


class InputStage(Protocol):
    """From images to the inputs of the networks."""

    @property
    def channels_are(self) -> str:
        """What the last axis of the inputs holds, for messages."""

    @property
    def perturbation_unit(self) -> float | None:
        """Inputs per unit of a perturbation's size; None: sizes are those of normalised inputs."""

    @property
    def width(self) -> int | None:
        """Channels or features of the inputs; None if they depend on the images."""

    def open(self, images: ArrayLike, name: str = "images") -> Array:
        """Return checked images (N, H, W, channels), before anything is computed from them."""

    def read(self, images: ArrayLike, name: str = "images", check: Callable[[], None] | None = None) -> Array:
        """Return the inputs (N, h, w, c) of checked images. ``check`` is called now and then and may raise."""

    def statistics(self, inputs: Array) -> Normalisation:
        """Return the normalisation of these inputs."""

    def mismatch(self, got: ImageShape, fitted: ImageShape) -> InputError:
        """Return the error about inputs of another shape than those of the fit."""

    def save(self, folder: Path, image: ImageShape) -> None:
        """Write what is necessary to make the stage again; ``image`` is the shape of the images of the fit."""

    def module(self) -> nn.Module:
        """Return a module from uint8 images (N, H, W, channels) to inputs (N, h, w, c), for ONNX export."""

    def onnx_input(self, image: ImageShape, normalisation: Normalisation) -> OnnxInput:
        """Return the input of an ONNX file, for images of this shape."""


class PixelInputs:
    """Pixels as they are. Perturbations are measured in pixels from 0 to 1."""

    channels_are: str = "channels"
    perturbation_unit: float | None = 255.0
    width: int | None = None

    def open(self, images: ArrayLike, name: str = "images") -> Array:
        """Return the checked images."""
        return read_images(images, name)

    def read(self, images: ArrayLike, name: str = "images", check: Callable[[], None] | None = None) -> Array:
        """Return the checked images."""
        return read_images(images, name)

    def statistics(self, inputs: Array) -> Normalisation:
        """Return the mean and deviation of each channel."""
        return Normalisation.of(inputs)

    def mismatch(self, got: ImageShape, fitted: ImageShape) -> InputError:
        """Return the error about images of another size."""
        return image_mismatch(got, fitted)

    def save(self, folder: Path, image: ImageShape) -> None:
        """Delete the description of features, which another ensemble may have left in the folder."""
        (folder / BACKBONE).unlink(missing_ok=True)

    def module(self) -> nn.Module:
        """Return a module that converts pixels to floats."""
        return _Floats()

    def onnx_input(self, image: ImageShape, normalisation: Normalisation) -> OnnxInput:
        """Return random images."""
        return image_input(image)


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
        self.name = absolute_name(extractor) if isinstance(extractor, str) else None
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

    def open(self, images: ArrayLike, name: str = "images") -> Array:
        """Return the checked images; `ExtractedFeatures` as they are, read on access."""
        if isinstance(images, ExtractedFeatures | Vectors):
            return read_vectors(images, name)  # type: ignore[return-value]
        return read_images(images, name)

    def read(self, images: ArrayLike, name: str = "images", check: Callable[[], None] | None = None) -> Array:
        """Return the features of images of any size, float32 (N, 1, 1, F)."""
        opened: Any = self.open(images, name)
        features: Any = opened if isinstance(opened, Vectors) else self.extract(opened, check)[:, None, None]
        return features  # type: ignore[no-any-return]

    def statistics(self, inputs: ArrayLike) -> Normalisation:
        """Return the mean of each feature and one deviation for all."""
        if isinstance(inputs, Vectors):
            return Normalisation.of_vectors(inputs)  # type: ignore[arg-type]
        return Normalisation.of_features(inputs[:, 0, 0])

    def mismatch(self, got: ImageShape, fitted: ImageShape) -> InputError:
        """Return the error about features of another width."""
        return image_mismatch(got, fitted)

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
                got=f"{self.name or self.extractor.identity}, which has none",
                fix="Export safetensors instead: `versionspace predict` and Ensemble.load compute the features "
                "themselves.",
            )
        return _AsPixels(module)

    def onnx_input(self, image: ImageShape, normalisation: Normalisation) -> OnnxInput:
        """Return random images."""
        return image_input(image)


def image_mismatch(got: ImageShape, fitted: ImageShape) -> InputError:
    """Return the error about images of another shape than those of the fit."""
    return InputError(
        "images",
        expected=f"images of {fitted[0]}×{fitted[1]} pixels and {fitted[2]} channels, as in fit",
        got=f"{got[0]}×{got[1]} and {got[2]}",
        fix="Resize them as the labelled images were.",
    )


def image_input(image: ImageShape) -> OnnxInput:
    """Return the input of an ONNX file for images: five random ones, a black and a white one."""
    images = np.random.default_rng(0).integers(0, 256, (7, *image), np.uint8)
    images[-2], images[-1] = 0, 255
    return OnnxInput("images", "uint8 images, N×H×W×channels, 0 to 255", images)


def saved_extractor(folder: str, backbone: Backbone, given: str | FeatureExtractor | None) -> str | FeatureExtractor:
    """Return the extractor of a saved ensemble: the given one, or the name of the saved one."""
    if backbone.name == PRECOMPUTED:
        return PRECOMPUTED
    found = given if given is not None else backbone.name
    if found is None:
        raise InputError(
            "extractor",
            expected=f"the extractor {backbone.identity}, on whose features the ensemble was trained",
            got="nothing",
            fix="Pass extractor=your_extractor.",
        )
    identity = make_extractor(found).identity
    if identity != backbone.identity:
        raise InputError(
            folder,
            expected=f"the extractor {backbone.identity}, on whose features the ensemble was trained",
            got=identity,
            fix="Its weights or its preprocessing have changed: restore them (hf:NAME@REVISION names a version on the "
            "hub), or fit again.",
        )
    return found


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
