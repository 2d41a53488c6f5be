"""The paper's two tables: accuracy and diameter on the test set at the end, one column a dataset."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from versionspace.report.compare import Compared
from versionspace.report.document import Block, Column, Part, Table, Value
from versionspace.report.groups import Group, ordered
from versionspace.report.paper import SOURCE
from versionspace.report.plots.style import method_label
from versionspace.report.statistics import Spread, spread

_HOW = (
    "Accuracy is the mean over the members of the final ensemble, because the algorithm returns any one of them; the "
    "diameter (PWD) is the share of test images on which two members differ, on average. Behind ± is the sample "
    "deviation over seeds; a single seed has none. Bold is the best mean of its column, which is not yet a "
    "significant difference: see the comparison below."
)


@dataclass(frozen=True)
class Judged:
    """A group, the runs that are compared, and on which images a diameter is measured."""

    group: Group
    compared: Compared

    @property
    def level(self) -> Compared:
        """What is compared over the same seeds: for means, where they are not paired."""
        return self.compared.level

    @property
    def where(self) -> str | None:
        """The set on which PWD is shown: test, or what there is."""
        sets = ("test", "validation", "reference", "pool")
        return next((name for name in sets if self.measured(name, "pwd")), None)

    def measured(self, where: str, what: str) -> bool:
        """Whether any compared run has this metric where they are compared."""
        return self.comparable and not bool(np.isnan(self.compared.final(where, what)).all())

    @property
    def comparable(self) -> bool:
        """Whether there is a number of labels at which runs are compared; without one no part knows what is missing."""
        return bool(len(self.compared.labels))

    @property
    def lacking(self) -> str:
        """What is not there where no accuracy is measured."""
        if self.group.has("test", "accuracy"):
            return f"no accuracy that was measured at {self.compared.end:,} labels"
        return "no test set whose classes are known"


def results(found: Sequence[Judged]) -> Part:
    """Both tables over all groups, and beside each the paper's own figures where its preset is the paper's."""
    blocks: list[Block] = [_table(found, "accuracy"), _table(found, "pwd"), *_missing(found)]
    return Part("Accuracy and diameter at the end", _HOW, tuple(blocks), beside=True)


def _table(found: Sequence[Judged], what: str) -> Table:
    rows = ordered([name for one in found for name in one.group.methods])
    names = [name for group in rows for name in group]
    columns = [Column("")]
    cells: list[list[Value]] = [["labels", "seeds", *(method_label(name) for name in names)]]
    bold: set[tuple[int, int]] = set()
    for one in found:
        where = "test" if what == "accuracy" else one.where
        values = _spreads(one, where, what, names)
        cells.append([_end(one), _seeds(values), *values])
        columns.append(Column(one.group.title, kind=Spread))
        top = best(values, 1 if what == "accuracy" else -1) if one.level.even else ()
        bold |= {(row + 2, len(columns) - 1) for row in top}
        paper = one.group.paper
        if paper is not None:
            figures = paper.accuracy if what == "accuracy" else paper.diameter
            theirs: list[Value] = [Spread(*figures[name], paper.runs) if name in figures else None for name in names]
            cells.append([paper.labels, str(paper.runs), *theirs])
            columns.append(Column(f"{one.group.title}, paper", kind=Spread))
            bold |= {(row + 2, len(columns) - 1) for row in best(theirs, 1 if what == "accuracy" else -1)}
    ends = np.cumsum([len(group) for group in rows])[:-1]
    beside = f" Columns “paper”: {SOURCE}." if len(columns) > len(found) + 1 else ""
    title = "Accuracy on the test set" if what == "accuracy" else "Diameter (pairwise disagreement) on the test set"
    return Table(
        name="accuracy" if what == "accuracy" else "diameter",
        caption=f"{title}, in percent.{beside}",
        columns=tuple(columns),
        rows=tuple(zip(*cells, strict=True)),
        bold=frozenset(bold),
        rules=frozenset({1, *(int(end) + 1 for end in ends)}),
    )


def best(values: Sequence[Value], better: int, digits: int = 2) -> list[int]:
    """Places of the best mean as it is printed; all of them where printed means tie, none where nothing is compared.

    >>> best([Spread(1.001, 0.1, 3), Spread(1.004, 0.1, 3), Spread(0.5, 0.1, 3)], 1)
    [0, 1]
    """
    means = {i: round(value.mean, digits) for i, value in enumerate(values) if isinstance(value, Spread)}
    if len(means) < 2:
        return []
    top = max(means.values(), key=lambda mean: better * mean)
    return [i for i, mean in means.items() if mean == top]


def percent(values: object) -> Spread | None:
    """Mean and deviation of shares, in percent."""
    found = spread(values)
    if found is None:
        return None
    return Spread(100 * found.mean, None if found.deviation is None else 100 * found.deviation, found.count)


def _spreads(one: Judged, where: str | None, what: str, names: Sequence[str]) -> list[Value]:
    compared = one.level
    if where is None or not one.comparable:
        return [None] * len(names)
    final = compared.final(where, what)
    return [percent(final[:, compared.methods.index(n)]) if n in compared.methods else None for n in names]


def _end(one: Judged) -> int | None:
    return one.compared.end if one.comparable else None


def _seeds(values: Sequence[Value]) -> str | None:
    counts = {value.count for value in values if isinstance(value, Spread)}
    if not counts:
        return None
    return str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"


def _missing(found: Sequence[Judged]) -> list[str]:
    out = []
    for one in found:
        title = one.group.title
        if not one.comparable:
            out.append(f"{title} has no figures here, because nothing is compared: its section says why.")
            continue
        if not one.measured("test", "accuracy"):
            out.append(f"{title} has {one.lacking}, so its accuracy is not in the table.")
        if one.where not in ("test", None):
            why = f"was not measured on its test set at {one.compared.end:,} labels"
            why = why if one.group.has("test", "pwd") else "has no test set"
            out.append(f"{title} {why}: its diameter is that on the {one.where} images.")
        if changed := one.group.changed():
            out.append(f"{title} was not run as in the paper, whose figures stand beside it ({'; '.join(changed)}).")
    return out
