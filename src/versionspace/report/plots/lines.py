"""Line plots: one or several panels side by side, with one legend below."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from versionspace.extras import require
from versionspace.report.document import Figure
from versionspace.report.plots.style import MUTED, LineStyle, draw_figure
from versionspace.types import Floats, Ints

WIDTH = 9.2
"""Width of all figures, in inches."""
MAX_BANDS = 6
"""Lines above which no bands are drawn: they would cover each other and the lines."""
_MARKERS = 7
"""Markers per line, evenly spaced."""


@dataclass(frozen=True)
class Curve:
    """A line with an optional band."""

    label: str
    style: LineStyle
    x: Ints | Floats
    middle: Floats
    low: Floats | None = None
    high: Floats | None = None


@dataclass(frozen=True)
class Panel:
    """Axes with curves."""

    title: str
    y: str
    """Label of the vertical axis, with its unit."""
    curves: tuple[Curve, ...]
    baseline: float | None = None
    """Height of a horizontal line, such as 0 for differences."""
    y_limits: tuple[float | None, float | None] = (None, None)
    """Limits of the vertical axis; None: from the data."""


def line_figure(
    name: str,
    panels: Sequence[Panel],
    *,
    caption: str,
    alt: str,
    x: str = "labels",
    mark: int | None = None,
    share_y: bool = False,
) -> Figure:
    """Return panels side by side, with bands if there are at most `MAX_BANDS` lines.

    ``mark``: the number of labels at which runs are compared, drawn as a vertical line.
    """
    legend = {curve.label: curve for panel in panels for curve in panel.curves}
    bands = len(legend) <= MAX_BANDS
    rows = math.ceil(len(legend) / 5)
    columns = math.ceil(len(legend) / max(rows, 1))  # rows of about the same length
    height = {1: 4.1, 2: 3.5}.get(len(panels), 3.0) + 0.22 * rows

    def draw(figure: Any) -> None:
        axes = figure.subplots(1, len(panels), squeeze=False, sharey=share_y)[0]
        for place, (axis, panel) in enumerate(zip(axes, panels, strict=True)):
            _draw_panel(axis, panel, x, mark, list(legend), bands=bands)
            if share_y and place:
                axis.set_ylabel("")
        for axis, panel in zip(axes, panels, strict=True):  # once all are drawn: a limit ends the automatic scaling
            low, high = panel.y_limits
            axis.set_ylim(bottom=low, top=high)
        if len(legend) > 1:
            handles = [_legend_handle(curve) for curve in legend.values()]
            figure.legend(handles=handles, loc="outside lower center", ncols=columns, handlelength=3.2)

    if mark is not None:
        caption = f"{caption} The vertical line is at {mark:,} labels, where the runs are compared."
    return draw_figure(name, (WIDTH, height), draw, caption=caption, alt=alt)


def _draw_panel(axis: Any, panel: Panel, x: str, mark: int | None, order: list[str], *, bands: bool) -> None:
    axis.set_title(panel.title)
    axis.set_xlabel(x)
    axis.set_ylabel(panel.y)
    if panel.baseline is not None:
        axis.axhline(panel.baseline, color=MUTED, linewidth=1)
    for curve in panel.curves:
        if bands and curve.low is not None and curve.high is not None:
            axis.fill_between(curve.x, curve.low, curve.high, color=curve.style.colour, alpha=0.15, linewidth=0)
    for curve in panel.curves:
        every = max(1, round(len(curve.x) / _MARKERS))
        axis.plot(
            curve.x, curve.middle, color=curve.style.colour, linestyle=curve.style.dash, marker=curve.style.marker,
            markevery=(order.index(curve.label) % every, every), markeredgewidth=0, label=curve.label,
        )  # fmt: skip
    if mark is not None:
        axis.axvline(mark, color=MUTED, linewidth=1, linestyle=(0, (2, 2)))
    axis.margins(x=0.02)
    axis.xaxis.set_major_locator(
        require("matplotlib.ticker").MaxNLocator(nbins=7, integer=True, steps=[1, 2, 2.5, 5, 10])
    )


def _legend_handle(curve: Curve) -> Any:
    style = curve.style
    return require("matplotlib.lines").Line2D(
        [], [], color=style.colour, linestyle=style.dash, marker=style.marker, markeredgewidth=0, label=curve.label
    )
