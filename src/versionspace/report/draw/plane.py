"""Version spaces in the plane: members dots, Gibbs classifiers triangles, the truth a star."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from versionspace.report.blocks import Figure
from versionspace.report.draw.canvas import drawn
from versionspace.report.draw.lines import WIDTH
from versionspace.report.draw.look import HUES, INK, STAGES
from versionspace.report.embedding import Embedding


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

    return drawn(name, (WIDTH, height), draw, caption=caption, alt=alt)


def _spread(count: int) -> list[str]:
    """The last stage is always in the last colour, and the first in the first."""
    if count == 1:
        return [STAGES[-1]]
    return [STAGES[round(i * (len(STAGES) - 1) / (count - 1))] for i in range(count)]
