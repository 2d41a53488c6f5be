"""Decoding of image files to uint8 pixels of one size."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from versionspace.errors import InputError
from versionspace.extras import require
from versionspace.types import Array, is_count

Fit: TypeAlias = Literal["crop", "pad", "stretch"]
"""crop: fill the frame and cut off the excess. pad: add black bars. stretch: change the aspect ratio."""

MAX_PIXELS = 64_000_000
"""An image with more pixels is treated as a decompression bomb. (Photographs have up to 50 million.)"""
MAX_BYTES = 256 << 20
"""Larger files are not read."""
_FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "BMP")
_ORIENTATION = 0x0112
_TURNS = {
    2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE", 6: "ROTATE_270", 7: "TRANSVERSE",
    8: "ROTATE_90",
}  # fmt: skip
"""The operation that makes an image upright, by its EXIF orientation."""
_VERSION = 1
"""Part of the cache key: increase it whenever the decoded pixels change."""


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
    """Suppress Pillow's warnings while images are decoded; problems that matter raise `UnreadableError`.

    Use it once around all calls of `decode`, not around each: warning filters are global to the process.
    """
    image = require("PIL.Image")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        warnings.simplefilter("ignore", image.DecompressionBombWarning)  # decode checks the size itself
        yield


def decode(content: bytes, to: Frame) -> Array:
    """Return the upright pixels (height, width, channels) of an image file; raise `UnreadableError` if it is bad."""
    image, operations = require("PIL.Image"), require("PIL.ImageOps")
    if not content:
        raise UnreadableError("the file is empty")
    try:
        with image.open(io.BytesIO(content), formats=_FORMATS) as opened:
            width, height = opened.size
            if width * height > MAX_PIXELS:
                raise UnreadableError(f"{width}×{height} pixels, more than the limit of {MAX_PIXELS:,}")
            # A JPEG can be decoded at 1/2, 1/4 or 1/8 scale; twice the size of the frame is detailed enough.
            opened.draft(None, (2 * max(to.height, to.width),) * 2)
            opened.load()
            turn = _TURNS.get(orientation(opened))
            upright = opened if turn is None else opened.transpose(image.Transpose[turn])
            return _fit_to_frame(_to_eight_bits(image, upright, to.channels), operations, image, to)
    except image.DecompressionBombError as error:
        raise UnreadableError(f"more than the limit of {MAX_PIXELS:,} pixels ({error})") from error
    except UnreadableError:
        raise
    except image.UnidentifiedImageError as error:
        raise UnreadableError("not a JPEG, PNG, WebP, TIFF or BMP image") from error
    except MemoryError as error:
        raise UnreadableError("not enough memory to decode it") from error
    except Exception as error:  # decoders raise OSError, ValueError, SyntaxError, struct.error, IndexError…
        raise UnreadableError(f"damaged: {error}") from error


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


def _to_eight_bits(image: Any, opened: Any, channels: int) -> Any:
    """Convert to greyscale or RGB with 8 bits per channel.

    16-bit greyscale is scaled, where Pillow would clip it; transparency is composited over white.
    """
    if opened.mode.startswith("I"):
        values = np.asarray(opened).astype(np.int64)
        if values.min() < 0 or values.max() > 0xFFFF:
            raise UnreadableError(f"grey values {values.min()} to {values.max()}, more than 16 bits")
        opened = image.fromarray(((values + 128) // 257).astype(np.uint8))
    elif opened.mode == "F":
        raise UnreadableError("floating-point grey values, which have no standard range")
    if opened.has_transparency_data:
        layer = opened.convert("RGBA")
        opened = image.alpha_composite(image.new("RGBA", layer.size, "white"), layer)
    return opened.convert("L" if channels == 1 else "RGB")


def _fit_to_frame(plain: Any, operations: Any, image: Any, to: Frame) -> Array:
    size, method = (to.width, to.height), image.Resampling.BILINEAR
    if to.fit == "crop":
        fitted = operations.fit(plain, size, method)
    elif to.fit == "pad":
        fitted = operations.pad(plain, size, method)
    else:
        fitted = plain.resize(size, method)
    return np.asarray(fitted, np.uint8).reshape(to.shape)
