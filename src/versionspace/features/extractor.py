"""What a feature extractor is, and the tables of those that have a name.

A feature extractor is a frozen function from images to vectors: a pretrained network with its preprocessing. A name is

    lite0                      a row of `EXTRACTORS`
    hf:facebook/dinov2-small   a scheme of `SCHEMES`, and what it reads: a model, a folder or a file
    package.module:function    code of your own: the function takes nothing and returns a `FeatureExtractor`

Adding one means one file with a class that satisfies `FeatureExtractor`, and one row in `EXTRACTORS` or `SCHEMES`; a
plug-in may add rows as well. Extractors of your own need no row: pass the object wherever a name is accepted.

Importing this module does not import torch.
"""

import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from versionspace.errors import InputError, MissingPackageError
from versionspace.text import did_you_mean

if TYPE_CHECKING:
    import torch
    from torch import nn


@runtime_checkable
class FeatureExtractor(Protocol):
    """Images in, features out; the same image always has the same features.

    Constructing one is cheap: most load their weights in the first call, or when ``width`` is first read. Several
    threads may call it at once, always with the same number of images (`versionspace.features.extract`), so that an
    image's features depend on nothing else.
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


Maker = Callable[..., FeatureExtractor]


def _maker(module: str, name: str, *arguments: Any) -> Maker:
    """Return a function that imports a class or function of this package, and calls it with what it is given."""

    def make(*given: Any, **options: Any) -> FeatureExtractor:
        found = getattr(importlib.import_module(f"versionspace.features.{module}"), name)
        made: FeatureExtractor = found(*arguments, *given, **options)
        return made

    return make


EXTRACTORS: dict[str, Maker] = {name: _maker("lite", "LiteExtractor", name) for name in ("lite0", "lite1", "lite2")}
"""Makes the extractor of each name, with the options ``side`` (None for its default) and ``device``."""
DEFAULT_EXTRACTOR = "lite0"

SCHEMES: dict[str, Maker] = {
    "hf": _maker("huggingface", "huggingface_extractor"),
    "timm": _maker("timm", "timm_extractor"),
    "torchvision": _maker("torchvision", "torchvision_extractor"),
    "onnx": _maker("onnx", "OnnxExtractor"),
}
"""Makes an extractor from what follows ``SCHEME:`` in its name, with the options ``side`` and ``device``."""
_OF_PATHS = ("hf", "onnx")
"""Schemes that read folders or files."""


def find_maker(name: str) -> Maker:
    """Return what makes the extractor of this name. Raise `InputError` if it is neither in a table nor a function's.

    Nothing is imported: whether a model, a file or a function exists is known when the extractor is made.

    >>> find_maker("lte0")
    Traceback (most recent call last):
    versionspace.errors.InputError: extractor: expected one of lite0, lite1, lite2, hf:…, timm:…, torchvision:…,
    onnx:…, package.module:function, or a versionspace.features.FeatureExtractor, got 'lte0'. Did you mean 'lite0'?
    """
    if name in EXTRACTORS:
        return EXTRACTORS[name]
    scheme, colon, rest = name.partition(":")
    if scheme in SCHEMES and rest:
        return partial(SCHEMES[scheme], rest)
    if colon and all(part.isidentifier() for part in (*scheme.split("."), rest)):
        return partial(_own_extractor, scheme, rest)
    examples = {"hf": "hf:facebook/dinov2-small, or hf:FOLDER", "timm": "timm:resnet18", "onnx": "onnx:model.onnx"}
    fix = f"For example {examples.get(scheme, scheme + ':resnet18')}." if scheme in SCHEMES else _suggestion(scheme)
    raise _unknown(name, fix)


def absolute_name(name: str) -> str:
    """Return an extractor's name with the path of its folder or file, if it has one, made absolute.

    >>> absolute_name("lite0"), absolute_name("hf:facebook/dinov2-small")
    ('lite0', 'hf:facebook/dinov2-small')
    """
    scheme, _, rest = name.partition(":")
    path = Path(rest).expanduser()
    return f"{scheme}:{path.absolute()}" if scheme in _OF_PATHS and rest and path.exists() else name


def make_extractor(
    given: str | FeatureExtractor, *, side: int | None = None, device: "torch.device | None" = None
) -> FeatureExtractor:
    """Return the extractor of this name, or the given one.

    ``side`` and ``device`` belong to named extractors; one of your own already has both.
    """
    if isinstance(given, str):
        return find_maker(given)(side=side, device=device)
    if not isinstance(given, FeatureExtractor):
        raise _unknown(given, "Pick a name, or pass an object with identity, side, width, device, __call__ and module.")
    check_side(given, side)
    return given


def check_side(extractor: FeatureExtractor, side: int | None) -> None:
    """Raise `InputError` if another side is asked for than that of an extractor that has only one."""
    if side is not None and side != extractor.side:
        raise InputError(
            "side", expected=f"{extractor.side}, the side of the given extractor", got=repr(side), fix="Leave it out."
        )


def available(name: str) -> bool:
    """Return whether the packages that the extractor of this name requires are installed."""
    try:
        make_extractor(name)
    except MissingPackageError:
        return False
    return True


def _own_extractor(module: str, function: str, *, side: int | None, device: "torch.device | None") -> FeatureExtractor:
    """Return what a user's function returns; it has chosen side and device."""
    name = f"{module}:{function}"
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        fix = _suggestion(module, otherwise="Check the spelling; the module must be importable from where you run.")
        raise InputError(
            "extractor", expected="package.module:function that can be imported", got=repr(name), fix=f"{error}. {fix}"
        ) from error
    made = make()
    if not isinstance(made, FeatureExtractor):
        raise InputError(
            "extractor",
            expected=f"{name} to return a versionspace.features.FeatureExtractor when called without arguments",
            got=type(made).__name__,
            fix="Return an object with identity, side, width, device, __call__ and module.",
        )
    check_side(made, side)
    return made


def _suggestion(scheme: str, otherwise: str = "Pick a name.") -> str:
    known = [*EXTRACTORS, *SCHEMES]
    return did_you_mean(scheme, known, otherwise)


def _unknown(given: object, fix: str) -> InputError:
    names = (*EXTRACTORS, *(f"{scheme}:…" for scheme in SCHEMES), "package.module:function")
    return InputError(
        "extractor",
        expected=f"one of {', '.join(names)}, or a versionspace.features.FeatureExtractor",
        got=repr(given),
        fix=fix,
    )
