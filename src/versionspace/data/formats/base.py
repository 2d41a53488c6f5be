"""What all readers share: the records that they return, reading of gzipped files, and checks of images and labels."""

import gzip
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from versionspace.data.errors import FormatError
from versionspace.types import Array, Ints

FETCH_AGAIN = "The file is damaged, truncated or not the expected one: fetch it again."


@dataclass(frozen=True)
class LabelledImages:
    """Images uint8 (N, H, W, channels) and their classes int64 (N,), in published order."""

    images: Array
    labels: Ints


@dataclass(frozen=True)
class Published:
    """The training and test images of a published dataset."""

    train: LabelledImages
    test: LabelledImages


Reader: TypeAlias = Callable[[Mapping[str, Path], int], Published]
"""Reads the files of an edition, given their paths by name and the number of classes."""


def read_bytes(path: Path, limit: int | None = None) -> bytes:
    """Return a file's bytes, decompressed if it is gzipped; at most ``limit`` of them."""
    size = -1 if limit is None else limit
    try:
        with path.open("rb") as file:
            gzipped = file.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if gzipped else path.open("rb") as file:
            return file.read(size)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(path.name, expected="a complete gzip file", got=str(error), fix=FETCH_AGAIN) from error


def labelled_images(images: Array, labels: Array, classes: int, image_file: Path, label_file: Path) -> LabelledImages:
    """Return images with their labels; raise `FormatError` unless there is one valid label for each image."""
    if len(images) != len(labels):
        raise FormatError(
            label_file.name,
            expected=f"{len(images)} labels, one for each image of {image_file.name}",
            got=f"{len(labels)} labels",
            fix="The two files do not belong together: get both from the same source.",
        )
    if not len(images):
        raise FormatError(image_file.name, expected="at least one image", got="none", fix=FETCH_AGAIN)
    if int(labels.min()) < 0 or int(labels.max()) >= classes:
        raise FormatError(
            label_file.name,
            expected=f"labels of {classes} classes, 0 to {classes - 1} after conversion",
            got=f"{labels.min()} to {labels.max()}",
            fix=FETCH_AGAIN,
        )
    return LabelledImages(np.ascontiguousarray(images), labels.astype(np.int64))
