"""The idx format of MNIST and Fashion-MNIST: a magic number, big-endian sizes, then bytes.

Two zero bytes, a type (8: unsigned byte), the number of axes, each axis as a 32-bit integer, the data in C order.
"""

import math
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from versionspace.data.errors import FormatError
from versionspace.data.formats.whole import AGAIN, Images, Published, joined, read_bytes
from versionspace.types import Array

_MOST = 1 << 34
"""Bytes: larger sizes in a header are no dataset's."""
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def read(files: Mapping[str, Path], classes: int) -> Published:
    """The four files, each zipped or not."""
    return Published(
        _half(files[FILES[0]], files[FILES[1]], classes),
        _half(files[FILES[2]], files[FILES[3]], classes),
    )


def _half(image_file: Path, label_file: Path, classes: int) -> Images:
    images, labels = array(image_file, axes=3), array(label_file, axes=1)
    return joined(images[..., None], labels, classes, image_file, label_file)


def array(path: Path, *, axes: int) -> Array:
    """A uint8 array of so many axes."""
    header = 4 + 4 * axes
    start = read_bytes(path, header)
    magic = bytes((0, 0, 8, axes))
    if len(start) < header or start[:4] != magic:
        raise FormatError(
            path.name,
            expected=f"an idx file of bytes with {axes} axes, which begins with {magic.hex(' ')}",
            got=f"a file that begins with {start[:4].hex(' ') or 'nothing'}",
            fix=AGAIN,
        )
    shape = struct.unpack(f">{axes}I", start[4:])
    count = math.prod(shape)
    content = read_bytes(path, min(header + count, _MOST) + 1)
    if len(content) != header + count:
        more = " or more" if len(content) > min(header + count, _MOST) else ""
        raise FormatError(
            path.name,
            expected=f"{header + count} bytes for the sizes {shape} that it names",
            got=f"{len(content)}{more}",
            fix=AGAIN,
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
