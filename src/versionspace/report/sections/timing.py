"""Where the time of a run went."""

import numpy as np

from versionspace.report.compare import Comparison
from versionspace.report.document import Block, Column, ReportSection, Table, Value
from versionspace.report.groups import sort_methods
from versionspace.report.plots.bars import BarPart, stacked_bars
from versionspace.report.plots.style import HUES, method_label
from versionspace.report.runs import CampaignRun
from versionspace.report.statistics import SampleMean, sample_mean

_HOW_TO_READ = (
    "Wall-clock time of a run by stage: training the members, predicting with them, measuring, and choosing the "
    "queries. It depends on the machine and on its other load. The first ensemble, which all methods with the same "
    "seed share, counts for each of them. Runs with more labels take longer: compare the seconds per round."
)
_STAGES = (
    ("fit", "training", "blue", ""),
    ("predict", "predicting", "sky", "///"),
    ("measure", "measuring", "green", "..."),
    ("query", "choosing", "vermilion", "xxx"),
)
"""Name in the ledger, title, hue and hatch."""


def timing_section(comparison: Comparison) -> ReportSection:
    """Return the time per stage as bars and as a table."""
    runs = comparison.balanced.runs
    methods = sort_methods([run.method for run in runs])
    labels = [method_label(method) for method in methods]
    rows: list[tuple[Value, ...]] = []
    means: list[list[float]] = []
    for method, label in zip(methods, labels, strict=True):
        own = [run for run in runs if run.method == method]
        stages = [[_stage_seconds(run, stage) for run in own] for stage, *_ in _STAGES]
        total = np.sum(stages, axis=0)
        rounds = np.array([len(run.record.measured_rounds()) for run in own])
        means.append([float(np.mean(seconds)) for seconds in stages])
        rows.append((label, *map(sample_mean, stages), sample_mean(total), sample_mean(total / rounds)))
    titles = [*(title for _, title, *_ in _STAGES), "total", "per round"]
    columns = (Column("method"), *(Column(f"{title} (s)", kind=SampleMean) for title in titles))
    unit, size = _unit(max(map(sum, means)))
    parts = [
        BarPart(title, HUES[hue].light, hatch, tuple(seconds[i] / size for seconds in means))
        for i, (_, title, hue, hatch) in enumerate(_STAGES)
    ]
    totals = [f"{label} {sum(seconds) / size:.1f} {unit}" for label, seconds in zip(labels, means, strict=True)]
    name, title = f"{comparison.group.name}-time", comparison.group.title
    blocks: list[Block] = [
        stacked_bars(
            name, labels, parts, x=f"time of a run ({unit})", digits=1,
            caption=f"{title}: time of a run by stage, means over seeds.", alt=f"{'; '.join(totals)}.",
        ),
        Table(name, f"{title}: seconds of a run by stage.", columns, tuple(rows)),
    ]  # fmt: skip
    return ReportSection("Time per stage", _HOW_TO_READ, tuple(blocks))


def _stage_seconds(run: CampaignRun, stage: str) -> float:
    return float(sum(r.seconds.get(stage, 0.0) for r in run.record.measured_rounds()))


def _unit(longest: float) -> tuple[str, float]:
    """Return the unit for a time axis, and its seconds."""
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if longest >= 3 * size:
            return unit, size
    return "seconds", 1.0
