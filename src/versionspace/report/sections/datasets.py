"""All datasets in one figure: the bias of version spaces under random sampling, as in the paper."""

from collections.abc import Sequence
from dataclasses import replace

from versionspace.report.compare import Comparison
from versionspace.report.document import ReportSection
from versionspace.report.plots.lines import Curve, Panel, line_figure
from versionspace.report.plots.style import DASH_DOT, DASHED, DOTTED, SOLID, LineStyle
from versionspace.report.sections.curves import mean_curve

_HOW_TO_READ = (
    "Only runs of Random are shown: version spaces whose samples no method chose. The horizontal axis is the share of "
    "each dataset's own label budget. Where wrong agreement stays high, shrinking the version space does not bring its "
    "members closer to the truth."
)
_STYLES = (
    LineStyle("vermilion", SOLID, "o"),
    LineStyle("blue", SOLID, "s"),
    LineStyle("green", DASHED, "^"),
    LineStyle("orange", DASHED, "D"),
    LineStyle("pink", DOTTED, "v"),
    LineStyle("sky", DOTTED, "P"),
    LineStyle("brown", DASH_DOT, "X"),
    LineStyle("ink", DASH_DOT, "*"),
)


def datasets_section(comparisons: Sequence[Comparison]) -> ReportSection | None:
    """Return wrong agreement and both distances to the projection for random; None for fewer than two datasets."""
    panels: list[Panel] = []
    for title, metric in (
        ("Wrong agreement", "wrong_agreement"),
        ("Gibbs distance to the projection", "gibbs_distance"),
        ("Vote distance to the projection", "vote_distance"),
    ):
        curves = _dataset_curves(comparisons, metric)
        if len(curves) > 1:
            axis = "share of the test set (%)" if not panels else ""
            panels.append(Panel(title, axis, curves, y_limits=(0, None)))
    if not panels:
        return None
    names = ", ".join(curve.label for curve in panels[0].curves)
    figure = line_figure(
        "random-across-datasets", panels, x="share of the budget (%)",
        caption="Random sampling: wrong agreement, and the distances of the Gibbs classifier and of the vote to the "
        "projection of the truth, on the test set.",
        alt=f"Wrong agreement and distances to the projection under random sampling on {names}, over the share of the "
        "label budget.",
    )  # fmt: skip
    return ReportSection("Random sampling by dataset", _HOW_TO_READ, (figure,))


def _dataset_curves(comparisons: Sequence[Comparison], metric: str) -> tuple[Curve, ...]:
    curves = []
    for place, comparison in enumerate(comparisons):
        runs = [run for run in comparison.balanced.runs if run.method == "random"]
        style = _STYLES[place % len(_STYLES)]
        curve = mean_curve(runs, lambda run: run.set_metric("test", metric), comparison.group.title, style)
        if curve is not None:
            curves.append(replace(curve, x=100 * curve.x / max(run.record.budget for run in runs)))
    return tuple(curves)
