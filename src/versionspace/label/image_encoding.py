"""Image files as a browser gets them: upright, 8 bits, of bounded size, encoded anew. Never a path, never the file."""

import io
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.data import Dataset
from versionspace.data.folder.decode import MAX_BYTES, MAX_PIXELS, UnreadableError, decode, frame, orientation
from versionspace.extras import require
from versionspace.store import as_ids
from versionspace.text import printable
from versionspace.types import ImageId

LARGEST = 1600
"""Pixels of the longer side."""
LOSSLESS = 512
"""Images up to this size are sent as PNG: small ones are looked at pixel by pixel."""
KEPT_BYTES = 64 << 20
_TRANSPOSED = (5, 6, 7, 8)
_WIDTH, _LENGTH = 256, 257
"""Tags of a TIFF."""


@dataclass(frozen=True)
class Picture:
    """Bytes for the browser."""

    content: bytes
    media: str


class NotShown(Exception):  # noqa: N818 — an outcome, not a fault
    """An image that cannot be shown, and why; ``known`` tells whether it is one of ours at all."""

    def __init__(self, why: str, known: bool = True) -> None:
        super().__init__(why)
        self.known = known


class Showing:
    """Images by id, with the last ones kept in memory."""

    def __init__(self, root: Path, dataset: Dataset, names: Mapping[ImageId, str] | None = None) -> None:
        """``names``: also of images that are gone at the start and may come back."""
        self.root = root.resolve()
        now = dict(zip(as_ids(dataset.train.ids), dataset.train.files or (), strict=False))
        self.files: dict[ImageId, str] = {i: file for i, file in (names or {}).items() if file} | now
        self.trouble: dict[ImageId, str] = {}
        """Images that could not be shown, and why."""
        self._kept: OrderedDict[tuple[ImageId, int], Picture] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def picture(self, image: ImageId, largest: int = LARGEST) -> Picture:
        """One image; raises NotShown."""
        file = self.files.get(image)
        if file is None:
            raise NotShown("there is no such image", known=False)
        key = (image, largest)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        try:
            made = encoded(self._read(image, file), largest)
        except (UnreadableError, OSError) as error:
            why = f"{printable(file)}: {error.strerror if isinstance(error, OSError) and error.strerror else error}"
            self.trouble[image] = why
            raise NotShown(why) from error
        self.trouble.pop(image, None)
        with self._lock:
            self._kept[key] = made
            self._size += len(made.content)
            while self._size > KEPT_BYTES and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1].content)
        return made

    def _read(self, image: ImageId, file: str) -> bytes:
        path = (self.root / file).resolve()
        if not path.is_relative_to(self.root):
            raise UnreadableError("a link that leads out of the folder")
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as opened:
            content = opened.read(MAX_BYTES + 1)
        if sha256(content).hexdigest() != image:
            raise UnreadableError("the file has changed since labelling began")
        return content


def encoded(content: bytes, largest: int) -> Picture:
    """Decoded and encoded anew: whatever else was in the file is gone."""
    image = require("PIL.Image")
    height, width = _sides(content, largest)
    pixels = decode(content, frame((height, width), 3, "stretch"))
    grey = bool((pixels[..., 0] == pixels[..., 1]).all() and (pixels[..., 1] == pixels[..., 2]).all())
    plain = image.fromarray(np.ascontiguousarray(pixels[..., 0]) if grey else pixels)
    out = io.BytesIO()
    if max(height, width) <= LOSSLESS:
        plain.save(out, "PNG", compress_level=1)
        return Picture(out.getvalue(), "image/png")
    plain.save(out, "JPEG", quality=88)
    return Picture(out.getvalue(), "image/jpeg")


def _sides(content: bytes, largest: int) -> tuple[int, int]:
    """Height and width to show it in: its own, upright, or smaller."""
    image = require("PIL.Image")
    try:
        with image.open(io.BytesIO(content), formats=("JPEG", "PNG", "WEBP", "TIFF", "BMP")) as opened:
            width, height = _as_stored(opened)
            if width * height > MAX_PIXELS:
                raise UnreadableError(f"{width}×{height} pixels, more than {MAX_PIXELS:,} are not decoded")
            if orientation(opened) in _TRANSPOSED:
                width, height = height, width
    except UnreadableError:
        raise
    except Exception as error:  # decoders raise OSError, ValueError, SyntaxError, struct.error, IndexError…
        raise UnreadableError(f"damaged: {error}") from error
    scale = min(1.0, largest / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))


def _as_stored(opened: Any) -> tuple[int, int]:
    """Width and height before it is turned upright. Of a TIFF Pillow gives them, by its version, as if it were turned.

    Its tags are read, since with an orientation that stands in the XMP alone the size is not turned.
    """
    if opened.format == "TIFF":
        return int(opened.tag_v2[_WIDTH]), int(opened.tag_v2[_LENGTH])
    return int(opened.size[0]), int(opened.size[1])
