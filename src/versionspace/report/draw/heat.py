"""A grid of shares, written into its cells: which classes each method asked for."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from versionspace.report.blocks import Figure
from versionspace.report.draw.canvas import drawn
from versionspace.report.draw.lines import WIDTH
from versionspace.types import Floats

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
    return drawn(name, (WIDTH, height), draw, caption=caption, alt=alt)


def _scale(figure: Any, axis: Any, top: float, unit: str) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    between = LinearSegmentedColormap.from_list("shares", [tuple(_LIGHT), tuple(_DARK)])
    figure.colorbar(
        ScalarMappable(Normalize(0, top), between), ax=axis, location="bottom", label=unit, aspect=50, shrink=0.5
    )
