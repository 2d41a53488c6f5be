"""All metrics at the end, and the error of a random member split into two parts."""

from collections.abc import Sequence

import numpy as np

from versionspace.report.compare import Comparison
from versionspace.report.document import Block, Column, Figure, ReportSection, Table, Value
from versionspace.report.groups import family_rules, sort_methods
from versionspace.report.plots.bars import BarPart, stacked_bars
from versionspace.report.plots.style import HUES, method_label
from versionspace.report.sections.results import best_rows, mean_percentage
from versionspace.report.statistics import SampleMean, area
from versionspace.types import Floats

_HOW_TO_READ = (
    "The error of a random member is exactly the sum of two parts. Wrong agreement: all members agree on a wrong "
    "class, so disagreement no longer points to the error. Gibbs distance: members differ and this one is wrong; a "
    "smaller version space reduces it, and the vote is often right where a member is not. The area under the accuracy "
    "curve is the mean accuracy over the compared range of labels."
)
_METRICS: tuple[tuple[str, str, int], ...] = (
    ("accuracy", "accuracy", 1),
    ("vote accuracy", "vote_accuracy", 1),
    ("PWD", "pwd", -1),
    ("wrong agreement", "wrong_agreement", -1),
    ("Gibbs distance", "gibbs_distance", -1),
    ("vote distance", "vote_distance", -1),
)
"""Column title, metric, and 1 if larger is better or −1 if smaller is."""


def final_section(comparison: Comparison) -> ReportSection:
    """Return the table of final metrics and bars of the two parts of the error."""
    table = final_table(comparison)
    blocks: list[Block]
    if table is None:
        blocks = [f"Nothing was measured at {comparison.final_labels:,} labels."]
    elif comparison.has_metric("test", "wrong_agreement"):
        blocks = [table, _error_figure(comparison)]
    else:
        blocks = [table, f"The error cannot be split: {comparison.why_no_accuracy}."]
    return ReportSection("Final metrics and error", _HOW_TO_READ, tuple(blocks))


def final_table(comparison: Comparison) -> Table | None:
    """Return one row per method with all metrics where the runs are compared; None if nothing was measured there."""
    set_name = comparison.headline_set
    if set_name is None:
        return None
    balanced = comparison.balanced
    methods = sort_methods(balanced.methods)
    places = [balanced.methods.index(method) for method in methods]
    seeds = (~np.isnan(balanced.final_values(set_name, "pwd"))).sum(axis=0)
    columns = [Column("method"), Column("seeds", kind=float)]
    cells: list[list[Value]] = [[method_label(method) for method in methods], [int(seeds[place]) for place in places]]
    bold: set[tuple[int, int]] = set()
    metrics = [(title, balanced.final_values(set_name, metric), better) for title, metric, better in _METRICS]
    for title, values_RK, better in (*metrics, ("area under curve", accuracy_areas(balanced), 1)):
        means: list[Value] = [mean_percentage(values_RK[:, place]) for place in places]
        if any(mean is not None for mean in means):
            bold |= {(row, len(columns)) for row in best_rows(means, better) if balanced.is_balanced}
            columns.append(Column(title, kind=SampleMean))
            cells.append(means)
    return Table(
        f"{comparison.group.name}-end",
        f"{comparison.group.title}: metrics on the {set_name} set at {balanced.final_labels:,} labels, in percent; "
        f"area under the accuracy curve from {int(balanced.labels[0]):,} labels.",
        tuple(columns), tuple(zip(*cells, strict=True)), frozenset(bold), family_rules(methods),
    )  # fmt: skip


def accuracy_areas(comparison: Comparison) -> Floats:
    """Return (R, K) the area under the accuracy curve of each run, divided by the range of labels."""
    curves = comparison.values("test", "accuracy")
    areas = np.full(curves.shape[:2], np.nan)
    for place in np.ndindex(*areas.shape):
        found = area(comparison.labels, curves[place])
        areas[place] = np.nan if found is None else found
    return areas


def _error_figure(comparison: Comparison) -> Figure:
    balanced = comparison.balanced
    methods = sort_methods(balanced.methods)
    labels = [method_label(method) for method in methods]
    places = [balanced.methods.index(method) for method in methods]
    wrong = _mean_percentages(balanced.final_values("test", "wrong_agreement"), places)
    distance = _mean_percentages(balanced.final_values("test", "gibbs_distance"), places)
    listed = [f"{label} {w:.1f}% and {d:.1f}%" for label, w, d in zip(labels, wrong, distance, strict=True)]
    return stacked_bars(
        f"{comparison.group.name}-error", labels,
        (BarPart("wrong agreement", HUES["vermilion"].light, "", wrong),
         BarPart("Gibbs distance to the projection", HUES["sky"].light, "///", distance)),
        x="error of a random member on the test set (%)", digits=2,
        caption=f"{comparison.group.title}: the two parts of the error of a random member at {balanced.final_labels:,} "
        "labels, means over seeds.",
        alt=f"Wrong agreement and Gibbs distance: {'; '.join(listed)}.",
    )  # fmt: skip


def _mean_percentages(values_RK: Floats, places: Sequence[int]) -> tuple[float, ...]:
    """Return the means of these columns over seeds, in percent; 0 if there is no value."""
    means = (mean_percentage(values_RK[:, place]) for place in places)
    return tuple(0.0 if mean is None else mean.mean for mean in means)
