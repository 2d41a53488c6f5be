"""All datasets in one picture: the bias of version spaces trained on random samples, as in the paper."""

from collections.abc import Sequence
from dataclasses import replace

from versionspace.report.document import Block, Part
from versionspace.report.plots.lines import Curve, Panel, lines
from versionspace.report.plots.style import DASH_DOT, DASHED, DOTTED, SOLID, LineStyle
from versionspace.report.sections.curves import averaged
from versionspace.report.sections.results import Judged

_HOW = (
    "Only runs of random are shown: what a version space is like when nobody chose the samples. The horizontal axis "
    "is the share of each dataset's own budget. Where wrong agreement stays high, no shrinking of the version space "
    "brings its members to the truth."
)
_DATASET_STYLES = (
    LineStyle("vermilion", SOLID, "o"), LineStyle("blue", SOLID, "s"), LineStyle("green", DASHED, "^"), LineStyle("orange", DASHED, "D"),
    LineStyle("pink", DOTTED, "v"), LineStyle("sky", DOTTED, "P"), LineStyle("brown", DASH_DOT, "X"), LineStyle("ink", DASH_DOT, "*"),
)  # fmt: skip


def across(found: Sequence[Judged]) -> Part | None:
    """Wrong agreement and both distances to the projection of the random runs; None for fewer than two datasets."""
    panels: list[Panel] = []
    for title, what in (
        ("Wrong agreement", "wrong_agreement"),
        ("Gibbs to the projection", "gibbs_distance"),
        ("Vote to the projection", "vote_distance"),
    ):
        drawn = _curves(found, what)
        if len(drawn) > 1:
            panels.append(Panel(title, "share of the test set (%)" if not panels else "", drawn, bounds=(0, None)))
    if not panels:
        return None
    names = ", ".join(curve.label for curve in panels[0].curves)
    figure = lines(
        "random-across-datasets", panels, x="share of the budget (%)",
        caption="Random: wrong agreement, and the distance of the Gibbs classifier and of the vote to the projection "
        "of the "
        "truth, on the test set.",
        alt=f"Wrong agreement and distances to the projection of the random runs of {names}, over the share of the "
        "budget.",
    )  # fmt: skip
    blocks: tuple[Block, ...] = (figure,)
    return Part("Random samples, dataset by dataset", _HOW, blocks)


def _curves(found: Sequence[Judged], what: str) -> tuple[Curve, ...]:
    out = []
    for place, one in enumerate(found):
        runs = [run for run in one.level.runs if run.method == "random"]
        curve = averaged(
            runs, lambda run: run.series("test", what), one.group.title, _DATASET_STYLES[place % len(_DATASET_STYLES)]
        )
        if curve is not None:
            out.append(replace(curve, x=100 * curve.x / max(run.record.budget for run in runs)))
    return tuple(out)
