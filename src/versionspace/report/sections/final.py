"""Where the methods stand at the end: all measures side by side, and the error split in two."""

from collections.abc import Sequence

import numpy as np

from versionspace.report.compare import Compared
from versionspace.report.document import Block, Column, Part, Table, Value
from versionspace.report.groups import ordered
from versionspace.report.plots.bars import Share, stacked
from versionspace.report.plots.style import HUES, method_label
from versionspace.report.sections.results import Judged, best, percent
from versionspace.report.statistics import Spread, area
from versionspace.types import Floats

_HOW = (
    "The error of a random member is exactly the sum of two parts. Wrong agreement: all members agree, and are wrong; "
    "no further disagreement tells the method where to look. Distance: members differ, and this one is wrong; a "
    "smaller version space brings it down, and the vote is often right where a member is not. Area under the curve is "
    "the mean accuracy over the labels that are compared."
)
_MEASURES: tuple[tuple[str, str, int], ...] = (
    ("accuracy", "accuracy", 1),
    ("vote's accuracy", "vote_accuracy", 1),
    ("PWD", "pwd", -1),
    ("wrong agreement", "wrong_agreement", -1),
    ("Gibbs distance", "gibbs_distance", -1),
    ("vote distance", "vote_distance", -1),
)


def ending(one: Judged) -> Part:
    """The table of measures, and bars of the error's two parts."""
    found = measures(one)
    if found is None:
        nothing = f"No images were measured at {one.compared.end:,} labels."
        return Part("The end, and where the error lies", _HOW, (nothing,))
    blocks: list[Block] = [found]
    if one.measured("test", "wrong_agreement"):
        blocks.append(_split(one))
    else:
        blocks.append(f"There is {one.lacking}, so the error cannot be split.")
    return Part("The end, and where the error lies", _HOW, tuple(blocks))


def measures(one: Judged) -> Table | None:
    """One row a method: every measure where the runs are compared."""
    if one.where is None:
        return None
    compared = one.level
    groups = ordered(compared.methods)
    names = [name for group in groups for name in group]
    where = one.where
    columns = [Column("method"), Column("seeds", kind=float)]
    final = compared.final(where, "pwd")
    cells: list[list[Value]] = [
        [method_label(name) for name in names],
        [int((~np.isnan(final[:, compared.methods.index(name)])).sum()) for name in names],
    ]
    bold: set[tuple[int, int]] = set()
    wanted: list[tuple[str, Floats, int]] = [(t, compared.final(where, what), b) for t, what, b in _MEASURES]
    wanted.append(("area under accuracy", areas(compared), 1))
    for title, matrix, better in wanted:
        values: list[Value] = [percent(matrix[:, compared.methods.index(name)]) for name in names]
        if any(value is not None for value in values):
            bold |= {(row, len(columns)) for row in best(values, better) if compared.even}
            columns.append(Column(title, kind=Spread))
            cells.append(values)
    ends = np.cumsum([len(group) for group in groups])[:-1]
    start = int(compared.labels[0])
    return Table(
        f"{one.group.name}-end",
        f"{one.group.title}, {where} set, at {compared.end:,} labels (areas from {start:,} labels on), in percent.",
        tuple(columns), tuple(zip(*cells, strict=True)), frozenset(bold), frozenset(int(end) - 1 for end in ends),
    )  # fmt: skip


def areas(compared: Compared) -> Floats:
    """(R, K): the area under each run's accuracy, divided by the range of labels."""
    curves = compared.curves("test", "accuracy")
    out = np.full(curves.shape[:2], np.nan)
    for place in np.ndindex(*out.shape):
        found = area(compared.labels, curves[place])
        out[place] = np.nan if found is None else found
    return out


def means(matrix_RK: Floats, places: Sequence[int]) -> tuple[float, ...]:
    """Means over seeds of these columns, in percent; 0 where there is no run."""
    found = (percent(matrix_RK[:, place]) for place in places)
    return tuple(0.0 if value is None else value.mean for value in found)


def _split(one: Judged) -> Block:
    compared = one.level
    names = [name for group in ordered(compared.methods) for name in group]
    places = [compared.methods.index(name) for name in names]
    wrong = means(compared.final("test", "wrong_agreement"), places)
    apart = means(compared.final("test", "gibbs_distance"), places)
    told = [f"{method_label(n)} {w:.1f}% and {a:.1f}%" for n, w, a in zip(names, wrong, apart, strict=True)]
    return stacked(
        f"{one.group.name}-error", [method_label(name) for name in names],
        (Share("wrong agreement", HUES["vermilion"].light, "", wrong),
         Share("Gibbs distance to the projection", HUES["sky"].light, "///", apart)),
        x="error of a random member on the test set (%)", digits=2,
        caption=f"{one.group.title}, at {compared.end:,} labels: the error of a random member, split; means over "
        "seeds.",
        alt=f"Wrong agreement and Gibbs distance: {'; '.join(told)}.",
    )  # fmt: skip
