"""Contact sheets: the images that each method asked for first, in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from versionspace.report.blocks import Figure
from versionspace.report.draw.canvas import drawn
from versionspace.report.draw.lines import WIDTH
from versionspace.report.draw.look import MUTED
from versionspace.types import Array

ACROSS = 14
"""Images in a row."""
_LONG = 9
"""Characters of a class's name under an image."""


@dataclass(frozen=True)
class Strip:
    """One method's."""

    label: str
    images: Array
    """uint8 (n, H, W, channels), best first."""
    names: tuple[str, ...]
    """What each was answered."""


def sheet(name: str, strips: Sequence[Strip], *, caption: str, alt: str) -> Figure:
    """A row a method; under each image what it was answered, from left to right as they were asked."""

    def draw(figure: Any) -> None:
        grid = figure.subplots(len(strips), ACROSS, squeeze=False)
        for axes, strip in zip(grid, strips, strict=True):
            for place, axis in enumerate(axes):
                axis.set_axis_off()
                if place < len(strip.images):
                    _image(axis, strip.images[place], strip.names[place])
            axes[0].text(-0.12, 0.5, strip.label, transform=axes[0].transAxes, ha="right", va="center", fontsize=9)

    return drawn(name, (WIDTH, 0.15 + 0.82 * len(strips)), draw, caption=caption, alt=alt)


def _image(axis: Any, pixels: Array, answer: str) -> None:
    grey = pixels.shape[2] == 1
    axis.imshow(
        pixels[..., 0] if grey else pixels, cmap="gray" if grey else None, vmin=0, vmax=255, interpolation="nearest"
    )
    short = answer if len(answer) <= _LONG else answer[: _LONG - 1] + "…"
    axis.text(0.5, -0.06, short, transform=axis.transAxes, ha="center", va="top", fontsize=7, color=MUTED)
