"""Image files for tests."""

import hashlib
import os
import struct
import zlib

import numpy as np
from PIL import Image


def picture(seed=0, size=(20, 20)):
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)
    return Image.fromarray(pixels)


def save(path, image=None, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    (picture(zlib.crc32(os.fsencode(path))) if image is None else image).save(path, **options)
    return path


def id_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def bomb(side=30_000):
    """A PNG of a few hundred bytes that says it has 900 million pixels."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )
