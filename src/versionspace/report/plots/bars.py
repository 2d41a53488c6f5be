"""Horizontal bars: the parts of a total, one bar per method; and forest plots of differences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from versionspace.report.document import Figure
from versionspace.report.plots.lines import WIDTH
from versionspace.report.plots.style import INK, MUTED, LineStyle, draw_figure
from versionspace.report.statistics import Interval
from versionspace.types import Floats


@dataclass(frozen=True)
class BarPart:
    """One of the parts of which all bars are stacked."""

    label: str
    colour: str
    hatch: str
    """Keeps parts distinct in greyscale print."""
    values: tuple[float, ...]
    """One value per bar."""


def stacked_bars(
    name: str, rows: Sequence[str], parts: Sequence[BarPart], *, x: str, digits: int, caption: str, alt: str
) -> Figure:
    """Return one bar per row, the first row on top, with the total at the end of each bar."""
    totals = [sum(part.values[i] for part in parts) for i in range(len(rows))]

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        left = [0.0] * len(rows)
        for part in parts:
            axis.barh(
                range(len(rows)), part.values, left=left, height=0.62, color=part.colour, hatch=part.hatch,
                edgecolor="#ffffff", linewidth=0.5, label=part.label,
            )  # fmt: skip
            left = [a + b for a, b in zip(left, part.values, strict=True)]
        for i, total in enumerate(totals):
            axis.annotate(
                f"{total:,.{digits}f}", (total, i), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8.5
            )
        axis.set_yticks(range(len(rows)), rows)
        axis.invert_yaxis()
        axis.set_xlabel(x)
        axis.set_xlim(0, max(totals, default=1.0) * 1.1 or 1.0)
        axis.grid(visible=False, axis="y")
        axis.tick_params(axis="y", length=0)
        figure.legend(loc="outside lower center", ncols=len(parts))

    return draw_figure(name, (WIDTH, 1.35 + 0.34 * len(rows)), draw, caption=caption, alt=alt)


@dataclass(frozen=True)
class ForestRow:
    """A row of a forest plot."""

    label: str
    style: LineStyle
    differences: Floats
    """One value per seed."""
    mean: float
    interval: Interval | None


def forest_plot(name: str, rows: Sequence[ForestRow], *, x: str, caption: str, alt: str) -> Figure:
    """Return differences around 0: a dot per seed, a vertical bar for the mean and a line for the interval."""

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        axis.axvline(0, color=MUTED, linewidth=1)
        for i, row in enumerate(rows):
            if row.interval is not None:
                axis.plot([row.interval.low, row.interval.high], [i, i], color=row.style.colour, linewidth=2.2)
            axis.plot([row.mean, row.mean], [i - 0.2, i + 0.2], color=row.style.colour, linewidth=2.6)
            axis.plot(
                row.differences, [i + 0.34] * len(row.differences), linestyle="none", marker="o", markersize=3.6,
                color=INK, alpha=0.55, markeredgewidth=0,
            )  # fmt: skip
        axis.set_yticks(range(len(rows)), [row.label for row in rows])
        axis.set_ylim(len(rows) - 0.4, -0.6)
        axis.set_xlabel(x)
        axis.grid(visible=False, axis="y")
        axis.tick_params(axis="y", length=0)

    return draw_figure(name, (WIDTH, 0.95 + 0.4 * len(rows)), draw, caption=caption, alt=alt)
