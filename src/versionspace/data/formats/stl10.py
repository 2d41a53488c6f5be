"""STL-10's binary files: images of 3×96×96 bytes, channel by channel and column by column; labels 1 to 10."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from versionspace.data.errors import FormatError
from versionspace.data.formats.base import FETCH_AGAIN, LabelledImages, Published, labelled_images, read_bytes

FILES = ("train_X.bin", "train_y.bin", "test_X.bin", "test_y.bin")
SIDE = 96


def read(files: Mapping[str, Path], classes: int) -> Published:
    """Read the four files of labelled images."""
    return Published(
        _read_subset(files[FILES[0]], files[FILES[1]], classes),
        _read_subset(files[FILES[2]], files[FILES[3]], classes),
    )


def _read_subset(image_file: Path, label_file: Path, classes: int) -> LabelledImages:
    pixels = np.frombuffer(read_bytes(image_file), np.uint8)
    size = 3 * SIDE * SIDE
    if len(pixels) % size or not len(pixels):
        raise FormatError(
            image_file.name,
            expected=f"a multiple of {size} bytes, 3×{SIDE}×{SIDE} for each image",
            got=f"{len(pixels)} bytes",
            fix=FETCH_AGAIN,
        )
    labels = np.frombuffer(read_bytes(label_file), np.uint8).astype(np.int64)
    if len(labels) and (labels.min() < 1 or labels.max() > 10):
        raise FormatError(
            label_file.name, expected="labels 1 to 10", got=f"{labels.min()} to {labels.max()}", fix=FETCH_AGAIN
        )
    images = pixels.reshape(-1, 3, SIDE, SIDE).transpose(0, 3, 2, 1)
    return labelled_images(images, labels - 1, classes, image_file, label_file)
