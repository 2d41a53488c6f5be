"""Bars: what a whole is made of, one bar a method; and differences with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from versionspace.report.document import Figure
from versionspace.report.plots.lines import WIDTH
from versionspace.report.plots.style import INK, MUTED, LineStyle, draw_figure
from versionspace.report.statistics import Interval
from versionspace.types import Floats


@dataclass(frozen=True)
class Share:
    """One of the things a bar is made of."""

    label: str
    colour: str
    hatch: str
    """So that grey print tells them apart."""
    values: tuple[float, ...]
    """One a bar."""


def stacked(
    name: str, rows: Sequence[str], shares: Sequence[Share], *, x: str, digits: int, caption: str, alt: str
) -> Figure:
    """Bars from left to right, the first row on top; the total is written at the end of each."""
    totals = [sum(share.values[i] for share in shares) for i in range(len(rows))]

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        left = [0.0] * len(rows)
        for share in shares:
            axis.barh(
                range(len(rows)), share.values, left=left, height=0.62, color=share.colour, hatch=share.hatch,
                edgecolor="#ffffff", linewidth=0.5, label=share.label,
            )  # fmt: skip
            left = [a + b for a, b in zip(left, share.values, strict=True)]
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
        figure.legend(loc="outside lower center", ncols=len(shares))

    return draw_figure(name, (WIDTH, 1.35 + 0.34 * len(rows)), draw, caption=caption, alt=alt)


@dataclass(frozen=True)
class Difference:
    """A row of a forest plot."""

    label: str
    style: LineStyle
    each: Floats
    """One a seed."""
    mean: float
    interval: Interval | None


def forest(name: str, rows: Sequence[Difference], *, x: str, caption: str, alt: str) -> Figure:
    """Each seed a dot, the mean a bar across, the interval a line; 0 is marked."""

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        axis.axvline(0, color=MUTED, linewidth=1)
        for i, row in enumerate(rows):
            if row.interval is not None:
                axis.plot([row.interval.low, row.interval.high], [i, i], color=row.style.colour, linewidth=2.2)
            axis.plot([row.mean, row.mean], [i - 0.2, i + 0.2], color=row.style.colour, linewidth=2.6)
            axis.plot(
                row.each, [i + 0.34] * len(row.each), linestyle="none", marker="o", markersize=3.6, color=INK,
                alpha=0.55, markeredgewidth=0,
            )  # fmt: skip
        axis.set_yticks(range(len(rows)), [row.label for row in rows])
        axis.set_ylim(len(rows) - 0.4, -0.6)
        axis.set_xlabel(x)
        axis.grid(visible=False, axis="y")
        axis.tick_params(axis="y", length=0)

    return draw_figure(name, (WIDTH, 0.95 + 0.4 * len(rows)), draw, caption=caption, alt=alt)
