"""Decoding of image files to uint8 pixels of one size."""

import importlib
import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np

from versionspace.errors import InputError
from versionspace.extras import require
from versionspace.types import Array, is_count

Fit: TypeAlias = Literal["crop", "pad", "stretch"]
"""crop: fill the frame and cut off the excess. pad: add black bars. stretch: change the aspect ratio."""

MAX_PIXELS = 200_000_000
"""An image with more pixels is treated as a decompression bomb. (The largest camera sensors have 200 million.)"""
MAX_BYTES = 256 << 20
"""Larger files are not read."""
LARGE_PIXELS = 32_000_000
"""Images with more pixels are decoded one at a time, and reduced before anything else is done with them."""
_STRIP_PIXELS = 4_000_000
_FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "BMP", "PPM", "GIF", "AVIF", "HEIF")
_USED = (0.1, 99.9)
"""The percentiles of 16-bit grey values that become black and white: single hot or dead pixels do not count."""
_ORIENTATION = 0x0112
_TURNS = {
    2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE", 6: "ROTATE_270", 7: "TRANSVERSE",
    8: "ROTATE_90",
}  # fmt: skip
"""The operation that makes an image upright, by its EXIF orientation."""
_TRANSPOSED = ("TRANSPOSE", "ROTATE_270", "TRANSVERSE", "ROTATE_90")
_VERSION = 2
"""Part of the cache key: increase it whenever the decoded pixels change."""

_one_large_image = threading.Lock()


class UnreadableError(Exception):
    """An image cannot be decoded; the message is the reason."""


@dataclass(frozen=True)
class Frame:
    """The common size, number of channels and fit of decoded images."""

    height: int
    width: int
    channels: int
    fit: Fit

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of one image."""
        return self.height, self.width, self.channels

    @property
    def key(self) -> str:
        """The name of the cache folder for images of this form."""
        return f"{self.height}x{self.width}x{self.channels}-{self.fit}-v{_VERSION}"


def frame(size: int | tuple[int, int] = 64, channels: int = 3, fit: Fit = "crop") -> Frame:
    """Return a validated `Frame`. ``size``: the side of a square in pixels, or (height, width)."""
    sides = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
    if len(sides) != 2 or not all(is_count(side) and side <= 4096 for side in sides):
        raise InputError(
            "size", expected="pixels, 1 to 4096, or (height, width)", got=repr(size), fix="The default is 64."
        )
    if not is_count(channels) or channels not in (1, 3):
        raise InputError(
            "channels",
            expected="1 (greyscale) or 3 (RGB)",
            got=repr(channels),
            fix="Transparent images are composited over white.",
        )
    if fit not in ("crop", "pad", "stretch"):
        raise InputError("fit", expected="crop, pad or stretch", got=repr(fit), fix="The default is crop.")
    return Frame(int(sides[0]), int(sides[1]), int(channels), fit)


@contextmanager
def decoding() -> Iterator[None]:
    """Replace Pillow's warnings and its limit of pixels by ours: problems that matter raise `UnreadableError`.

    Use it once around all calls of `decode`, not around each: filters and limit are global to the process.
    """
    image = require("PIL.Image")
    limit = image.MAX_IMAGE_PIXELS
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        warnings.simplefilter("ignore", image.DecompressionBombWarning)  # decode checks the size itself
        image.MAX_IMAGE_PIXELS = MAX_PIXELS
        try:
            yield
        finally:
            image.MAX_IMAGE_PIXELS = limit


@cache
def image_formats() -> tuple[str, ...]:
    """Return the names of the formats that are read, as Pillow calls them; HEIF only with the extra ``heif``."""
    image = require("PIL.Image")
    with suppress(ImportError):
        importlib.import_module("pillow_heif").register_heif_opener()
    image.init()
    return tuple(name for name in _FORMATS if name in image.OPEN)


def decode(content: bytes, to: Frame) -> Array:
    """Return the upright pixels (height, width, channels) of an image file; raise `UnreadableError` if it is bad.

    Of an animation, those of the first frame. A JPEG is decoded at a reduced size where the frame allows it; of other
    images with more than `LARGE_PIXELS`, one is held in memory at a time, at 1 to 4 bytes a pixel.
    """
    image, operations = require("PIL.Image"), require("PIL.ImageOps")
    if not content:
        raise UnreadableError("the file is empty")
    try:
        with image.open(io.BytesIO(content), formats=image_formats()) as opened:
            width, height = opened.size
            if width * height > MAX_PIXELS:
                raise UnreadableError(f"{width}×{height} pixels, more than the limit of {MAX_PIXELS:,}")
            # A JPEG can be decoded at 1/2, 1/4 or 1/8 scale; twice the size of the frame is detailed enough.
            opened.draft(None, (2 * max(to.height, to.width),) * 2)
            large = opened.width * opened.height > LARGE_PIXELS
            with _one_large_image if large else nullcontext():
                opened.load()
                turn = _TURNS.get(orientation(opened))  # Pillow has turned a TIFF upright by now
                plain = _plain(image, opened, to, turn in _TRANSPOSED) if large else _to_eight_bits(image, opened, to)
            upright = plain if turn is None else plain.transpose(image.Transpose[turn])
            return _fit_to_frame(upright, operations, image, to)
    except image.DecompressionBombError as error:
        raise UnreadableError(f"more than the limit of {MAX_PIXELS:,} pixels ({error})") from error
    except UnreadableError:
        raise
    except image.UnidentifiedImageError as error:
        raise UnreadableError(_unidentified(content)) from error
    except MemoryError as error:
        raise UnreadableError("not enough memory to decode it") from error
    except Exception as error:  # decoders raise OSError, ValueError, SyntaxError, struct.error, IndexError…
        raise UnreadableError(f"damaged: {error}") from error


def _unidentified(content: bytes) -> str:
    """Return why Pillow does not know a file. HEIC and AVIF have the same container, and name their brand in it."""
    brand = content[8:12] if content[4:8] == b"ftyp" else b""
    if brand.startswith(b"avi") and "AVIF" not in image_formats():
        return "an AVIF image, which needs Pillow 11.3 or later"
    if brand and not brand.startswith(b"avi") and "HEIF" not in image_formats():
        return "a HEIC image, which needs the extra heif: pip install 'versionspace[heif]'"
    return "not a JPEG, PNG, WebP, TIFF, BMP, PPM, GIF, AVIF or HEIC image"


def orientation(opened: Any) -> int:
    """Return the EXIF or XMP orientation (1 to 8) of an image opened with Pillow; 1, upright, if it is unreadable.

    Only this tag is read. Pillow's own `exif_transpose` also rewrites the other tags, which fails on images whose
    camera wrote invalid ones.
    """
    try:
        value = opened.getexif().get(_ORIENTATION)
        return int(value) if value in _TURNS else 1
    except Exception:  # struct.error, ValueError, TypeError, SyntaxError…
        return 1


def _plain(image: Any, opened: Any, to: Frame, transposed: bool) -> Any:
    """Return a large image with 8 bits per channel, reduced to no less than twice its size in the frame.

    It is converted strip by strip, so that the whole image is in memory only once.
    """
    across, down = _reduction(opened.width, opened.height, to, transposed)
    used = _used_range(opened)
    size = (-(-opened.width // across), -(-opened.height // down))
    reduced = image.new("L" if to.channels == 1 else "RGB", size)
    rows = down * max(1, _STRIP_PIXELS // (opened.width * down))
    for top in range(0, opened.height, rows):
        strip = opened.crop((0, top, opened.width, min(top + rows, opened.height)))
        reduced.paste(_to_eight_bits(image, strip, to, used).reduce((across, down)), (0, top // down))
    return reduced


def _reduction(width: int, height: int, to: Frame, transposed: bool) -> tuple[int, int]:
    """Return the whole factors by which width and height are reduced first.

    >>> _reduction(20_000, 10_000, frame(500), False), _reduction(20_000, 10_000, frame((100, 50), fit="stretch"), True)
    ((10, 10), (100, 100))
    """
    target = (to.height, to.width) if transposed else (to.width, to.height)
    across, down = width // (2 * target[0]), height // (2 * target[1])
    if to.fit == "crop":
        across = down = min(across, down)
    elif to.fit == "pad":
        across = down = max(across, down)
    return max(1, across), max(1, down)


@dataclass(frozen=True)
class _Used:
    """The grey values of a 16-bit image that become black and white."""

    low: int
    high: int


def _used_range(opened: Any) -> _Used | None:
    """Return the grey values that a 16-bit image uses; None for another image. Of a large image, a sample of rows."""
    if not opened.mode.startswith("I"):
        return None
    width, height = opened.size
    step = max(1, width * height // LARGE_PIXELS)
    rows = [opened] if step == 1 else [opened.crop((0, y, width, y + 1)) for y in range(0, height, step)]
    values = np.concatenate([np.asarray(row).ravel() for row in rows])
    least, most = int(values.min()), int(values.max())
    if least < 0 or most > 0xFFFF:
        raise UnreadableError(f"grey values {least} to {most}, more than 16 bits")
    low, high = (
        int(np.percentile(values, _USED[0], method="lower")),
        int(np.percentile(values, _USED[1], method="higher")),
    )
    if low == high:
        low, high = least, most
    return _Used(low, high) if low < high else _Used(0, 0xFFFF)


def _to_eight_bits(image: Any, opened: Any, to: Frame, used: _Used | None = None) -> Any:
    """Convert to greyscale or RGB with 8 bits per channel. ``used``: the range of a 16-bit image, if it is known.

    16-bit greyscale is stretched to the values that it uses, where Pillow would clip it; transparency is composited
    over white.
    """
    if opened.mode == "F":
        raise UnreadableError("floating-point grey values, which have no standard range")
    if (used := used or _used_range(opened)) is not None:
        values = np.clip(np.asarray(opened), used.low, used.high).astype(np.int32) - used.low
        scale = used.high - used.low
        opened = image.fromarray(((values * 255 + scale // 2) // scale).astype(np.uint8))
    if opened.has_transparency_data:
        layer = opened.convert("RGBA")
        opened = image.alpha_composite(image.new("RGBA", layer.size, "white"), layer)
    return opened.convert("L" if to.channels == 1 else "RGB")


def _fit_to_frame(plain: Any, operations: Any, image: Any, to: Frame) -> Array:
    size, method = (to.width, to.height), image.Resampling.BILINEAR
    if to.fit == "crop":
        fitted = operations.fit(plain, size, method)
    elif to.fit == "pad":
        fitted = operations.pad(plain, size, method)
    else:
        fitted = plain.resize(size, method)
    return np.asarray(fitted, np.uint8).reshape(to.shape)
