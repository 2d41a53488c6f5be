"""Files read whole, zipped or not, and the checks that every format shares."""

import gzip
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from versionspace.data.errors import FormatError
from versionspace.types import Array, Ints

AGAIN = "The file is damaged, cut short or another one: fetch it again."


@dataclass(frozen=True)
class Images:
    """Images uint8 (N, H, W, channels) and their classes int64 (N,), in published order."""

    images: Array
    labels: Ints


@dataclass(frozen=True)
class Published:
    """Both halves of a dataset."""

    train: Images
    test: Images


Reader: TypeAlias = Callable[[Mapping[str, Path], int], Published]
"""Reads the files of an edition, found by their names, as images of so many classes."""


def read_bytes(path: Path, limit: int | None = None) -> bytes:
    """A file's bytes, unzipped where it is gzip; at most ``limit`` of them."""
    size = -1 if limit is None else limit
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if zipped else path.open("rb") as file:
            return file.read(size)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(path.name, expected="a whole gzip file", got=str(error), fix=AGAIN) from error


def joined(images: Array, labels: Array, classes: int, image_file: Path, label_file: Path) -> Images:
    """Images with their labels, which must be as many and name classes that exist."""
    if len(images) != len(labels):
        raise FormatError(
            label_file.name,
            expected=f"{len(images)} labels, one for each image of {image_file.name}",
            got=f"{len(labels)} labels",
            fix="The two files do not belong together: take both from the same place.",
        )
    if not len(images):
        raise FormatError(image_file.name, expected="at least one image", got="none", fix=AGAIN)
    if int(labels.min()) < 0 or int(labels.max()) >= classes:
        raise FormatError(
            label_file.name,
            expected=f"{classes} classes, 0 to {classes - 1} in the order of this package",
            got=f"{labels.min()} to {labels.max()}",
            fix=AGAIN,
        )
    return Images(np.ascontiguousarray(images), labels.astype(np.int64))
