"""SVHN's cropped digits: ``train_32x32.mat`` and ``test_32x32.mat``, MATLAB files of version 5.

X is uint8 32×32×3×N, y is N×1 with 10 for the digit 0.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from versionspace.data.errors import FormatError
from versionspace.data.formats.base import FETCH_AGAIN, LabelledImages, Published, labelled_images
from versionspace.extras import require

FILES = ("train_32x32.mat", "test_32x32.mat")


def read(files: Mapping[str, Path], classes: int) -> Published:
    """Read both files."""
    return Published(_read_subset(files[FILES[0]], classes), _read_subset(files[FILES[1]], classes))


def _read_subset(path: Path, classes: int) -> LabelledImages:
    io = require("scipy.io")
    try:
        content = io.loadmat(path, variable_names=["X", "y"])
    except Exception as error:  # a damaged file can make the parser raise almost anything
        raise FormatError(
            path.name, expected="a MATLAB file of version 5", got=f"{type(error).__name__}: {error}", fix=FETCH_AGAIN
        ) from error
    x, y = content.get("X"), content.get("y")
    if not isinstance(x, np.ndarray) or x.ndim != 4 or x.shape[:3] != (32, 32, 3) or x.dtype != np.uint8:
        raise FormatError(path.name, expected="a variable X, uint8 32×32×3×N", got=_describe(x), fix=FETCH_AGAIN)
    if not isinstance(y, np.ndarray) or y.dtype.kind not in "iuf":
        raise FormatError(path.name, expected="a numeric variable y, N×1", got=_describe(y), fix=FETCH_AGAIN)
    labels = y.ravel().astype(np.int64)
    if len(labels) and (labels.min() < 1 or labels.max() > 10):
        raise FormatError(
            path.name,
            expected="labels 1 to 10, 10 for the digit 0",
            got=f"{labels.min()} to {labels.max()}",
            fix=FETCH_AGAIN,
        )
    return labelled_images(x.transpose(3, 0, 1, 2), labels % 10, classes, path, path)


def _describe(value: object) -> str:
    return f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else "no such variable"
