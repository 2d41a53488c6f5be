"""Any frozen torch network as a feature extractor: preprocessing, network, pooled features."""

import copy
import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from versionspace.errors import InputError, MissingPackageError
from versionspace.extras import require
from versionspace.features.extractor import check_side
from versionspace.features.preprocessing import Preprocess, Preprocessing
from versionspace.files import sha256
from versionspace.types import Array

Prepare = Callable[[Tensor], Tensor]
"""From uint8 images (N, H, W, channels) to the inputs of a network."""
ANY_SIDE = 224
"""Pixels of the image that a network is tried with, if it takes images of any size."""
_FREEZING = threading.Lock()


@dataclass(frozen=True)
class FrozenNetwork:
    """A network that no longer changes."""

    net: nn.Module
    """From prepared images to features (N, F)."""
    width: int
    """F."""


class TorchExtractor:
    """A `versionspace.features.FeatureExtractor` of a torch network.

    Args:
        identity: names weights and preprocessing.
        side: pixels that a square image is resized to.
        prepare: the preprocessing. Only if it is a module, networks on these features can be exported to ONNX.
        load: returns the network on a device; it is called often, and caches.
        device: by default the CPU.
    """

    def __init__(
        self,
        identity: str,
        side: int,
        prepare: Prepare,
        load: Callable[[str], FrozenNetwork],
        device: torch.device | None = None,
    ) -> None:
        self.identity, self.side = identity, side
        self.device = device or torch.device("cpu")
        self._load = load
        self._prepare = prepare.to(self.device) if isinstance(prepare, nn.Module) else prepare

    @property
    def width(self) -> int:
        """F; loads the network."""
        return self._load(str(self.device)).width

    def __call__(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """Return features (N, F) of images (N, H, W, channels)."""
        with torch.no_grad():
            inputs = self._prepare(torch.from_numpy(images).to(self.device)).to(self.device)
            features: Tensor = self._load(str(self.device)).net(inputs)
        return features.float().cpu().numpy()

    def module(self) -> nn.Module | None:
        """Return preprocessing and network as one module on the CPU; None if the preprocessing is not a module."""
        if not isinstance(self._prepare, nn.Module):
            return None
        return nn.Sequential(copy.deepcopy(self._prepare).cpu(), self._load("cpu").net)


def freeze(net: nn.Module, prepare: Prepare, image: tuple[int, int, int], name: str, device: str) -> FrozenNetwork:
    """Return a network in evaluation mode, without gradients, in float32 and on a device, with the width of its output.

    Two copies of an image (height, width, channels) pass through it. Raises `InputError` if the output is no vector of
    features, or differs between the two: such networks draw random numbers.
    """
    net = net.eval().requires_grad_(False).float().to(device)
    one = np.random.default_rng(0).integers(0, 256, image, np.uint8)
    with torch.no_grad():
        found = net(prepare(torch.from_numpy(np.stack([one, one]))).to(device))
    if not isinstance(found, Tensor) or found.ndim != 2 or len(found) != 2 or not torch.is_floating_point(found):
        got = f"{found.dtype} of shape {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
        raise InputError(
            name, expected="a network whose output is one vector of features for each image", got=got,
            fix="Wrap it in a FeatureExtractor of your own: package.module:function.",
        )  # fmt: skip
    if not torch.allclose(found[0], found[1], rtol=1e-3, atol=1e-3 * float(found.abs().max())):
        raise InputError(
            name, expected="a network that gives the same image the same features", got="two different vectors",
            fix="It draws random numbers even in evaluation mode, as masked autoencoders do; choose another.",
        )  # fmt: skip
    return FrozenNetwork(net, found.shape[1])


def digest(*parts: object) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of values that JSON can express, dataclasses' attributes included.

    >>> digest("a", {"b": 1}) == digest("a", {"b": 1}), digest("a") == digest("b")
    (True, False)
    """
    content = json.dumps(parts, sort_keys=True, default=_as_json)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def digest_weights(state: dict[str, Tensor]) -> str:
    """Return the SHA-256 of all tensors of a network, with their names and shapes."""
    total = hashlib.sha256()
    for name, value in sorted(state.items()):
        array: Array = value.detach().cpu().contiguous().numpy()
        total.update(f"{name} {array.dtype} {array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file; it is computed once while the file stays as it is."""
    about = path.stat()
    return _digest_file(path.resolve(), about.st_size, about.st_mtime_ns, about.st_ino)


@cache
def _digest_file(path: Path, size: int, changed: int, inode: int) -> str:
    return sha256(path)


def _as_json(value: object) -> object:
    return vars(value) if hasattr(value, "__dict__") else str(value)


@dataclass(frozen=True, eq=False)
class PretrainedNetwork:
    """A network with its weights, on the CPU, and the preprocessing that belongs to them."""

    net: nn.Module
    preprocessing: Preprocessing

    @cached_property
    def digest(self) -> str:
        """A hash of weights, architecture and preprocessing."""
        return digest(digest_weights(self.net.state_dict()), str(self.net), self.preprocessing)


def pretrained_extractor(
    name: str, found: PretrainedNetwork, side: int | None, device: torch.device | None
) -> TorchExtractor:
    """Return the extractor of a network that is loaded already. Its identity is a hash of all of its weights."""
    settings = found.preprocessing
    load = partial(_freeze_once, f"extractor {name}", found)
    identity = f"{name.replace(':', '-', 1)}-{found.digest}"
    extractor = TorchExtractor(identity, settings.side, Preprocess(settings), load, device)
    check_side(extractor, side)
    return extractor


def _freeze_once(name: str, found: PretrainedNetwork, device: str) -> FrozenNetwork:
    with _FREEZING:
        return _freeze_cached(name, found, device)


@lru_cache(maxsize=4)
def _freeze_cached(name: str, found: PretrainedNetwork, device: str) -> FrozenNetwork:
    settings = found.preprocessing
    image = (settings.side or ANY_SIDE, settings.side or ANY_SIDE, len(settings.mean))
    return freeze(copy.deepcopy(found.net), Preprocess(settings), image, name, device)


def import_vision(module: str) -> Any:
    """Import a module that requires torchvision, which only works if it was built for the installed torch."""
    try:
        return require(module)
    except (RuntimeError, OSError, AttributeError) as error:
        raise MissingPackageError(
            "torchvision",
            expected="a torchvision that was built for the installed torch",
            got=" ".join(str(error).split())[:300],
            fix="Install both from the same index, or use lite0, hf: or onnx:, which do not need it.",
        ) from error
