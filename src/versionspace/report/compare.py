"""Which runs of a group are compared, and at which numbers of labels."""

from dataclasses import dataclass, replace

import numpy as np

from versionspace.campaign import describe_indistinguishable
from versionspace.report.groups import RunGroup
from versionspace.report.plots.style import method_label
from versionspace.report.runs import CampaignRun
from versionspace.store import HEADLINE_SETS
from versionspace.types import Floats, Ints


@dataclass(frozen=True)
class Comparison:
    """The runs of a group that are compared, and the numbers of labels at which they are."""

    group: RunGroup
    runs: tuple[CampaignRun, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    labels: Ints
    """(L,): the numbers of labels at which all runs have a value; may be empty."""
    interpolated: bool
    """Whether some runs lack a round at some of these, so that values are interpolated between rounds."""
    notes: tuple[str, ...]
    """Which runs are compared where, and which are excluded."""

    @property
    def comparable(self) -> bool:
        """Whether there is a number of labels at which the runs can be compared."""
        return bool(len(self.labels))

    @property
    def final_labels(self) -> int:
        """The largest compared number of labels. Requires `comparable`."""
        return int(self.labels[-1])

    @property
    def is_balanced(self) -> bool:
        """Whether every method has every seed."""
        return len(self.runs) == len(self.methods) * len(self.seeds)

    @property
    def balanced(self) -> "Comparison":
        """The same comparison over the seeds that every method has, for unpaired means.

        Means over different seeds would differ by the seeds. Unchanged if no seed has all methods.
        """
        shared = [seed for seed in self.seeds if sum(run.seed == seed for run in self.runs) == len(self.methods)]
        if self.is_balanced or not shared:
            return self
        return replace(self, runs=tuple(run for run in self.runs if run.seed in shared), seeds=tuple(shared))

    @property
    def headline_set(self) -> str | None:
        """The first of `HEADLINE_SETS` on which PWD is known where runs are compared."""
        return next((name for name in HEADLINE_SETS if self.has_metric(name, "pwd")), None)

    @property
    def why_no_accuracy(self) -> str:
        """The reason why there is no accuracy where runs are compared."""
        if self.group.has_metric("test", "accuracy"):
            return f"the accuracy was not measured at {self.final_labels:,} labels"
        return "there is no test set with known classes"

    def has_metric(self, set_name: str, metric: str) -> bool:
        """Return whether any compared run has this metric at the largest number of labels."""
        return self.comparable and not bool(np.isnan(self.final_values(set_name, metric)).all())

    def values(self, set_name: str, metric: str) -> Floats:
        """Return (R, K, L) a metric by seed, method and number of labels; NaN if there is no run or no value."""
        values = np.full((len(self.seeds), len(self.methods), len(self.labels)), np.nan)
        for run in self.runs:
            place = self.seeds.index(run.seed), self.methods.index(run.method)
            values[place] = values_at_labels(run.labels, run.set_metric(set_name, metric), self.labels)
        return values

    def final_values(self, set_name: str, metric: str) -> Floats:
        """Return (R, K) a metric at the largest compared number of labels; NaN as in `values`."""
        values = self.values(set_name, metric)
        return values[:, :, -1] if self.comparable else np.full(values.shape[:2], np.nan)


def compare(group: RunGroup, count: int | None = None) -> Comparison:
    """Choose the runs of a group to compare, and the numbers of labels.

    By default all runs; if some are unfinished but every method has a finished one, the finished runs. With ``count``,
    the runs that reached this many labels, up to there.
    """
    runs, notes = _select_runs(group, count)
    labels, interpolated = common_labels([run.labels for run in runs])
    if count is not None and len(labels) and labels[0] <= count:
        interpolated = interpolated or count not in labels
        labels = np.union1d(labels[labels <= count], count)
    elif count is not None:
        labels = labels[:0]
    methods = tuple(name for name in group.methods if any(run.method == name for run in runs))
    seeds = tuple(sorted({run.seed for run in runs}))
    comparison = Comparison(group, runs, methods, seeds, labels, interpolated, ())
    more = (*_label_notes(comparison, count), *_seed_notes(comparison), *_same_queries(comparison))
    return replace(comparison, notes=(*notes, *more))


def common_labels(counts: list[Ints]) -> tuple[Ints, bool]:
    """Return the numbers of labels within the range that all runs cover, and whether some run must be interpolated.

    >>> common_labels([np.array([10, 20, 30, 40]), np.array([10, 20, 30])])
    (array([10, 20, 30]), False)
    >>> common_labels([np.array([10, 20, 30]), np.array([10, 19, 29])])
    (array([10, 19, 20, 29]), True)
    """
    if not counts:
        return np.empty(0, np.int64), False
    low, high = max(c[0] for c in counts), min(c[-1] for c in counts)
    inside = [c[(c >= low) & (c <= high)] for c in counts]
    every = np.unique(np.concatenate(inside))
    return every, any(len(c) < len(every) for c in inside) and len(every) > 0


def values_at_labels(labels: Ints, values: Floats, wanted: Ints) -> Floats:
    """Return the values at these numbers of labels, interpolated linearly; NaN outside, and next to unknown values.

    >>> values_at_labels(np.array([10, 20]), np.array([0.5, 0.7]), np.array([10, 15, 25])).round(2).tolist()
    [0.5, 0.6, nan]
    """
    if not len(wanted):
        return np.empty(0)
    return np.asarray(np.interp(wanted, labels, values, left=np.nan, right=np.nan), np.float64)


def _select_runs(group: RunGroup, count: int | None) -> tuple[tuple[CampaignRun, ...], list[str]]:
    if count is not None:
        kept = tuple(run for run in group.runs if run.labels[-1] >= count)
        reason = f"below {count:,} labels"
    elif all(any(run.finished for run in group.runs_of(method)) for method in group.methods):
        kept = tuple(run for run in group.runs if run.finished)
        reason = "unfinished"
    else:
        return group.runs, []
    excluded = [f"{run.name} ({run.labels[-1]} labels)" for run in group.runs if run not in kept]
    return kept, [f"Excluded from the comparison ({reason}): {_enumerate(excluded)}."] if excluded else []


def _seed_notes(comparison: Comparison) -> list[str]:
    if comparison.is_balanced or not comparison.comparable:
        return []
    balanced = comparison.balanced
    if not balanced.is_balanced:
        return [
            "No seed was run with every method: means and curves are over different seeds, and no mean is marked as "
            "the best. Differences and labels saved compare two methods with the same seed."
        ]
    seeds = f"{'seeds' if len(balanced.seeds) > 1 else 'seed'} {_enumerate([str(seed) for seed in balanced.seeds])}"
    return [
        f"Not every method was run with every seed: means and curves are over {seeds}, which all methods have. "
        "Differences and labels saved are over every seed that both methods have."
    ]


def _same_queries(comparison: Comparison) -> list[str]:
    order = {name: place for place, name in enumerate(comparison.methods)}
    runs = sorted(comparison.runs, key=lambda run: order[run.method])
    return describe_indistinguishable((run.record for run in runs), method_label)


def _label_notes(comparison: Comparison, count: int | None) -> list[str]:
    runs = comparison.runs
    if not runs:
        return [f"No run reached {count:,} labels."]
    if not comparison.comparable:
        first, last = max(int(run.labels[0]) for run in runs), min(int(run.labels[-1]) for run in runs)
        if count is not None and first <= last:
            return [f"Nothing can be compared at {count:,} labels: some runs start at {first:,}."]
        return ["Nothing can be compared: the runs have no range of labels in common."]
    notes = []
    unfinished = [run.name for run in runs if not run.finished]
    if unfinished:
        notes.append(f"Unfinished runs are included with their current rounds: {_enumerate(unfinished)}.")
    reached = {int(run.labels[-1]) for run in runs}
    if len(reached) > 1 or (count is not None and reached != {count}):
        extent = f"between {min(reached):,} and {max(reached):,}" if len(reached) > 1 else f"{max(reached):,}"
        notes.append(
            f"The runs reached {extent} labels; they are compared at {comparison.final_labels:,}, which all reached."
        )
    if comparison.interpolated:
        notes.append(
            "Not every run has a round at each number of labels: values are interpolated linearly between rounds."
        )
    return notes


def _enumerate(names: list[str]) -> str:
    return ", ".join(names) if len(names) < 7 else f"{', '.join(names[:6])} and {len(names) - 6} others"
