"""From images to a frozen backbone's features: each image once, ever.

Images that the cache does not hold go through the backbone in chunks of exactly eight, the last one filled up: each
chunk on one thread, several side by side. Neither the number of threads nor the images' company moves a bit of their
features, and another processor or another torch has a cache of its own, so that what comes out of the cache is what
would have been computed.
"""

import hashlib
import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch

from versionspace import runtime
from versionspace.data import progress as bars
from versionspace.errors import InputError
from versionspace.features.cache import FeatureCache, Key, Place, key_of
from versionspace.features.lite import FEATURES, SIDE, backbone, identity, prepared
from versionspace.types import Array

CHUNK = {"cpu": 8}
"""Images in one pass, by the kind of device. At 160 pixels one alone costs a third more, 64 a quarter more each."""
_OTHER_CHUNK = 64
_BLOCK = 512
"""Images between two writes to the cache: what a killed run loses at most."""
_HASHED = 64
_LEAST, _MOST = 32, 1024


class Embedding:
    """The backbone, its size of images, and its cache.

    Cost: on two cores about 200 images a second at 160 pixels, 10 µs for one that the cache holds.

    >>> images = np.zeros((2, 8, 8, 1), np.uint8)
    >>> Embedding(cache=False)(images).shape
    (2, 1280)
    """

    def __init__(
        self,
        *,
        side: int = SIDE,
        device: torch.device | None = None,
        threads: int = 1,
        progress: bool | None = False,
        cache: Place = None,
    ) -> None:
        if not isinstance(side, int | np.integer) or not _LEAST <= side <= _MOST:
            raise InputError(
                "side", expected=f"{_LEAST} to {_MOST} pixels", got=repr(side), fix=f"{SIDE} is the default."
            )
        self.weights = identity()
        self.side = int(side)
        self.device = device or torch.device("cpu")
        self.threads = threads
        self.progress = progress
        self.cache = FeatureCache(f"{self.weights}-{self.side}-{_rounding(self.device)}", FEATURES, cache)

    def __call__(self, images: Array, alive: Callable[[], None] | None = None) -> npt.NDArray[np.float32]:
        """Features float32 (N, 1280) of uint8 images (N, H, W, 1 or 3).

        ``alive`` is called now and then, and may raise to end the work; what was computed so far is kept.
        """
        _check(images)
        keys = self._keys(images)
        out = np.empty((len(images), FEATURES), np.float32)
        found = self.cache.find(keys)
        out[found.positions] = found.features
        done = np.zeros(len(keys), bool)
        done[found.positions] = True
        alike: dict[Key, list[int]] = {}
        for row in np.flatnonzero(~done).tolist():
            alike.setdefault(keys[row], []).append(row)
        missing = sorted(rows[-1] for rows in alike.values())  # each once
        with bars.progress_bar("features", len(missing), False if not missing else self.progress) as advance:
            for start in range(0, len(missing), _BLOCK):
                rows = missing[start : start + _BLOCK]
                features = self._computed(images, rows, advance, alive)
                assert np.isfinite(features).all()
                self.cache.add([keys[row] for row in rows], features)
                for row, feature in zip(rows, features, strict=True):
                    out[alike[keys[row]]] = feature
        return out

    def _keys(self, images: Array) -> list[Key]:
        def some(start: int) -> list[Key]:
            return [key_of(image) for image in np.asarray(images[start : start + _HASHED])]

        found = runtime.side_by_side(some, range(0, len(images), _HASHED), self.threads)
        return [key for part in found for key in part]

    def _computed(
        self, images: Array, rows: list[int], advance: bars.Advance, alive: Callable[[], None] | None
    ) -> npt.NDArray[np.float32]:
        runtime.keep_memory()
        net = backbone(str(self.device))
        size = CHUNK.get(self.device.type, _OTHER_CHUNK)
        stop = threading.Event()

        def chunk(start: int) -> npt.NDArray[np.float32]:
            if stop.is_set():
                raise runtime.StoppedError
            if alive is not None:
                alive()
            some = rows[start : start + size]
            pixels = np.zeros((size, *images.shape[1:]), np.uint8)
            pixels[: len(some)] = images[some]
            with torch.no_grad():
                out = net(prepared(torch.from_numpy(pixels).to(self.device), self.side))
            advance(len(some))
            return out[: len(some)].cpu().numpy()  # type: ignore[no-any-return]

        threads = self.threads if self.device.type == "cpu" else 1
        return np.concatenate(runtime.side_by_side(chunk, range(0, len(rows), size), threads, stop))


def _rounding(device: torch.device) -> str:
    """What features depend on in their last bits, in short: a home may be shared by machines, and torch be replaced."""
    return hashlib.sha256(f"{runtime.arithmetic(device)}, torch {torch.__version__}".encode()).hexdigest()[:12]


def _check(images: Array) -> None:
    if images.shape[3] not in (1, 3):
        raise InputError(
            "images",
            expected="images of 1 channel (grey) or 3 (red, green, blue), which the pretrained backbone takes",
            got=f"{images.shape[3]} channels",
            fix="Convert them, or train a network from scratch: net='small'.",
        )
