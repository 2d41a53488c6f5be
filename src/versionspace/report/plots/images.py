"""A grid of shares, written into its cells: which classes each method asked for.

Version spaces in the plane: members dots, Gibbs classifiers triangles, the truth a star.

Contact sheets: the images that each method asked for first, in order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from versionspace.report.document import Figure
from versionspace.report.mds import Embedding
from versionspace.report.plots.lines import WIDTH
from versionspace.report.plots.style import HUES, INK, MUTED, STAGE_HUES, draw_figure
from versionspace.types import Array, Floats

_LIGHT, _DARK = np.array([0.945, 0.955, 0.97]), np.array([0.11, 0.24, 0.47])
WRITTEN = 16
"""Columns up to which a number fits into a cell."""
_LONG = 18
"""Characters of a column's name that are shown."""


def heat(
    name: str, rows: Sequence[str], columns: Sequence[str], percent_RC: Floats, *, unit: str, caption: str, alt: str
) -> Figure:
    """Darker is more; cells carry their numbers where there is room, and a scale stands below where there is not."""
    top = float(np.nanmax(percent_RC)) or 1.0
    short = [text if len(text) <= _LONG else text[: _LONG - 1] + "…" for text in columns]
    slanted = max(map(len, short), default=0) * len(columns) > 80
    written = len(columns) <= WRITTEN

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        colours = _LIGHT + (_DARK - _LIGHT) * np.nan_to_num(percent_RC / top)[..., None]
        axis.imshow(colours, aspect="auto", interpolation="nearest")
        axis.set_xticks(
            range(len(columns)),
            short,
            rotation=60 if slanted else 0,
            ha="right" if slanted else "center",
            rotation_mode="anchor" if slanted else "default",
        )
        axis.set_yticks(range(len(rows)), rows)
        axis.set_xlabel(f"class (in the cells: {unit})" if written else "class")
        axis.grid(visible=False)
        axis.tick_params(length=0)
        for side in axis.spines.values():
            side.set_visible(False)
        if written:
            for (i, j), value in np.ndenumerate(percent_RC):
                if not np.isnan(value):
                    ink = "#ffffff" if value > 0.5 * top else "#000000"
                    axis.text(j, i, f"{value:.0f}", ha="center", va="center", color=ink, fontsize=8.5)
        else:
            _scale(figure, axis, top, unit)

    height = (
        1.1 + 0.32 * len(rows) + (0.06 * max(map(len, short), default=0) if slanted else 0) + (0 if written else 0.6)
    )
    return draw_figure(name, (WIDTH, height), draw, caption=caption, alt=alt)


def _scale(figure: Any, axis: Any, top: float, unit: str) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    between = LinearSegmentedColormap.from_list("shares", [tuple(_LIGHT), tuple(_DARK)])
    figure.colorbar(
        ScalarMappable(Normalize(0, top), between), ax=axis, location="bottom", label=unit, aspect=50, shrink=0.5
    )


def plane(name: str, found: Embedding, stages: Sequence[str], *, caption: str, alt: str) -> Figure:
    """Both axes to the same scale, in percent of the test images. ``stages``: a label for each."""
    colours = [HUES[hue].light for hue in _spread(len(stages))]
    points = np.concatenate([*found.members, found.gibbs, *([found.truth[None]] if found.truth is not None else [])])
    wide, high = np.maximum(np.ptp(points, axis=0), 1e-9)
    height = float(np.clip((WIDTH - 1.2) * high / wide + 1.2, 3.4, 7.0))

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        axis.set_aspect("equal", adjustable="datalim")
        for members, colour, stage in zip(found.members, colours, stages, strict=True):
            axis.plot(
                *(100 * members.T), linestyle="none", marker="o", markersize=4.2, color=colour, alpha=0.7,
                markeredgewidth=0, label=stage,
            )  # fmt: skip
        for point, colour, stage in zip(found.gibbs, colours, stages, strict=True):
            axis.plot(*(100 * point), marker="^", markersize=9, color=colour, markeredgecolor=INK, markeredgewidth=0.9)
            axis.annotate(
                stage.partition(" ")[0], 100 * point, xytext=(0, 7), textcoords="offset points", ha="center",
                fontsize=8.5, fontweight="bold",
            )  # fmt: skip
        if found.truth is not None:
            axis.plot(
                *(100 * found.truth), marker="*", markersize=17, linestyle="none", color=INK, markeredgewidth=0,
                label="the truth",
            )  # fmt: skip
        axis.plot(
            [],
            [],
            marker="^",
            markersize=8,
            linestyle="none",
            color="none",
            markeredgecolor=INK,
            label="its Gibbs classifier",
        )
        axis.set_xlabel("first axis (disagreement, % of the test images)")
        axis.set_ylabel("second axis (%)")
        figure.legend(loc="outside lower center", ncols=4)

    return draw_figure(name, (WIDTH, height), draw, caption=caption, alt=alt)


def _spread(count: int) -> list[str]:
    """The last stage is always in the last colour, and the first in the first."""
    if count == 1:
        return [STAGE_HUES[-1]]
    return [STAGE_HUES[round(i * (len(STAGE_HUES) - 1) / (count - 1))] for i in range(count)]


ACROSS = 14
"""Images in a row."""
_LONG_ANSWER = 9
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

    return draw_figure(name, (WIDTH, 0.15 + 0.82 * len(strips)), draw, caption=caption, alt=alt)


def _image(axis: Any, pixels: Array, answer: str) -> None:
    grey = pixels.shape[2] == 1
    axis.imshow(
        pixels[..., 0] if grey else pixels, cmap="gray" if grey else None, vmin=0, vmax=255, interpolation="nearest"
    )
    short = answer if len(answer) <= _LONG_ANSWER else answer[: _LONG_ANSWER - 1] + "…"
    axis.text(0.5, -0.06, short, transform=axis.transAxes, ha="center", va="top", fontsize=7, color=MUTED)
