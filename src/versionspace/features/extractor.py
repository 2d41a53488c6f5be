"""What a feature extractor is, and the table of those that have a name.

A feature extractor is a frozen function from images to vectors: a pretrained network with its preprocessing. Adding one
means one file with a class that satisfies `FeatureExtractor`, and one row in `EXTRACTORS`. Extractors of your own need
no row: pass the object wherever a name is accepted.

Importing this module does not import torch.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from versionspace.errors import InputError, MissingPackageError

if TYPE_CHECKING:
    import torch
    from torch import nn


@runtime_checkable
class FeatureExtractor(Protocol):
    """Images in, features out; the same image always has the same features.

    Constructing one is cheap: weights are loaded by the first call. Several threads may call it at once, always with
    the same number of images (`versionspace.features.extract`), so that an image's features depend on nothing else.
    """

    @property
    def identity(self) -> str:
        """Names the weights and the preprocessing: with the same ``side``, equal identities mean equal features."""

    @property
    def side(self) -> int:
        """Pixels of the longer side that images are resized to; 0 if they are taken as they are."""

    @property
    def width(self) -> int:
        """F, the number of features of an image."""

    @property
    def device(self) -> "torch.device":
        """Where the work is done: features are rounded differently elsewhere, and cached apart."""

    def __call__(self, images: npt.NDArray[np.uint8], /) -> npt.NDArray[np.float32]:
        """Return features (N, F) of images (N, H, W, channels). Raise `InputError` for images it does not take."""

    def module(self) -> "nn.Module | None":
        """Return a module on the CPU from uint8 images (N, H, W, channels) to features (N, F), for ONNX export.

        None if there is none: ensembles on these features cannot be exported to ONNX.
        """


def _lite0(**options: Any) -> FeatureExtractor:
    from versionspace.features.lite import Lite0Extractor

    return Lite0Extractor(**options)


EXTRACTORS: dict[str, Callable[..., FeatureExtractor]] = {"lite0": _lite0}
"""Makes the extractor of each name, with the options ``side`` (None for its default) and ``device``."""
DEFAULT_EXTRACTOR = "lite0"


def make_extractor(
    given: str | FeatureExtractor, *, side: int | None = None, device: "torch.device | None" = None
) -> FeatureExtractor:
    """Return the extractor of this name, or the given one.

    ``side`` and ``device`` belong to named extractors; one of your own already has both.
    """
    if isinstance(given, str) and given in EXTRACTORS:
        return EXTRACTORS[given](side=side, device=device)
    if isinstance(given, str) or not isinstance(given, FeatureExtractor):
        raise InputError(
            "extractor",
            expected=f"one of {', '.join(EXTRACTORS)}, or a versionspace.features.FeatureExtractor",
            got=repr(given),
            fix="Pick a name, or pass an object with identity, side, width, device, __call__ and module.",
        )
    if side is not None and side != given.side:
        raise InputError(
            "side", expected=f"{given.side}, the side of the given extractor", got=repr(side), fix="Leave it out."
        )
    return given


def available(name: str) -> bool:
    """Return whether the packages that the extractor of this name requires are installed."""
    try:
        make_extractor(name)
    except MissingPackageError:
        return False
    return True
