"""How many labels a method needs to get as far, and what it saves against random."""

import math

import numpy as np

from versionspace.report.compare import Compared
from versionspace.report.document import Block, Column, Part, Table, Value
from versionspace.report.groups import ordered
from versionspace.report.options import Options
from versionspace.report.plots.style import method_label
from versionspace.report.sections.results import Judged, best
from versionspace.report.statistics import Spread, labels_to_reach, spread
from versionspace.types import Floats

_HOW = (
    "Labels at which the mean accuracy of the members first reaches the target, on straight lines between rounds. "
    "Saved is what random needs more with the same seed, in labels and as a share of random's; a negative number "
    "means that the method needs more than random. Where some seeds never reach the target, a mean over the others "
    "would flatter, so only their number is given."
)


def savings(one: Judged, options: Options) -> Part:
    """A table for each target."""
    title = "Labels needed, and saved"
    if not one.measured("test", "accuracy"):
        return Part(title, _HOW, (f"There is {one.lacking}, so there is none to reach.",))
    targets = options.targets or default_targets(one)
    blocks: list[Block] = [_table(one, target, place) for place, target in enumerate(targets)]
    if "random" not in one.compared.methods:
        blocks.append("There is no run of random among those compared, so there is nothing to save against.")
    elif np.isnan(_of_random(one.compared)).all():
        blocks.append("The runs of random have no accuracy, so there is nothing to save against.")
    return Part(title, _HOW, tuple(blocks))


def default_targets(one: Judged) -> tuple[float, ...]:
    """The accuracy that every run of random ended with, in whole percent where that is above where it began.

    Without random, or where its accuracy is not known, the accuracy that every run ended with.
    """
    curves = _of_random(one.compared)
    if np.isnan(curves[:, :, -1]).all():
        curves = one.compared.curves("test", "accuracy")
    lowest = float(np.nanmin(curves[:, :, -1]))
    whole = math.floor(100 * lowest) / 100
    return (whole if not (curves[:, :, 0] >= whole).any() else lowest,)


def _of_random(compared: Compared) -> Floats:
    """(R, 0 or 1, L): its curves of accuracy."""
    there = [place for place, name in enumerate(compared.methods) if name == "random"]
    out: Floats = compared.curves("test", "accuracy")[:, there]
    return out


def reached(compared: Compared, target: float) -> Floats:
    """(R, K): labels needed; NaN where there is no run, infinity where it never got there."""
    curves = compared.curves("test", "accuracy")
    out = np.full(curves.shape[:2], np.nan)
    for place in np.ndindex(*out.shape):
        if not np.isnan(curves[place]).all():
            found = labels_to_reach(compared.labels, curves[place], target)
            out[place] = np.inf if found is None else found
    return out


def _table(one: Judged, target: float, place: int) -> Table:
    # Means are over the seeds that all methods have; what is saved is paired, so over every seed that two have.
    compared, level = one.compared, one.level
    needed = reached(compared, target)
    shared = [seed in level.seeds for seed in compared.seeds]
    base = needed[:, compared.methods.index("random")] if "random" in compared.methods else None
    groups = ordered(compared.methods)
    names = [name for group in groups for name in group]
    rows: list[tuple[Value, ...]] = []
    for name in names:
        own = needed[:, compared.methods.index(name)]
        own_there = own[shared & ~np.isnan(own)]
        row: list[Value] = [
            method_label(name),
            f"{int(np.isfinite(own_there).sum())} of {len(own_there)}",
            _mean(own_there),
        ]
        if base is not None:
            both = ~np.isnan(own) & ~np.isnan(base)
            row += [None, None] if name == "random" else _saved(own[both], base[both])
        rows.append(tuple(row))
    columns = [Column("method"), Column("seeds that reach it"), Column("labels needed", digits=1, kind=Spread)]
    if base is not None:
        columns += [
            Column("labels saved", digits=1, signed=True, kind=Spread),
            Column("saved (%)", digits=1, signed=True, kind=Spread),
        ]
    ends = np.cumsum([len(group) for group in groups])[:-1]
    return Table(
        f"{one.group.name}-labels-{place + 1}",
        f"{one.group.title}: labels needed for a mean accuracy of {100 * target:.4g}% on the test set, looked for "
        "between "
        f"{int(compared.labels[0]):,} and {compared.end:,} labels.",
        tuple(columns), tuple(rows),
        frozenset((i, 2) for i in best([row[2] for row in rows], -1, 1) if level.even),
        frozenset(int(end) - 1 for end in ends),
    )  # fmt: skip


def _mean(values: Floats) -> Spread | None:
    return spread(values) if len(values) and np.isfinite(values).all() else None


def _saved(own: Floats, base: Floats) -> list[Value]:
    if not len(own) or not np.isfinite(own).all() or not np.isfinite(base).all():
        return [None, None]
    return [spread(base - own), spread(100 * (base - own) / base)]
