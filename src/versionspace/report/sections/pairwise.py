"""Methods compared in pairs, seed by seed: differences with intervals, wins and losses, and tests."""

from collections.abc import Sequence

from versionspace.report.compare import Comparison
from versionspace.report.document import Block, Column, Figure, ReportSection, Table, Value
from versionspace.report.plots.bars import ForestRow, forest_plot
from versionspace.report.plots.style import method_label, method_style
from versionspace.report.sections.final import accuracy_areas
from versionspace.report.statistics import BOOTSTRAP_FROM, Interval, PairedComparison, compare_pairs
from versionspace.types import Floats

_HOW_TO_READ = (
    "Two methods are compared seed by seed, because runs with the same seed have the same start. Intervals are 95% "
    "Student t intervals of a single comparison. The test is Wilcoxon's signed-rank test, exact and two-sided; equal "
    "pairs are dropped, as Wilcoxon did. Holm's correction accounts for testing every pair of methods. With few seeds "
    "no data can give a small p: the smallest possible p is listed, and if it is above 0.05, “not significant” says "
    "nothing about the methods. Look at the differences and their intervals instead, and do not rely on intervals from "
    "three or four seeds: their width is estimated from as few numbers."
)


def pairwise_section(comparison: Comparison) -> ReportSection:
    """Return comparisons of final accuracy, area under the accuracy curve, and diameter."""
    title = "Pairwise comparison"
    if len(comparison.methods) < 2:
        return ReportSection(title, _HOW_TO_READ, ("There are no differences: only one method is compared.",))
    blocks: list[Block] = []
    for metric, name, values_RK, better in _metrics(comparison):
        pairs = compare_pairs(values_RK, comparison.methods, better=better)
        if pairs:
            blocks += _blocks(comparison, metric, f"{comparison.group.name}-{name}", pairs, better)
        else:
            blocks.append(f"{metric}: there are no paired differences, because no two methods have a seed in common.")
    if not blocks:
        blocks.append("There is no metric to compare.")
    return ReportSection(title, _HOW_TO_READ, tuple(blocks))


def significance(pairs: Sequence[PairedComparison], metric: str) -> str:
    """Return which differences are significant at 5%, or that so few seeds could not show any."""
    tests = [pair.test for pair in pairs]
    smallest, most = min(test.smallest_p for test in tests), max(test.pairs for test in tests)
    corrected = min(1.0, len(pairs) * smallest)
    count = f"{most} differing pair{'s' * (most != 1)}"
    family = f", or {corrected:.3g} after Holm's correction for {len(pairs)} comparisons" if len(pairs) > 1 else ""
    start = f"{metric}: with at most {count}, the smallest possible p is {smallest:.3g}{family}."
    if corrected > 0.05:
        return (
            f"{start} No difference could be significant at 5%, however large; that requires at least "
            f"{pairs_needed(len(pairs))} differing pairs."
        )
    significant = [pair for pair in pairs if pair.holm_p <= 0.05]
    if not significant:
        return f"{start} No difference is significant at 5%."
    named = ", ".join(f"{method_label(pair.first)} and {method_label(pair.second)}" for pair in significant)
    return f"{start} Significantly different at 5%: {named}."


def pairs_needed(comparisons: int, level: float = 0.05) -> int:
    """Return the fewest differing pairs with which one of this many comparisons can be significant.

    The smallest n with comparisons · 2/2ⁿ ≤ level. Seeds on which two methods tie do not count.

    >>> pairs_needed(1), pairs_needed(36)
    (6, 11)
    """
    n = 1
    while comparisons * 2 / 2**n > level:
        n += 1
    return n


def _metrics(comparison: Comparison) -> list[tuple[str, str, Floats, int]]:
    """Return title, file name, values (R, K), and 1 if larger is better or −1 if smaller is."""
    metrics: list[tuple[str, str, Floats, int]] = []
    if comparison.has_metric("test", "accuracy"):
        metrics.append(("Accuracy", "accuracy", comparison.final_values("test", "accuracy"), 1))
        if len(comparison.labels) > 1:
            metrics.append(("Area under the accuracy curve", "area", accuracy_areas(comparison), 1))
    if comparison.headline_set is not None:
        metrics.append(("Diameter (PWD)", "pwd", comparison.final_values(comparison.headline_set, "pwd"), -1))
    return metrics


def _blocks(
    comparison: Comparison, metric: str, file: str, pairs: tuple[PairedComparison, ...], better: int
) -> list[Block]:
    base = "random" if "random" in comparison.methods else comparison.methods[0]
    rows = [_forest_row(pair, base) for pair in pairs if base in (pair.first, pair.second)]
    return [
        *([_difference_figure(comparison, metric, file, method_label(base), rows)] if rows else []),
        significance(pairs, metric),
        _wins_table(comparison, metric, file, pairs, better),
        _pairs_table(comparison, metric, file, pairs),
    ]


def _difference_figure(comparison: Comparison, metric: str, file: str, base: str, rows: list[ForestRow]) -> Figure:
    intervals = any(row.interval is not None for row in rows)
    return forest_plot(
        f"{file}-differences", rows, x=f"{_lower(metric)}, difference to {base} (percentage points)",
        caption=f"{comparison.group.title}: {_lower(metric)} at {comparison.final_labels:,} labels, difference to "
        f"{base} with the same seed. Dots are seeds, vertical bars their means"
        + (", horizontal lines 95% intervals (Student's t)." if intervals else "; one seed has no interval."),
        alt="; ".join(f"{row.label} {row.mean:+.2f}" for row in rows) + " percentage points.",
    )  # fmt: skip


def _forest_row(pair: PairedComparison, base: str) -> ForestRow:
    sign = 1 if pair.second == base else -1
    method = pair.first if sign == 1 else pair.second
    interval = _in_percent(pair.interval)
    if interval is not None and sign == -1:
        interval = Interval(-interval.high, -interval.low)
    differences = 100 * sign * pair.differences
    return ForestRow(method_label(method), method_style(method), differences, 100 * sign * pair.mean, interval)


def _lower(metric: str) -> str:
    return metric[0].lower() + metric[1:]


def _wins_table(
    comparison: Comparison, metric: str, file: str, pairs: tuple[PairedComparison, ...], better: int
) -> Table:
    """Return a matrix of rows against columns: seeds won, tied and lost, and the corrected p."""
    methods = comparison.methods
    cells: dict[tuple[str, str], str] = {}
    won, lost = dict.fromkeys(methods, 0), dict.fromkeys(methods, 0)
    for pair in pairs:
        for row, column, wins, losses in (
            (pair.first, pair.second, pair.wins, pair.losses),
            (pair.second, pair.first, pair.losses, pair.wins),
        ):
            score = f"{wins}–{pair.ties}–{losses}" if pair.ties else f"{wins}–{losses}"
            cells[row, column] = f"{score} ({pair.holm_p:.2g})"
            won[row] += wins
            lost[row] += losses
    rows = tuple(
        (method_label(row), *(cells.get((row, column)) for column in methods), f"{won[row]}–{lost[row]}")
        for row in methods
    )
    titles = ("method", *map(method_label, methods), "total")
    return Table(
        f"{file}-wins",
        f"{comparison.group.title}: {_lower(metric)} at {comparison.final_labels:,} labels. Seeds on which the method "
        f"of the row is better than that of the column ({'larger' if better > 0 else 'smaller'} is better): won–lost, "
        "or won–tied–lost if some tie; in brackets, Wilcoxon's p after Holm's correction. The total is won–lost over "
        "all columns.",
        tuple(Column(title) for title in titles), rows,
    )  # fmt: skip


def _pairs_table(comparison: Comparison, metric: str, file: str, pairs: tuple[PairedComparison, ...]) -> Table:
    """Return one row of numbers per pair."""
    bootstrap = any(pair.bootstrap is not None for pair in pairs)
    columns = [
        Column("method"), Column("minus"), Column("seeds", kind=float),
        Column("difference (points)", signed=True, kind=float),
        Column("95% interval, t", signed=True, kind=Interval),
        *([Column("95% interval, bootstrap", signed=True, kind=Interval)] if bootstrap else []),
        Column("p, Wilcoxon", digits=3, kind=float), Column("smallest possible p", digits=3, kind=float),
        Column("p after Holm", digits=3, kind=float),
    ]  # fmt: skip
    rows = []
    for pair in pairs:
        row: list[Value] = [method_label(pair.first), method_label(pair.second), len(pair.differences), 100 * pair.mean]
        row.append(_in_percent(pair.interval))
        row += [_in_percent(pair.bootstrap)] if bootstrap else []
        row += [pair.test.p, pair.test.smallest_p, pair.holm_p]
        rows.append(tuple(row))
    missing = "" if bootstrap else f" Bootstrap intervals require at least {BOOTSTRAP_FROM} seeds."
    return Table(
        f"{file}-pairs",
        f"{comparison.group.title}: paired differences in {_lower(metric)} at {comparison.final_labels:,} labels, in "
        f"percentage points.{missing}",
        tuple(columns), tuple(rows), collapsed=len(rows) > 6,
    )  # fmt: skip


def _in_percent(interval: Interval | None) -> Interval | None:
    return None if interval is None else Interval(100 * interval.low, 100 * interval.high)
