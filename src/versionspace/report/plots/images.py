"""Heatmaps of queried classes, maps of the version space, and contact sheets of queried images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from versionspace.extras import require
from versionspace.report.document import Figure
from versionspace.report.mds import VersionSpaceMap
from versionspace.report.plots.lines import WIDTH
from versionspace.report.plots.style import HUES, INK, MUTED, STAGE_HUES, draw_figure
from versionspace.types import Array, Floats

SHEET_COLUMNS = 14
"""Images in a row of a contact sheet."""
_MAX_NUMBERED = 16
"""Columns up to which a number fits into a cell of a heatmap."""
_MAX_CLASS_NAME = 18
"""Characters of a class name on the axis of a heatmap."""
_MAX_ANSWER = 9
"""Characters of a class name under an image of a contact sheet."""
_LIGHT, _DARK = np.array([0.945, 0.955, 0.97]), np.array([0.11, 0.24, 0.47])


def heatmap(
    name: str, rows: Sequence[str], columns: Sequence[str], percent_RC: Floats, *, unit: str, caption: str, alt: str
) -> Figure:
    """Return a grid in which darker means more. Cells show their numbers if there is room; otherwise a scale does."""
    top = float(np.nanmax(percent_RC)) or 1.0
    titles = [_shorten(text, _MAX_CLASS_NAME) for text in columns]
    longest = max(map(len, titles), default=0)
    slanted = longest * len(columns) > 80
    numbered = len(columns) <= _MAX_NUMBERED

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        colours = _LIGHT + (_DARK - _LIGHT) * np.nan_to_num(percent_RC / top)[..., None]
        axis.imshow(colours, aspect="auto", interpolation="nearest")
        rotation = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
        axis.set_xticks(range(len(columns)), titles, **rotation)
        axis.set_yticks(range(len(rows)), rows)
        axis.set_xlabel(f"class (numbers: {unit})" if numbered else "class")
        axis.grid(visible=False)
        axis.tick_params(length=0)
        for side in axis.spines.values():
            side.set_visible(False)
        if numbered:
            for (i, j), value in np.ndenumerate(percent_RC):
                if not np.isnan(value):
                    ink = "#ffffff" if value > 0.5 * top else "#000000"
                    axis.text(j, i, f"{value:.0f}", ha="center", va="center", color=ink, fontsize=8.5)
        else:
            _draw_scale(figure, axis, top, unit)

    height = 1.1 + 0.32 * len(rows) + (0.06 * longest if slanted else 0) + (0 if numbered else 0.6)
    return draw_figure(name, (WIDTH, height), draw, caption=caption, alt=alt)


def _draw_scale(figure: Any, axis: Any, top: float, unit: str) -> None:
    colors = require("matplotlib.colors")
    gradient = colors.LinearSegmentedColormap.from_list("shares", [tuple(_LIGHT), tuple(_DARK)])
    mappable = require("matplotlib.cm").ScalarMappable(colors.Normalize(0, top), gradient)
    figure.colorbar(mappable, ax=axis, location="bottom", label=unit, aspect=50, shrink=0.5)


def map_figure(name: str, found: VersionSpaceMap, stages: Sequence[str], *, caption: str, alt: str) -> Figure:
    """Return a map in percent of the test images, both axes to the same scale.

    Members are dots, Gibbs classifiers triangles, the true labels a star. ``stages``: a label for each stage.
    """
    colours = [HUES[hue].light for hue in _stage_hues(len(stages))]
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
                label="true labels",
            )  # fmt: skip
        axis.plot(
            [], [], marker="^", markersize=8, linestyle="none", color="none", markeredgecolor=INK,
            label="Gibbs classifier",
        )  # fmt: skip
        axis.set_xlabel("first axis (disagreement, % of the test images)")
        axis.set_ylabel("second axis (%)")
        figure.legend(loc="outside lower center", ncols=4)

    return draw_figure(name, (WIDTH, height), draw, caption=caption, alt=alt)


def _stage_hues(count: int) -> list[str]:
    """Return evenly spaced hues that always include the last, and the first if there are several stages."""
    if count == 1:
        return [STAGE_HUES[-1]]
    return [STAGE_HUES[round(i * (len(STAGE_HUES) - 1) / (count - 1))] for i in range(count)]


@dataclass(frozen=True)
class ImageRow:
    """One row of a contact sheet: the queries of one method."""

    label: str
    images: Array
    """uint8 (n, H, W, channels), in the order of the queries."""
    answers: tuple[str, ...]
    """The answer to each."""


def contact_sheet(name: str, rows: Sequence[ImageRow], *, caption: str, alt: str) -> Figure:
    """Return a row of images per method, with the answer below each image."""

    def draw(figure: Any) -> None:
        grid = figure.subplots(len(rows), SHEET_COLUMNS, squeeze=False)
        for axes, row in zip(grid, rows, strict=True):
            for place, axis in enumerate(axes):
                axis.set_axis_off()
                if place < len(row.images):
                    _draw_image(axis, row.images[place], row.answers[place])
            axes[0].text(-0.12, 0.5, row.label, transform=axes[0].transAxes, ha="right", va="center", fontsize=9)

    return draw_figure(name, (WIDTH, 0.15 + 0.82 * len(rows)), draw, caption=caption, alt=alt)


def _draw_image(axis: Any, pixels: Array, answer: str) -> None:
    grey = pixels.shape[2] == 1
    axis.imshow(
        pixels[..., 0] if grey else pixels, cmap="gray" if grey else None, vmin=0, vmax=255, interpolation="nearest"
    )
    text = _shorten(answer, _MAX_ANSWER)
    axis.text(0.5, -0.06, text, transform=axis.transAxes, ha="center", va="top", fontsize=7, color=MUTED)


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
