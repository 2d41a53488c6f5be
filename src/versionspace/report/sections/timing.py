"""Where the time went."""

import numpy as np

from versionspace.report.document import Block, Column, Part, Table, Value
from versionspace.report.groups import ordered
from versionspace.report.plots.bars import Share, stacked
from versionspace.report.plots.style import HUES, label
from versionspace.report.runs import Run
from versionspace.report.sections.results import Judged
from versionspace.report.statistics import Spread, spread

_HOW = (
    "Wall-clock time of a run by stage: training the members, their predictions, the measures, and choosing what to "
    "ask. It depends on the machine and on what else ran there, and the first ensemble, which the methods of a seed "
    "share, counts for each of them. Runs that reached more labels took longer for it: compare the seconds a round."
)
_STAGES = (
    ("fit", "training", "blue", ""),
    ("predict", "predicting", "sky", "///"),
    ("measure", "measuring", "green", "..."),
    ("query", "choosing", "vermilion", "xxx"),
)


def timing(one: Judged) -> Part:
    """A table and bars of the stages."""
    title = "Time by stage"
    runs = [run for run in one.level.runs if any(r.seconds for r in run.rounds)]
    if not runs:
        return Part(title, _HOW, ("These runs did not note their time.",))
    names = [name for group in ordered([run.method for run in runs]) for name in group]
    rows: list[tuple[Value, ...]] = []
    totals: list[list[float]] = []
    for name in names:
        own = [run for run in runs if run.method == name]
        stages = [[seconds(run, stage) for run in own] for stage, *_ in _STAGES]
        whole = np.sum(stages, axis=0)
        rounds = np.array([len(run.record.measured_rounds()) for run in own])
        totals.append([float(np.mean(values)) for values in stages])
        rows.append((label(name), *(spread(values) for values in stages), spread(whole), spread(whole / rounds)))
    columns = (
        Column("method"), *(Column(f"{word} (s)", digits=2, kind=Spread) for _, word, *_ in _STAGES),
        Column("together (s)", digits=2, kind=Spread), Column("a round (s)", digits=2, kind=Spread),
    )  # fmt: skip
    unit, size = _unit(max(map(sum, totals)))
    shares = [
        Share(word, HUES[hue].light, hatch, tuple(total[i] / size for total in totals))
        for i, (_, word, hue, hatch) in enumerate(_STAGES)
    ]
    blocks: list[Block] = [
        stacked(
            f"{one.group.name}-time", [label(name) for name in names], shares, x=f"time of a run ({unit})", digits=1,
            caption=f"{one.group.title}: time of a run by stage, means over seeds.",
            alt="; ".join(f"{label(n)} {sum(t) / size:.1f} {unit}" for n, t in zip(names, totals, strict=True)) + ".",
        ),
        Table(f"{one.group.name}-time", f"{one.group.title}: seconds of a run by stage.", columns, tuple(rows)),
    ]  # fmt: skip
    return Part(title, _HOW, tuple(blocks))


def seconds(run: Run, stage: str) -> float:
    """Of all rounds together."""
    return float(sum(r.seconds.get(stage, 0.0) for r in run.record.measured_rounds()))


def _unit(longest: float) -> tuple[str, float]:
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if longest >= 3 * size:
            return unit, size
    return "seconds", 1.0
