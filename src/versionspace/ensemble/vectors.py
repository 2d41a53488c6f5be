"""Input stages for features that were computed elsewhere: networks see them as images of one pixel.

VectorInputs   vectors as they are, numbers (N, F)
EitherInputs   vectors as they are, or of images the features of an extractor: the first array decides
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from versionspace.ensemble.checkpoint import BACKBONE, Backbone
from versionspace.ensemble.feature_rows import read_vectors
from versionspace.ensemble.inputs import FeatureInputs, ImageShape, InputStage, OnnxInput
from versionspace.ensemble.normalise import Normalisation
from versionspace.ensemble.settings import PRECOMPUTED
from versionspace.errors import InputError
from versionspace.files import replacing
from versionspace.types import Array, ArrayLike


class VectorInputs:
    """Vectors as they are. Perturbations are measured in normalised features."""

    channels_are: str = "features"
    perturbation_unit: float | None = None
    width: int | None = None

    def open(self, images: ArrayLike, name: str = "images") -> Array:
        """Return the checked vectors, converted on access."""
        vectors: Any = read_vectors(images, name.replace("images", "features"))
        return vectors  # type: ignore[no-any-return]

    def read(self, images: ArrayLike, name: str = "images", check: Callable[[], None] | None = None) -> Array:
        """Return the vectors as images of one pixel, converted on access."""
        return self.open(images, name)

    def statistics(self, inputs: Array) -> Normalisation:
        """Return the mean of each feature and one deviation for all."""
        return Normalisation.of_vectors(inputs)

    def mismatch(self, got: ImageShape, fitted: ImageShape) -> InputError:
        """Return the error about vectors of another width than those of the fit."""
        return InputError(
            "features", expected=f"{fitted[2]} features of each item, as in fit", got=str(got[2]),
            fix="Compute them with the model that computed those of fit.",
        )  # fmt: skip

    def save(self, folder: Path, image: ImageShape) -> None:
        """Write ``backbone.json``, which says that the inputs are vectors of this width."""
        with replacing(folder / BACKBONE) as new:
            new.write_text(json.dumps(Backbone(PRECOMPUTED, 0, image, PRECOMPUTED).to_body()))

    def module(self) -> nn.Module:
        """Return a module from float32 vectors (N, F) to inputs."""
        return _OnePixel()

    def onnx_input(self, image: ImageShape, normalisation: Normalisation) -> OnnxInput:
        """Return vectors like those of the fit."""
        noise = np.random.default_rng(0).normal(size=(7, image[2]))
        examples = np.array(normalisation.mean) + noise * np.array(normalisation.deviation)
        return OnnxInput("features", "float32 features, N×F", examples.astype(np.float32))


class EitherInputs:
    """Vectors as they are, or of images the features of an extractor: the first array that is read decides.

    Args:
        extract: makes the stage for images; called once, and not for vectors.
    """

    def __init__(self, extract: Callable[[], FeatureInputs]) -> None:
        self._extract = extract
        self._chosen: InputStage | None = None

    @property
    def chosen(self) -> InputStage:
        """The stage that the first array has chosen; for vectors if there was none yet."""
        return self._chosen or VectorInputs()

    @property
    def channels_are(self) -> str:
        """What the last axis of the inputs holds, for messages."""
        return "features"

    @property
    def perturbation_unit(self) -> float | None:
        """Sizes are those of normalised inputs."""
        return None

    @property
    def width(self) -> int | None:
        """F, once it is known."""
        return self.chosen.width

    def open(self, images: ArrayLike, name: str = "images") -> Array:
        """Return the checked images or vectors."""
        if self._chosen is None:
            shape = getattr(images, "shape", None) or np.shape(images)
            self._chosen = VectorInputs() if len(shape) == 2 else self._extract()
        return self._chosen.open(images, name)

    def read(self, images: ArrayLike, name: str = "images", check: Callable[[], None] | None = None) -> Array:
        """Return the features of images, or vectors as they are, (N, 1, 1, F)."""
        opened = self.open(images, name)
        return self.chosen.read(opened, name, check)

    def statistics(self, inputs: Array) -> Normalisation:
        """Return the mean of each feature and one deviation for all."""
        return self.chosen.statistics(inputs)

    def mismatch(self, got: ImageShape, fitted: ImageShape) -> InputError:
        """Return the error about inputs of another shape than those of the fit."""
        return self.chosen.mismatch(got, fitted)

    def save(self, folder: Path, image: ImageShape) -> None:
        """Write what the chosen stage writes."""
        self.chosen.save(folder, image)

    def module(self) -> nn.Module:
        """Return the module of the chosen stage."""
        return self.chosen.module()

    def onnx_input(self, image: ImageShape, normalisation: Normalisation) -> OnnxInput:
        """Return the input of the chosen stage."""
        return self.chosen.onnx_input(image, normalisation)


class _OnePixel(nn.Module):
    def forward(self, features: Tensor) -> Tensor:
        return features.to(torch.float32)[:, None, None]
