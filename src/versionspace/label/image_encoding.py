"""Images for the browser: upright, 8 bits per channel, limited in size, decoded and encoded again.

A browser never gets a path or the original file.
"""

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

from versionspace.campaign import FileNames
from versionspace.data import (
    LEADS_OUT,
    MAX_BYTES,
    MAX_PIXELS,
    Dataset,
    UnreadableError,
    decode,
    frame,
    image_formats,
    orientation,
)
from versionspace.extras import require
from versionspace.text import printable
from versionspace.types import ImageId

LARGEST = 1600
"""Maximum length of the longer side in pixels."""
LOSSLESS = 512
"""Images up to this many pixels a side are sent as PNG, since people look at single pixels."""
KEPT_BYTES = 64 << 20
_TRANSPOSED = (5, 6, 7, 8)
_WIDTH, _LENGTH = 256, 257
"""TIFF tags."""


@dataclass(frozen=True)
class EncodedImage:
    """An image as it is sent to the browser."""

    content: bytes
    media: str


class ImageUnavailable(Exception):  # noqa: N818 — an outcome, not a fault
    """An image that cannot be displayed, with the reason; ``known``: whether the id belongs to the campaign."""

    def __init__(self, why: str, known: bool = True) -> None:
        super().__init__(why)
        self.known = known


class ImageEncoder:
    """Encodes images by id; keeps the last ones in memory."""

    def __init__(
        self, root: Path, dataset: Dataset, names: Mapping[ImageId, str] | None = None, *, follow_links: bool = False
    ) -> None:
        """``names``: files by id, including images that are missing at the start and may come back.

        ``follow_links``: whether links may lead out of the folder.
        """
        self.root, self._follow_links = root.resolve(), follow_links
        own = FileNames([(dataset.train.ids, dataset.train.files or ())], {})
        self.files: Mapping[ImageId, str] = own if names is None else names
        self.trouble: dict[ImageId, str] = {}
        """Images that could not be displayed, with the reason."""
        self._kept: OrderedDict[tuple[ImageId, int], EncodedImage] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def image(self, image: ImageId, largest: int = LARGEST) -> EncodedImage:
        """Return one image. Raises `ImageUnavailable`."""
        file = self.files.get(image)
        if not file:
            raise ImageUnavailable("no such image", known=False)
        key = (image, largest)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        try:
            made = encode(self._read(image, file), largest)
        except (UnreadableError, OSError) as error:
            why = f"{printable(file)}: {error.strerror if isinstance(error, OSError) and error.strerror else error}"
            self.trouble[image] = why
            raise ImageUnavailable(why) from error
        self.trouble.pop(image, None)
        with self._lock:
            self._kept[key] = made
            self._size += len(made.content)
            while self._size > KEPT_BYTES and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1].content)
        return made

    def _read(self, image: ImageId, file: str) -> bytes:
        path = (self.root / file).resolve()
        if not self._follow_links and not path.is_relative_to(self.root):
            raise UnreadableError(LEADS_OUT)
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as opened:
            content = opened.read(MAX_BYTES + 1)
        if sha256(content).hexdigest() != image:
            raise UnreadableError("the file has changed since labelling began")
        return content


def encode(content: bytes, largest: int) -> EncodedImage:
    """Decode and encode an image, which removes everything else that the file contains."""
    image = require("PIL.Image")
    height, width = _sides(content, largest)
    pixels = decode(content, frame((height, width), 3, "stretch"))
    grey = bool((pixels[..., 0] == pixels[..., 1]).all() and (pixels[..., 1] == pixels[..., 2]).all())
    plain = image.fromarray(np.ascontiguousarray(pixels[..., 0]) if grey else pixels)
    out = io.BytesIO()
    if max(height, width) <= LOSSLESS:
        plain.save(out, "PNG", compress_level=1)
        return EncodedImage(out.getvalue(), "image/png")
    plain.save(out, "JPEG", quality=88)
    return EncodedImage(out.getvalue(), "image/jpeg")


def _sides(content: bytes, largest: int) -> tuple[int, int]:
    """Return the height and width of the upright image, reduced to the maximum size."""
    image = require("PIL.Image")
    try:
        with image.open(io.BytesIO(content), formats=image_formats()) as opened:
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
    """Return width and height as stored, before the orientation is applied.

    For a TIFF, some versions of Pillow return the size with the orientation applied, but not if it is given in XMP
    only; the tags are reliable.
    """
    if opened.format == "TIFF":
        return int(opened.tag_v2[_WIDTH]), int(opened.tag_v2[_LENGTH])
    return int(opened.size[0]), int(opened.size[1])
