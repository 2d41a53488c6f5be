"""Curves over labels: one or several panels side by side, one legend below."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from versionspace.extras import require
from versionspace.report.document import Figure
from versionspace.report.plots.style import MUTED, LineStyle, draw_figure
from versionspace.types import Floats, Ints

WIDTH = 9.2
"""Inches of a whole figure."""
_MARKERS = 7
"""On each line, so many; evenly spread."""
BANDS = 6
"""Of more lines the bands would cover each other, and the lines."""


@dataclass(frozen=True)
class Curve:
    """A line with a band."""

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
    """What is on the axis, with its unit."""
    curves: tuple[Curve, ...]
    level: float | None = None
    """A line across, such as 0 for differences."""
    bounds: tuple[float | None, float | None] = field(default=(None, None))
    """Of the axis, where the data should not decide."""


def lines(
    name: str,
    panels: Sequence[Panel],
    *,
    caption: str,
    alt: str,
    x: str = "labels",
    mark: int | None = None,
    share_y: bool = False,
) -> Figure:
    """Panels side by side, with bands where lines are few.

    ``mark``: a number of labels at which a line stands, where runs are compared.
    """
    legend = {curve.label: curve for panel in panels for curve in panel.curves}
    banded = len(legend) <= BANDS
    columns = min(len(legend), 5)
    rows = math.ceil(len(legend) / columns) if columns else 0
    height = {1: 4.1, 2: 3.5}.get(len(panels), 3.0) + 0.22 * rows

    def draw(figure: Any) -> None:
        axes = figure.subplots(1, len(panels), squeeze=False, sharey=share_y)[0]
        for place, (axis, panel) in enumerate(zip(axes, panels, strict=True)):
            _panel(axis, panel, x, mark, list(legend), banded=banded)
            if share_y and place:
                axis.set_ylabel("")
        if len(legend) > 1:
            handles = [_handle(curve) for curve in legend.values()]
            figure.legend(handles=handles, loc="outside lower center", ncols=columns, handlelength=3.2)

    said = "" if mark is None else f" The upright line is at {mark:,} labels, where runs are compared."
    return draw_figure(name, (WIDTH, height), draw, caption=caption + said, alt=alt)


def _panel(axis: Any, panel: Panel, x: str, mark: int | None, order: list[str], *, banded: bool) -> None:
    axis.set_title(panel.title)
    axis.set_xlabel(x)
    axis.set_ylabel(panel.y)
    if panel.level is not None:
        axis.axhline(panel.level, color=MUTED, linewidth=1)
    for curve in panel.curves:
        if banded and curve.low is not None and curve.high is not None:
            axis.fill_between(curve.x, curve.low, curve.high, color=curve.style.colour, alpha=0.15, linewidth=0)
    for curve in panel.curves:
        every = max(1, round(len(curve.x) / _MARKERS))
        axis.plot(
            curve.x, curve.middle, color=curve.style.colour, linestyle=curve.style.dash, marker=curve.style.marker,
            markevery=(order.index(curve.label) % every, every), markeredgewidth=0, label=curve.label,
        )  # fmt: skip
    if mark is not None:
        axis.axvline(mark, color=MUTED, linewidth=1, linestyle=(0, (2, 2)))
    low, high = panel.bounds
    axis.set_ylim(bottom=low, top=high)
    axis.margins(x=0.02)
    axis.xaxis.set_major_locator(
        require("matplotlib.ticker").MaxNLocator(nbins=7, integer=True, steps=[1, 2, 2.5, 5, 10])
    )


def _handle(curve: Curve) -> Any:
    style = curve.style
    return require("matplotlib.lines").Line2D(
        [], [], color=style.colour, linestyle=style.dash, marker=style.marker, markeredgewidth=0, label=curve.label
    )
