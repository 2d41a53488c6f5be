"""From the bytes of an image file to uint8 pixels of one size."""

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
"""crop: fill the frame, cut off what hangs over. pad: show all, black bars. stretch: show all, out of proportion."""

MAX_PIXELS = 64_000_000
"""More pixels than this are taken for a decompression bomb. (A photograph of today has up to 50 million.)"""
MAX_BYTES = 256 << 20
_FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "BMP")
_ORIENTATION = 0x0112
_TURNS = {
    2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE", 6: "ROTATE_270", 7: "TRANSVERSE",
    8: "ROTATE_90",
}  # fmt: skip
"""What makes an image upright, by its orientation."""
_VERSION = 1
"""Part of the cache's key: raised whenever the pixels that come out would change."""


class UnreadableError(Exception):
    """An image that cannot be used, and why."""


@dataclass(frozen=True)
class Frame:
    """The form that all images are brought into."""

    height: int
    width: int
    channels: int
    fit: Fit

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of one image."""
        return self.height, self.width, self.channels

    @property
    def key(self) -> str:
        """A name for the cache."""
        return f"{self.height}x{self.width}x{self.channels}-{self.fit}-v{_VERSION}"


def frame(size: int | tuple[int, int] = 64, channels: int = 3, fit: Fit = "crop") -> Frame:
    """A frame, checked."""
    sides = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
    if len(sides) != 2 or not all(is_count(side) and side <= 4096 for side in sides):
        raise InputError(
            "size", expected="pixels, 1 to 4096, or (height, width)", got=repr(size), fix="64 is a good start."
        )
    if not is_count(channels) or channels not in (1, 3):
        raise InputError(
            "channels", expected="1 (grey) or 3 (RGB)", got=repr(channels), fix="Transparency is laid over white."
        )
    if fit not in ("crop", "pad", "stretch"):
        raise InputError("fit", expected="crop, pad or stretch", got=repr(fit), fix="crop is the default.")
    return Frame(int(sides[0]), int(sides[1]), int(channels), fit)


@contextmanager
def decoding() -> Iterator[None]:
    """To be held around all calls of ``decode``: mutes Pillow's warnings, since what matters is in the report.

    Once around all, not in each: the filters belong to the whole process.
    """
    image = require("PIL.Image")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        warnings.simplefilter("ignore", image.DecompressionBombWarning)  # those that we refuse, we refuse by ourselves
        yield


def decode(content: bytes, to: Frame) -> Array:
    """Pixels (height, width, channels), upright; raises UnreadableError."""
    image, operations = require("PIL.Image"), require("PIL.ImageOps")
    if not content:
        raise UnreadableError("the file is empty")
    try:
        with image.open(io.BytesIO(content), formats=_FORMATS) as opened:
            width, height = opened.size
            if width * height > MAX_PIXELS:
                raise UnreadableError(f"{width}×{height} pixels, more than {MAX_PIXELS:,} are not decoded")
            # A JPEG can be decoded at a half, a quarter or an eighth: enough for a frame half that size.
            opened.draft(None, (2 * max(to.height, to.width),) * 2)
            opened.load()
            turn = _TURNS.get(orientation(opened))
            upright = opened if turn is None else opened.transpose(image.Transpose[turn])
            return _framed(_eight_bits(image, upright, to.channels), operations, image, to)
    except image.DecompressionBombError as error:
        raise UnreadableError(f"more than {MAX_PIXELS:,} pixels are not decoded ({error})") from error
    except UnreadableError:
        raise
    except image.UnidentifiedImageError as error:
        raise UnreadableError("not a JPEG, PNG, WebP, TIFF or BMP image") from error
    except MemoryError as error:
        raise UnreadableError("not enough memory to decode it") from error
    except Exception as error:  # decoders raise OSError, ValueError, SyntaxError, struct.error, IndexError…
        raise UnreadableError(f"damaged: {error}") from error


def orientation(opened: Any) -> int:
    """Of an image that Pillow opened, by its EXIF or XMP: 1 to 8, and 1, upright, where neither can be read.

    Only that is read: to write the rest anew, as Pillow does when it turns an image, fails where a camera wrote
    something odd.
    """
    try:
        found = opened.getexif().get(_ORIENTATION)
        return int(found) if found in _TURNS else 1
    except Exception:  # struct.error, ValueError, TypeError, SyntaxError…
        return 1


def _eight_bits(image: Any, opened: Any, channels: int) -> Any:
    """Grey or RGB with 8 bits a channel; 16-bit grey is scaled (Pillow would cut it off), transparency is white."""
    if opened.mode.startswith("I"):
        values = np.asarray(opened).astype(np.int64)
        if values.min() < 0 or values.max() > 0xFFFF:
            raise UnreadableError(f"grey values {values.min()} to {values.max()}, more than 16 bits")
        opened = image.fromarray(((values + 128) // 257).astype(np.uint8))
    elif opened.mode == "F":
        raise UnreadableError("floating-point grey values, which have no agreed range")
    if opened.has_transparency_data:
        layer = opened.convert("RGBA")
        opened = image.alpha_composite(image.new("RGBA", layer.size, "white"), layer)
    return opened.convert("L" if channels == 1 else "RGB")


def _framed(plain: Any, operations: Any, image: Any, to: Frame) -> Array:
    size, method = (to.width, to.height), image.Resampling.BILINEAR
    if to.fit == "crop":
        fitted = operations.fit(plain, size, method)
    elif to.fit == "pad":
        fitted = operations.pad(plain, size, method)
    else:
        fitted = plain.resize(size, method)
    return np.asarray(fitted, np.uint8).reshape(to.shape)
