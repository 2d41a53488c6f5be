"""How many labels a method needs to reach an accuracy, and how many it saves compared with random."""

import math

import numpy as np

from versionspace.report.compare import Comparison
from versionspace.report.document import Block, Column, ReportSection, Table, Value
from versionspace.report.groups import family_rules, sort_methods
from versionspace.report.options import ReportOptions
from versionspace.report.plots.style import method_label
from versionspace.report.sections.results import best_rows
from versionspace.report.statistics import SampleMean, labels_to_reach, sample_mean
from versionspace.types import Floats

_HOW_TO_READ = (
    "Labels needed is where the mean accuracy of the members first reaches the target, interpolated linearly between "
    "rounds. Labels saved is how many more Random needs with the same seed, also as a share of Random's labels; it is "
    "negative if the method needs more. If some seeds never reach the target there is no mean, because a mean over the "
    "others would be too optimistic."
)


def savings_section(comparison: Comparison, options: ReportOptions) -> ReportSection:
    """Return a table for each target."""
    title = "Labels needed and saved"
    if not comparison.has_metric("test", "accuracy"):
        return ReportSection(title, _HOW_TO_READ, (f"No target accuracy: {comparison.why_no_accuracy}.",))
    targets = options.targets or default_targets(comparison)
    blocks: list[Block] = [_target_table(comparison, target, place) for place, target in enumerate(targets, 1)]
    if "random" not in comparison.methods:
        blocks.append("Labels saved are not shown: no run of random is compared.")
    elif np.isnan(_random_accuracy(comparison)).all():
        blocks.append("Labels saved are not shown: the runs of random have no accuracy.")
    return ReportSection(title, _HOW_TO_READ, tuple(blocks))


def default_targets(comparison: Comparison) -> tuple[float, ...]:
    """Return the accuracy that every run of random finally has, or every run if that is unknown.

    It is rounded down to a whole percentage if all runs start below that.
    """
    curves = _random_accuracy(comparison)
    if np.isnan(curves[:, :, -1]).all():
        curves = comparison.values("test", "accuracy")
    lowest = float(np.nanmin(curves[:, :, -1]))
    whole = math.floor(100 * lowest) / 100
    return (whole if not (curves[:, :, 0] >= whole).any() else lowest,)


def labels_needed(comparison: Comparison, target: float) -> Floats:
    """Return (R, K) the labels at which each run reaches the target; infinity if it never does, NaN without a run."""
    curves = comparison.values("test", "accuracy")
    needed = np.full(curves.shape[:2], np.nan)
    for place in np.ndindex(*needed.shape):
        if not np.isnan(curves[place]).all():
            found = labels_to_reach(comparison.labels, curves[place], target)
            needed[place] = np.inf if found is None else found
    return needed


def _random_accuracy(comparison: Comparison) -> Floats:
    """Return (R, 0 or 1, L) the accuracy of random."""
    places = [place for place, name in enumerate(comparison.methods) if name == "random"]
    curves: Floats = comparison.values("test", "accuracy")[:, places]
    return curves


def _target_table(comparison: Comparison, target: float, number: int) -> Table:
    # Means are over the seeds that all methods have; savings are paired, so they use every seed that two methods share.
    needed = labels_needed(comparison, target)
    shared = [seed in comparison.balanced.seeds for seed in comparison.seeds]
    base = needed[:, comparison.methods.index("random")] if "random" in comparison.methods else None
    methods = sort_methods(comparison.methods)
    rows: list[tuple[Value, ...]] = []
    for method in methods:
        own = needed[:, comparison.methods.index(method)]
        known = own[shared & ~np.isnan(own)]
        reaching = f"{int(np.isfinite(known).sum())} of {len(known)}"
        row: list[Value] = [method_label(method), reaching, _mean_if_all_reach(known)]
        if base is not None:
            both = ~np.isnan(own) & ~np.isnan(base)
            row += [None, None] if method == "random" else _savings(own[both], base[both])
        rows.append(tuple(row))
    columns = [Column("method"), Column("seeds reaching it"), Column("labels needed", digits=1, kind=SampleMean)]
    if base is not None:
        columns += [
            Column("labels saved", digits=1, signed=True, kind=SampleMean),
            Column("saved (%)", digits=1, signed=True, kind=SampleMean),
        ]
    best = best_rows([row[2] for row in rows], -1, 1) if comparison.balanced.is_balanced else []
    return Table(
        f"{comparison.group.name}-labels-{number}",
        f"{comparison.group.title}: labels needed for a mean accuracy of {100 * target:.4g}% on the test set, between "
        f"{int(comparison.labels[0]):,} and {comparison.final_labels:,} labels.",
        tuple(columns), tuple(rows), frozenset((row, 2) for row in best), family_rules(methods),
    )  # fmt: skip


def _mean_if_all_reach(needed: Floats) -> SampleMean | None:
    return sample_mean(needed) if len(needed) and np.isfinite(needed).all() else None


def _savings(own: Floats, base: Floats) -> list[Value]:
    """Return the labels saved, and their share of the baseline's labels in percent."""
    if not len(own) or not np.isfinite(own).all() or not np.isfinite(base).all():
        return [None, None]
    return [sample_mean(base - own), sample_mean(100 * (base - own) / base)]
