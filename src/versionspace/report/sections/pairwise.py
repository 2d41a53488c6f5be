"""Method against method over seeds: differences with intervals, and who wins how often."""

from collections.abc import Sequence

from versionspace.report.document import Block, Column, Part, Table, Value
from versionspace.report.plots.bars import Difference, forest
from versionspace.report.plots.style import method_label, method_style
from versionspace.report.sections.final import areas
from versionspace.report.sections.results import Judged
from versionspace.report.statistics import BOOTSTRAP_FROM, Interval, Pair, pairs
from versionspace.types import Floats

_HOW = (
    "Two methods are compared seed by seed, because the same seed gives both the same start. The interval is "
    "Student's, at 95% for one comparison by itself. The test is Wilcoxon's signed-rank test, exact and two-sided; "
    "pairs that are equal are left out, as Wilcoxon did. Holm's correction makes up for looking at every pair of "
    "methods at once. With few seeds the test cannot give a small p whatever the data: the smallest it could give "
    "stands beside it, and where that is above 0.05, “not significant” says nothing about the methods. Look at the "
    "differences and their intervals instead, and trust an interval of three or four seeds little: its width is a "
    "guess from as few numbers."
)


def comparison(one: Judged) -> Part:
    """Accuracy, area and diameter at the end, compared."""
    title = "Method against method"
    methods = one.compared.methods
    if len(methods) < 2:
        return Part(title, _HOW, ("There is one method only among the runs that are compared: no differences.",))
    blocks: list[Block] = []
    for what, name, matrix, better in _measures(one):
        found = pairs(matrix, methods, better=better)
        if not found:
            blocks.append(f"{what}: no two methods have a seed in common, so no difference is paired.")
            continue
        blocks += _blocks(one, what, name, found, better)
    if not blocks:
        blocks.append("Nothing was measured that could be compared.")
    return Part(title, _HOW, tuple(blocks))


def sentence(found: Sequence[Pair], what: str) -> str:
    """What can and cannot be said, with the smallest p that so few seeds could reach."""
    tests = [pair.test for pair in found]
    smallest, most = min(test.smallest for test in tests), max(test.pairs for test in tests)
    corrected = min(1.0, len(found) * smallest)
    sure = [pair for pair in found if pair.holm <= 0.05]
    seeds = f"{most} pair{'s' * (most != 1)} that differ{'s' * (most == 1)}"
    family = f"; after Holm's correction for {len(found)} comparisons, {corrected:.3g}" if len(found) > 1 else ""
    reach = f"{what}: with at most {seeds}, the smallest p that could be reached is {smallest:.3g}{family}."
    if corrected > 0.05:
        return (
            f"{reach} So no difference could be significant at 5% here, however large: that takes "
            f"{pairs_needed(len(found))} pairs that differ, or more."
        )
    if not sure:
        return f"{reach} No difference is significant at 5%."
    named = ", ".join(f"{method_label(pair.one)} and {method_label(pair.other)}" for pair in sure)
    return f"{reach} Significantly different at 5%: {named}."


def pairs_needed(comparisons: int, level: float = 0.05) -> int:
    """The fewest pairs that differ for one of so many comparisons to be significant: comparisons · 2/2ⁿ ≤ level.

    Seeds on which two methods tie are no such pairs.

    >>> pairs_needed(1), pairs_needed(36)
    (6, 11)
    """
    n = 1
    while comparisons * 2 / 2**n > level:
        n += 1
    return n


def _measures(one: Judged) -> list[tuple[str, str, Floats, int]]:
    out: list[tuple[str, str, Floats, int]] = []
    if one.measured("test", "accuracy"):
        out.append(("Accuracy", "accuracy", one.compared.final("test", "accuracy"), 1))
        if len(one.compared.labels) > 1:
            out.append(("Area under the accuracy curve", "area", areas(one.compared), 1))
    if one.where is not None:
        out.append(("Diameter (PWD)", "pwd", one.compared.final(one.where, "pwd"), -1))
    return out


def _blocks(one: Judged, what: str, name: str, found: tuple[Pair, ...], better: int) -> list[Block]:
    blocks: list[Block] = []
    file = f"{one.group.name}-{name}"
    base = "random" if "random" in one.compared.methods else one.compared.methods[0]
    rows = [_against(pair, base) for pair in found if base in (pair.one, pair.other)]
    said = sentence(found, what)
    if rows:
        blocks.append(
            forest(
                f"{file}-differences", rows, x=f"{_lower(what)}, minus that of {method_label(base)} (percentage points)",
                caption=f"{one.group.title}, at {one.compared.end:,} labels: {_lower(what)} minus that of {method_label(base)}"
                f" with the same seed. Dots are seeds, the upright bar their mean{_line(rows)}.",
                alt="; ".join(f"{row.label} {row.mean:+.2f}" for row in rows) + " percentage points.",
            )
        )  # fmt: skip
    blocks += [said, _matrix(one, what, file, found, better), _listed(one, what, file, found)]
    return blocks


def _line(rows: Sequence[Difference]) -> str:
    known = any(row.interval is not None for row in rows)
    return ", the line its 95% interval (Student's t)" if known else "; one seed has no interval"


def _lower(what: str) -> str:
    return what[0].lower() + what[1:]


def _against(pair: Pair, base: str) -> Difference:
    sign = 1 if pair.other == base else -1
    other = pair.one if sign == 1 else pair.other
    interval = pair.interval
    if interval is not None:
        low, high = sorted((100 * sign * interval.low, 100 * sign * interval.high))
        interval = Interval(low, high)
    return Difference(
        method_label(other), method_style(other), 100 * sign * pair.differences, 100 * sign * pair.mean, interval
    )


def _matrix(one: Judged, what: str, file: str, found: tuple[Pair, ...], better: int) -> Table:
    """Rows against columns: seeds won – tied – lost, and the corrected p."""
    methods = one.compared.methods
    cells = {(pair.one, pair.other): _cell(pair.wins, pair.ties, pair.losses, pair.holm) for pair in found}
    cells |= {(pair.other, pair.one): _cell(pair.losses, pair.ties, pair.wins, pair.holm) for pair in found}
    won = {m: sum(p.wins if p.one == m else p.losses for p in found if m in (p.one, p.other)) for m in methods}
    lost = {m: sum(p.losses if p.one == m else p.wins for p in found if m in (p.one, p.other)) for m in methods}
    rows = tuple(
        (method_label(row), *(cells.get((row, column)) for column in methods), f"{won[row]}–{lost[row]}")
        for row in methods
    )
    columns = (
        Column("row against column"),
        *(Column(method_label(method)) for method in methods),
        Column("all, won–lost"),
    )
    return Table(
        f"{file}-wins",
        f"{one.group.title}, {_lower(what)} at {one.compared.end:,} labels: seeds on which the row's method is better "
        "than the "
        f"column's ({'larger' if better > 0 else 'smaller'} is better), won–lost, or won–tied–lost where some tie; in "
        "brackets Wilcoxon's p after Holm's correction.",
        columns, rows,
    )  # fmt: skip


def _cell(wins: int, ties: int, losses: int, p: float) -> str:
    score = f"{wins}–{ties}–{losses}" if ties else f"{wins}–{losses}"
    return f"{score} ({p:.2g})"


def _listed(one: Judged, what: str, file: str, found: tuple[Pair, ...]) -> Table:
    """Every pair in numbers."""
    boot = any(pair.bootstrap is not None for pair in found)
    columns = [
        Column("method"), Column("minus"), Column("seeds", kind=float),
        Column("difference (points)", signed=True, kind=float),
        Column("95% interval, t", signed=True, kind=Interval),
        *([Column("95% interval, bootstrap", signed=True, kind=Interval)] if boot else []),
        Column("p, Wilcoxon", digits=3, kind=float), Column("smallest p possible", digits=3, kind=float),
        Column("p after Holm", digits=3, kind=float),
    ]  # fmt: skip
    rows = []
    for pair in found:
        row: list[Value] = [method_label(pair.one), method_label(pair.other), len(pair.differences), 100 * pair.mean]
        row.append(_percent(pair.interval))
        row += [_percent(pair.bootstrap)] if boot else []
        row += [pair.test.p, pair.test.smallest, pair.holm]
        rows.append(tuple(row))
    without = "" if boot else f" Bootstrap intervals are given from {BOOTSTRAP_FROM} seeds on."
    return Table(
        f"{file}-pairs",
        f"{one.group.title}: paired differences in {_lower(what)} at {one.compared.end:,} labels, in percentage "
        f"points.{without}",
        tuple(columns), tuple(rows), folded=len(rows) > 6,
    )  # fmt: skip


def _percent(interval: Interval | None) -> Interval | None:
    return None if interval is None else Interval(100 * interval.low, 100 * interval.high)
