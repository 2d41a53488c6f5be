"""The paper's two tables: final accuracy and diameter on the test set, one column per dataset."""

from collections.abc import Sequence

from versionspace.report.compare import Comparison
from versionspace.report.document import Block, Column, ReportSection, Table, Value
from versionspace.report.groups import family_rules, sort_methods
from versionspace.report.paper import SOURCE
from versionspace.report.plots.style import method_label
from versionspace.report.statistics import SampleMean, sample_mean

_HOW_TO_READ = (
    "Accuracy is the mean over the members of the final ensemble, because the algorithm may return any of them. The "
    "diameter (PWD) is the mean share of test images on which two members differ. The sample standard deviation over "
    "seeds follows ±; a single seed has none. The best mean of each column is bold, which does not imply a significant "
    "difference: see the pairwise comparison."
)


def results_section(comparisons: Sequence[Comparison]) -> ReportSection:
    """Return both tables for all groups, with the paper's results next to groups that use one of its presets."""
    blocks: list[Block] = [
        _results_table("accuracy", "Accuracy on the test set", comparisons),
        _results_table("diameter", "Diameter (pairwise disagreement) on the test set", comparisons),
        *_missing_notes(comparisons),
    ]
    return ReportSection("Final accuracy and diameter", _HOW_TO_READ, tuple(blocks), side_by_side=True)


def best_rows(values: Sequence[Value], better: int, digits: int = 2) -> list[int]:
    """Return the indices of the best mean as printed: several if they tie, none for fewer than two means.

    >>> best_rows([SampleMean(1.001, 0.1, 3), SampleMean(1.004, 0.1, 3), SampleMean(0.5, 0.1, 3)], 1)
    [0, 1]
    """
    means = {i: round(value.mean, digits) for i, value in enumerate(values) if isinstance(value, SampleMean)}
    if len(means) < 2:
        return []
    best = max(means.values(), key=lambda mean: better * mean)
    return [i for i, mean in means.items() if mean == best]


def mean_percentage(shares: object) -> SampleMean | None:
    """Return the mean and deviation of shares, in percent; None if all are NaN."""
    sample = sample_mean(shares)
    if sample is None:
        return None
    return SampleMean(100 * sample.mean, None if sample.deviation is None else 100 * sample.deviation, sample.count)


def _results_table(name: str, title: str, comparisons: Sequence[Comparison]) -> Table:
    accuracy = name == "accuracy"
    better = 1 if accuracy else -1
    methods = sort_methods([method for comparison in comparisons for method in comparison.group.methods])
    columns = [Column("")]
    cells: list[list[Value]] = [["labels", "seeds", *map(method_label, methods)]]
    bold: set[tuple[int, int]] = set()
    for comparison in comparisons:
        set_name = "test" if accuracy else comparison.headline_set
        values = _final_means(comparison.balanced, set_name, "accuracy" if accuracy else "pwd", methods)
        labels = comparison.final_labels if comparison.comparable else None
        cells.append([labels, _seed_count(values), *values])
        if comparison.balanced.is_balanced:
            bold |= {(row + 2, len(columns)) for row in best_rows(values, better)}
        columns.append(Column(comparison.group.title, kind=SampleMean))
        paper = comparison.group.paper
        if paper is not None:
            known = paper.accuracy if accuracy else paper.diameter
            published: list[Value] = [SampleMean(*known[m], paper.runs) if m in known else None for m in methods]
            cells.append([paper.labels, str(paper.runs), *published])
            bold |= {(row + 2, len(columns)) for row in best_rows(published, better)}
            columns.append(Column(f"{comparison.group.title}, paper", kind=SampleMean))
    source = f" Columns marked “paper”: {SOURCE}." if len(columns) > len(comparisons) + 1 else ""
    return Table(
        name=name,
        caption=f"{title}, in percent.{source}",
        columns=tuple(columns),
        rows=tuple(zip(*cells, strict=True)),
        bold=frozenset(bold),
        rules=frozenset({1, *(row + 2 for row in family_rules(methods))}),
    )


def _final_means(comparison: Comparison, set_name: str | None, metric: str, methods: Sequence[str]) -> list[Value]:
    if set_name is None or not comparison.comparable:
        return [None] * len(methods)
    final = comparison.final_values(set_name, metric)
    place = {method: place for place, method in enumerate(comparison.methods)}
    return [mean_percentage(final[:, place[method]]) if method in place else None for method in methods]


def _seed_count(values: Sequence[Value]) -> str | None:
    counts = {value.count for value in values if isinstance(value, SampleMean)}
    if not counts:
        return None
    return str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"


def _missing_notes(comparisons: Sequence[Comparison]) -> list[str]:
    notes = []
    for comparison in comparisons:
        group, title = comparison.group, comparison.group.title
        if not comparison.comparable:
            notes.append(f"{title} has no values here, because nothing can be compared: its chapter says why.")
            continue
        if not comparison.has_metric("test", "accuracy"):
            notes.append(f"{title} has no values in the accuracy table: {comparison.why_no_accuracy}.")
        if comparison.headline_set not in ("test", None):
            reason = "has no test set"
            if group.has_metric("test", "pwd"):
                reason = f"was not measured on its test set at {comparison.final_labels:,} labels"
            notes.append(f"{title} {reason}: its diameter is on the {comparison.headline_set} images.")
        if changes := group.changes_from_paper():
            notes.append(f"{title} was not run with the settings of the paper ({'; '.join(changes)}).")
    return notes
