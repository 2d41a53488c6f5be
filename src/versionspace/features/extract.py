"""Extraction of features by any extractor: cached, in chunks, on several threads.

Images that are not in the cache go through the extractor in chunks of a fixed size, the last one padded with blank
images: each chunk on one thread, several chunks at a time. Features therefore depend neither on the number of threads
nor on the other images of a call. Another processor or version of torch has its own cache, so that cached features
equal those that would be computed.
"""

import hashlib
import re
import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch

from versionspace import runtime
from versionspace.data import Advance, progress_bar
from versionspace.errors import InputError
from versionspace.features.cache import CacheLocation, FeatureCache, Key, image_key
from versionspace.features.extractor import FeatureExtractor
from versionspace.types import Array

CHUNK = {"cpu": 8}
"""Images in one call, by the kind of device. On a CPU at 160 pixels, single images take a third longer each, and chunks
of 64 a quarter longer."""
_OTHER_CHUNK = 64
_BLOCK = 512
"""Images between two writes to the cache: the most that a killed run loses."""
_HASHED = 64
"""Images hashed as one unit of work."""


class CachedExtractor:
    """A feature extractor and its cache.

    Cost with lite0 on two cores: about 200 images a second at 160 pixels, 10 µs for a cached image.

    Args:
        extractor: what computes the features.
        threads: chunks computed at a time; does not affect the features.
        progress: whether to draw a progress bar; None draws one if standard error is a terminal.
        cache: a folder, None for the user's cache folder, False to keep features in memory only.

    >>> from versionspace.features import make_extractor
    >>> images = np.zeros((2, 8, 8, 1), np.uint8)
    >>> CachedExtractor(make_extractor("lite0"), cache=False)(images).shape
    (2, 1280)
    """

    def __init__(
        self,
        extractor: FeatureExtractor,
        *,
        threads: int = 1,
        progress: bool | None = False,
        cache: CacheLocation = None,
    ) -> None:
        self.extractor = extractor
        self.threads = threads
        self.progress = progress
        self.cache = FeatureCache(storage_name(extractor), extractor.width, cache)

    def __call__(self, images: Array, check: Callable[[], None] | None = None) -> npt.NDArray[np.float32]:
        """Return features (N, F) of uint8 images (N, H, W, channels).

        ``check`` is called before each chunk and may raise to stop the work; features computed so far are kept.
        """
        keys = self._keys(images)
        features = np.empty((len(images), self.extractor.width), np.float32)
        hits = self.cache.find(keys)
        features[hits.positions] = hits.features
        missing = np.ones(len(keys), bool)
        missing[hits.positions] = False
        rows_of: dict[Key, list[int]] = {}
        for row in np.flatnonzero(missing).tolist():
            rows_of.setdefault(keys[row], []).append(row)
        todo = sorted(rows[-1] for rows in rows_of.values())  # repeated images are computed once
        with progress_bar("features", len(todo), self.progress if todo else False) as advance:
            for start in range(0, len(todo), _BLOCK):
                block = todo[start : start + _BLOCK]
                computed = self._compute(images, block, advance, check)
                self.cache.add([keys[row] for row in block], computed)
                for row, values in zip(block, computed, strict=True):
                    features[rows_of[keys[row]]] = values
        return features

    def compute(self, images: Array, check: Callable[[], None] | None = None) -> npt.NDArray[np.float32]:
        """Return features (N, F) of uint8 images, neither looked up in the cache nor added to it."""
        return self._compute(images, list(range(len(images))), lambda _: None, check)

    def _keys(self, images: Array) -> list[Key]:
        def hash_some(start: int) -> list[Key]:
            return [image_key(image) for image in np.asarray(images[start : start + _HASHED])]

        parts = runtime.side_by_side(hash_some, range(0, len(images), _HASHED), self.threads)
        return [key for part in parts for key in part]

    def _compute(
        self, images: Array, rows: list[int], advance: Advance, check: Callable[[], None] | None
    ) -> npt.NDArray[np.float32]:
        runtime.keep_memory()
        device = self.extractor.device.type
        size = CHUNK.get(device, _OTHER_CHUNK)
        stop = threading.Event()

        def compute_chunk(start: int) -> npt.NDArray[np.float32]:
            if stop.is_set():
                raise runtime.StoppedError
            if check is not None:
                check()
            chunk = rows[start : start + size]
            pixels = np.zeros((size, *images.shape[1:]), np.uint8)
            pixels[: len(chunk)] = images[chunk]
            features = self._usable(self.extractor(pixels), size, len(chunk))
            advance(len(chunk))
            return features

        threads = self.threads if device == "cpu" else 1
        return np.concatenate(runtime.side_by_side(compute_chunk, range(0, len(rows), size), threads, stop))

    def _usable(self, features: Array, size: int, count: int) -> npt.NDArray[np.float32]:
        """Return the features of the first ``count`` images of a chunk; raise `InputError` if they are malformed."""
        expected = (size, self.extractor.width)
        got = f"{features.dtype} of shape {features.shape}"
        well_formed = features.shape == expected and features.dtype == np.float32
        if well_formed and np.isfinite(features[:count]).all():
            return features[:count]
        raise InputError(
            "extractor",
            expected=f"finite float32 features of shape {expected}",
            got=f"{got} with nan or infinity" if well_formed else got,
            fix=f"Correct what {type(self.extractor).__name__} returns, or its width.",
        )


def storage_name(extractor: FeatureExtractor) -> str:
    """Return the name under which the features of an extractor are stored."""
    return f"{folder_name(extractor.identity)}-{extractor.side}-{_rounding(extractor.device)}"


def folder_name(identity: str) -> str:
    """Return a name for the cache folder of an extractor: its identity, if every file system accepts that.

    Other characters are replaced, and a hash of the identity keeps the names distinct.

    >>> folder_name("efficientnet-lite0-57934424"), folder_name("hub/net@main")
    ('efficientnet-lite0-57934424', 'hub_net_main-fd017fbd')
    """
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", identity):
        return identity
    readable = re.sub(r"[^A-Za-z0-9_-]", "_", identity)[:60]
    return f"{readable}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


def _rounding(device: torch.device) -> str:
    """Hash what the last bits of features depend on: a cache may outlive a torch, and be shared by machines."""
    return hashlib.sha256(f"{runtime.arithmetic(device)}, torch {torch.__version__}".encode()).hexdigest()[:12]
