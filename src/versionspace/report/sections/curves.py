"""Accuracy, diameter and bias over the number of labels."""

from collections.abc import Callable, Sequence

import numpy as np

from versionspace.report.compare import Comparison, common_labels, values_at_labels
from versionspace.report.document import Figure, ReportSection
from versionspace.report.plots.lines import MAX_BANDS, Curve, Panel, line_figure
from versionspace.report.plots.style import DASHED, SOLID, LineStyle, method_label, method_style
from versionspace.report.runs import CampaignRun
from versionspace.types import Floats, Ints

Series = Callable[[CampaignRun], Floats]
"""Returns one value per round of a run."""

_HOW_TO_READ = (
    "Lines are means over seeds, bands one sample standard deviation to either side. There are no bands for a single "
    f"seed, nor for more than {MAX_BANDS} methods, where they would cover the lines. Two methods with the same seed "
    "start from the same labels and the same first ensemble, so the panel of differences removes the variation between "
    "seeds. PWD falls as members come to agree. Wrong agreement is the share of images on which all members agree on a "
    "wrong class; no diameter shows it."
)


def curves_section(comparison: Comparison) -> ReportSection:
    """Return all curves of a group."""
    figures = (_accuracy, _test_set, _pool, _projection, _random_sampling, _without_truth)
    blocks = [block for figure in figures if (block := figure(comparison)) is not None]
    return ReportSection("Learning curves", _HOW_TO_READ, tuple(blocks))


def mean_curve(runs: Sequence[CampaignRun], series: Series, label: str, style: LineStyle) -> Curve | None:
    """Return the mean over runs in percent, with a band of one sample deviation; None if nothing was measured.

    The curve covers the numbers of labels that all runs reached.
    """
    kept = [run for run in runs if not np.isnan(series(run)).all()]
    counts, _ = common_labels([run.labels for run in kept])
    if not len(counts):
        return None
    values = 100 * np.array([values_at_labels(run.labels, series(run), counts) for run in kept])
    return _with_band(label, style, counts, values)


def _with_band(label: str, style: LineStyle, x: Ints, values: Floats) -> Curve:
    middle = values.mean(axis=0)
    if len(values) < 2:
        return Curve(label, style, x, middle)
    deviation = values.std(axis=0, ddof=1)
    return Curve(label, style, x, middle, middle - deviation, middle + deviation)


def _method_curves(comparison: Comparison, series: Series) -> tuple[Curve, ...]:
    curves = []
    for method in comparison.balanced.methods:
        runs = [run for run in comparison.balanced.runs if run.method == method]
        curve = mean_curve(runs, series, method_label(method), method_style(method))
        if curve is not None:
            curves.append(curve)
    return tuple(curves)


def _difference_curves(comparison: Comparison) -> tuple[Curve, ...]:
    """Return each method's accuracy minus that of random with the same seed, over every seed that both have."""
    methods = comparison.methods
    if "random" not in methods or len(methods) < 2:
        return ()
    values = 100 * comparison.values("test", "accuracy")
    base = values[:, methods.index("random")]
    curves = []
    for place, method in enumerate(methods):
        differences = values[:, place] - base
        differences = differences[~np.isnan(differences).any(axis=1)]
        if method != "random" and len(differences):
            curves.append(_with_band(method_label(method), method_style(method), comparison.labels, differences))
    return tuple(curves)


def _accuracy(comparison: Comparison) -> Figure | str:
    curves = _method_curves(comparison, _series("test", "accuracy"))
    if not curves:
        return f"There is no accuracy curve: {comparison.why_no_accuracy}."
    panels = [Panel("Accuracy", "accuracy on the test set (%)", curves)]
    differences = _difference_curves(comparison)
    if differences:
        title = "Difference to Random, same seed"
        panels.append(Panel(title, "difference (percentage points)", differences, baseline=0.0))
    return line_figure(
        f"{comparison.group.name}-accuracy", panels, mark=_mark(comparison, curves),
        caption=f"{comparison.group.title}: mean accuracy of the members on the test set."
        + (" On the right, the difference to Random with the same seed." if differences else ""),
        alt=_alt("Accuracy on the test set", curves),
    )  # fmt: skip


def _test_set(comparison: Comparison) -> Figure | None:
    return _metric_figure(
        comparison, "test", "test",
        (("Diameter", "PWD on the test set (%)", "pwd"),
         ("Bias", "wrong agreement on the test set (%)", "wrong_agreement")),
        "pairwise disagreement and wrong agreement on the test set.",
    )  # fmt: skip


def _pool(comparison: Comparison) -> Figure | str:
    figure = _metric_figure(
        comparison, "pool", "pool",
        (("Error", "error on the pool (%)", "error"), ("Diameter", "PWD on the pool (%)", "pwd"),
         ("Bias", "wrong agreement on the pool (%)", "wrong_agreement")),
        "error, pairwise disagreement and wrong agreement on the whole pool, including queried images.",
    )  # fmt: skip
    return figure or "There are no curves on the pool: it was not measured (measure.pool)."


def _projection(comparison: Comparison) -> Figure | None:
    return _metric_figure(
        comparison, "test", "projection",
        (("Gibbs classifier: a random member", "distance to the projection (%)", "gibbs_distance"),
         ("Vote of all members", "distance to the projection (%)", "vote_distance")),
        "distance of the Gibbs classifier and of the vote to the projection of the truth on the test set, that is, the "
        "error on images on which members differ. Error = wrong agreement + this distance.", share_y=True,
    )  # fmt: skip


def _random_sampling(comparison: Comparison) -> Figure | str | None:
    runs = [run for run in comparison.balanced.runs if run.method == "random"]
    if not runs:
        return "The bias under random sampling is not shown: no run of random is compared."
    styles = (
        ("wrong agreement", "wrong_agreement", LineStyle("vermilion", SOLID, "o")),
        ("Gibbs distance to the projection", "gibbs_distance", LineStyle("blue", SOLID, "^")),
        ("vote distance to the projection", "vote_distance", LineStyle("sky", DASHED, "s")),
    )
    found = (mean_curve(runs, _series("test", metric), label, style) for label, metric, style in styles)
    curves = tuple(curve for curve in found if curve is not None)
    if not curves:
        return None
    return line_figure(
        f"{comparison.group.name}-random",
        [Panel("Random", "share of the test set (%)", curves, y_limits=(0, None))],
        caption=f"{comparison.group.title}: version spaces under random sampling. Wrong agreement is their bias. The "
        "vote is closer to the projection than a random member where voting corrects mistakes.",
        alt=_alt("Wrong agreement and distances to the projection under random sampling", curves),
    )  # fmt: skip


def _without_truth(comparison: Comparison) -> Figure | None:
    """Return what is known without a labelled test set: the diameter on the reference, and the audit."""
    if comparison.group.has_metric("test", "accuracy"):
        return None
    diameter = _method_curves(comparison, lambda run: run.round_metric("diameter"))
    panels = [Panel("Diameter", "PWD on the reference set (%)", diameter, y_limits=(0, None))] if diameter else []
    several = len(comparison.seeds) > 1
    audits = tuple(c for run in comparison.runs if (c := _audit_curve(run, several)) is not None)
    if audits:
        panels.append(Panel("Audit", "accuracy of the vote on the audit (%)", audits))
    if not panels:
        return None
    return line_figure(
        f"{comparison.group.name}-person", panels,
        caption=f"{comparison.group.title}: what is known without a labelled test set. The band of the audit holds for "
        "all rounds at once.",
        alt=_alt("Diameter on the reference set and accuracy on the audit", diameter),
    )  # fmt: skip


def _audit_curve(run: CampaignRun, several_seeds: bool) -> Curve | None:
    accuracy = run.audit_metric("accuracy")
    known = ~np.isnan(accuracy)
    if not known.any():
        return None
    middle, low, high = (100 * run.audit_metric(name)[known] for name in ("accuracy", "low", "high"))
    label = f"{method_label(run.method)}, seed {run.seed}" if several_seeds else method_label(run.method)
    return Curve(label, method_style(run.method), run.labels[known], middle, low, high)


def _metric_figure(
    comparison: Comparison, set_name: str, name: str, metrics: Sequence[tuple[str, str, str]], caption: str,
    share_y: bool = False,
) -> Figure | None:  # fmt: skip
    """Return a panel for each (title, axis label, metric) that was measured; None if none was."""
    panels = []
    for title, axis, metric in metrics:
        curves = _method_curves(comparison, _series(set_name, metric))
        if curves:
            panels.append(Panel(title, axis, curves, y_limits=(0, None)))
    if not panels:
        return None
    return line_figure(
        f"{comparison.group.name}-{name}", panels, mark=_mark(comparison, panels[0].curves), share_y=share_y,
        caption=f"{comparison.group.title}: {caption}", alt=_alt(caption.rstrip("."), panels[0].curves),
    )  # fmt: skip


def _series(set_name: str, metric: str) -> Series:
    if metric == "error":
        return lambda run: 1.0 - run.set_metric(set_name, "accuracy")
    return lambda run: run.set_metric(set_name, metric)


def _mark(comparison: Comparison, curves: Sequence[Curve]) -> int | None:
    """Return the labels at which runs are compared if some curve extends further."""
    if all(curve.x[-1] == comparison.final_labels for curve in curves):
        return None
    return comparison.final_labels


def _alt(what: str, curves: Sequence[Curve]) -> str:
    ends = [f"{curve.label} from {curve.middle[0]:.1f}% to {curve.middle[-1]:.1f}%" for curve in curves]
    return f"{what[0].upper()}{what[1:]}, over labels: {'; '.join(ends)}."
