"""Features of some files of a folder: the unit of work of `versionspace.features.folder`, here or elsewhere."""

from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from versionspace.data import MAX_BYTES, Skipped, UnreadableError, decode, decoding, frame
from versionspace.features.cache import CacheLocation
from versionspace.features.extract import CachedExtractor
from versionspace.features.extractor import make_extractor
from versionspace.types import Array


@dataclass(frozen=True)
class Shard:
    """Some files of a folder, and how to extract their features. Plain data: it can be pickled."""

    folder: str
    files: tuple[str, ...]
    """Paths in the folder."""
    extractor: str
    """Its name."""
    size: int
    """Pixels of the square that images are cropped to."""
    contents: tuple[bytes, ...] | None = None
    """The files' bytes, for a worker that does not see the folder."""


@dataclass(frozen=True)
class ShardFeatures:
    """The features of a shard's readable images, in the order of its files."""

    files: tuple[str, ...]
    features: npt.NDArray[np.float32]
    """(n, F)."""
    skipped: tuple[Skipped, ...]


def extract_shard(shard: Shard, threads: int = 1, cache: CacheLocation = False) -> ShardFeatures:
    """Return the features of a shard. They depend neither on the threads nor on the other images of the shard.

    ``cache``: as for `CachedExtractor`. Files that cannot be read are listed as skipped.
    """
    extractor = _extractor(shard.extractor, threads, str(cache) if isinstance(cache, PathLike) else cache)
    to = frame(shard.size)
    images: list[Array] = []
    files: list[str] = []
    skipped: list[Skipped] = []
    with decoding():
        for number, file in enumerate(shard.files):
            try:
                content = read_image(shard.folder, file) if shard.contents is None else shard.contents[number]
                images.append(decode(content, to))
                files.append(file)
            except UnreadableError as error:
                skipped.append(Skipped(file, str(error)))
    features = np.empty((0, extractor.extractor.width), np.float32)
    return ShardFeatures(tuple(files), extractor(np.stack(images)) if images else features, tuple(skipped))


def read_image(folder: str, file: str) -> bytes:
    """Return the bytes of a file; raise `UnreadableError` if it cannot be opened or is too large."""
    try:
        path = Path(folder) / file
        if (size := path.stat().st_size) > MAX_BYTES:
            raise UnreadableError(f"{size:,} bytes, more than the limit of {MAX_BYTES:,}")
        return path.read_bytes()
    except OSError as error:
        raise UnreadableError(f"cannot be opened: {error.strerror or error}") from error


@lru_cache(maxsize=1)
def _extractor(name: str, threads: int, cache: str | Literal[False] | None) -> CachedExtractor:
    """Return an extractor, which keeps its weights for the next shard of this process."""
    return CachedExtractor(make_extractor(name), threads=threads, cache=cache)
