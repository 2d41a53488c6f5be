"""The idx format of MNIST and Fashion-MNIST.

Two zero bytes, the data type (8: unsigned byte), the number of axes, each axis length as a big-endian 32-bit integer,
then the data in C order.
"""

import math
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from versionspace.data.errors import FormatError
from versionspace.data.formats.base import FETCH_AGAIN, LabelledImages, Published, labelled_images, read_bytes
from versionspace.types import Array

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
_MAX_BYTES = 1 << 34
"""A header that announces more than this is not trusted: no dataset is that large."""


def read(files: Mapping[str, Path], classes: int) -> Published:
    """Read the four files, gzipped or not."""
    return Published(
        _read_subset(files[FILES[0]], files[FILES[1]], classes),
        _read_subset(files[FILES[2]], files[FILES[3]], classes),
    )


def _read_subset(image_file: Path, label_file: Path, classes: int) -> LabelledImages:
    images, labels = read_array(image_file, axes=3), read_array(label_file, axes=1)
    return labelled_images(images[..., None], labels, classes, image_file, label_file)


def read_array(path: Path, *, axes: int) -> Array:
    """Return the uint8 array of an idx file with this number of axes."""
    header = 4 + 4 * axes
    start = read_bytes(path, header)
    magic = bytes((0, 0, 8, axes))
    if len(start) < header or start[:4] != magic:
        raise FormatError(
            path.name,
            expected=f"an idx file of bytes with {axes} axes, which begins with {magic.hex(' ')}",
            got=f"a file that begins with {start[:4].hex(' ') or 'nothing'}",
            fix=FETCH_AGAIN,
        )
    shape = struct.unpack(f">{axes}I", start[4:])
    count = math.prod(shape)
    content = read_bytes(path, min(header + count, _MAX_BYTES) + 1)
    if len(content) != header + count:
        more = " or more" if len(content) > min(header + count, _MAX_BYTES) else ""
        raise FormatError(
            path.name,
            expected=f"{header + count} bytes for the shape {shape} in its header",
            got=f"{len(content)}{more}",
            fix=FETCH_AGAIN,
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
