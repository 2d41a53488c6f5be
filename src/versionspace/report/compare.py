"""Runs on the label counts that all of them reached: what may be compared, and what is said about it."""

from dataclasses import dataclass, replace

import numpy as np

from versionspace.campaign.metrics import describe_indistinguishable
from versionspace.report.groups import Group
from versionspace.report.plots.style import label
from versionspace.report.runs import Run
from versionspace.types import Floats, Ints


@dataclass(frozen=True)
class Compared:
    """The runs of a group that are compared, and where."""

    runs: tuple[Run, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    labels: Ints
    """(L,): counts that every compared run reached; empty where there is none."""
    interpolated: bool
    """Whether the runs have different counts, so that values between two rounds are on a straight line."""
    notes: tuple[str, ...]
    """Which runs, at which counts, and what was left out."""

    @property
    def even(self) -> bool:
        """Whether every method has every seed."""
        return len(self.runs) == len(self.methods) * len(self.seeds)

    @property
    def level(self) -> "Compared":
        """Only the seeds that every method has, for what is not paired: means over different seeds differ by the seeds.

        Itself where every method has every seed, and where there is no seed that all have.
        """
        shared = [seed for seed in self.seeds if sum(run.seed == seed for run in self.runs) == len(self.methods)]
        if self.even or not shared:
            return self
        return replace(self, runs=tuple(run for run in self.runs if run.seed in shared), seeds=tuple(shared))

    @property
    def end(self) -> int:
        """The last count that all reached."""
        return int(self.labels[-1])

    def curves(self, where: str, what: str) -> Floats:
        """(R, K, L): a metric by seed, method and label count; NaN where there is no run or no measure."""
        out = np.full((len(self.seeds), len(self.methods), len(self.labels)), np.nan)
        for run in self.runs:
            place = self.seeds.index(run.seed), self.methods.index(run.method)
            out[place] = at(run.labels, run.series(where, what), self.labels)
        return out

    def final(self, where: str, what: str) -> Floats:
        """(R, K): the metric at the last count that all reached."""
        curves = self.curves(where, what)
        return curves[:, :, -1] if len(self.labels) else np.full(curves.shape[:2], np.nan)


def compare(group: Group, count: int | None = None) -> Compared:
    """Chooses runs and counts.

    By default all runs; where some go on, but every method has one that ended, those that ended. With ``count`` those
    that reached so many labels, up to there.
    """
    runs, notes = _chosen(group, count)
    labels, interpolated = common([run.labels for run in runs])
    if count is not None and len(labels) and labels[0] <= count:
        interpolated = interpolated or count not in labels
        labels = np.union1d(labels[labels <= count], count)
    elif count is not None:
        labels = labels[:0]
    methods = tuple(name for name in group.methods if any(run.method == name for run in runs))
    seeds = tuple(sorted({run.seed for run in runs}))
    found = Compared(runs, methods, seeds, labels, interpolated, ())
    return replace(found, notes=(*notes, *_where(found, count), *_uneven(found), *_alike(found)))


def common(counts: list[Ints]) -> tuple[Ints, bool]:
    """The label counts that all runs reached; and whether some run must be interpolated to be there.

    >>> common([np.array([10, 20, 30, 40]), np.array([10, 20, 30])])
    (array([10, 20, 30]), False)
    >>> common([np.array([10, 20, 30]), np.array([10, 19, 29])])
    (array([10, 19, 20, 29]), True)
    """
    if not counts:
        return np.empty(0, np.int64), False
    low, high = max(c[0] for c in counts), min(c[-1] for c in counts)
    inside = [c[(c >= low) & (c <= high)] for c in counts]
    every = np.unique(np.concatenate(inside))
    return every, any(len(c) < len(every) for c in inside) and len(every) > 0


def at(labels: Ints, values: Floats, wanted: Ints) -> Floats:
    """Values at these counts, on straight lines between rounds; NaN outside, and beside what was not measured.

    >>> at(np.array([10, 20]), np.array([0.5, 0.7]), np.array([10, 15, 25])).round(2).tolist()
    [0.5, 0.6, nan]
    """
    if not len(wanted):
        return np.empty(0)
    return np.asarray(np.interp(wanted, labels, values, left=np.nan, right=np.nan), np.float64)


def _chosen(group: Group, count: int | None) -> tuple[tuple[Run, ...], list[str]]:
    if count is not None:
        kept = tuple(run for run in group.runs if run.labels[-1] >= count)
        why = f"did not reach {count} labels"
    elif all(any(run.finished for run in group.of(method)) for method in group.methods):
        kept = tuple(run for run in group.runs if run.finished)
        why = "has not ended"
    else:
        return group.runs, []
    left = [f"{run.name} ({run.labels[-1]} labels)" for run in group.runs if run not in kept]
    if not left:
        return kept, []
    if len(left) > 1:
        why = why.replace("has", "have")
    return kept, [f"Not compared: {_listed(left)}, which {why}."]


def _uneven(found: Compared) -> list[str]:
    if found.even or not len(found.labels):
        return []
    level = found.level
    if not level.even:
        return [
            "There is no seed that all methods have: means and curves are over different seeds, and no mean is called "
            "the best. Differences, and labels saved, are of two methods with the same seed."
        ]
    seeds = _listed([str(seed) for seed in level.seeds])
    return [
        f"Not every method has every seed: means and curves are over {'seeds' if len(level.seeds) > 1 else 'seed'} "
        f"{seeds}, which all have. Differences, and labels saved, are over every seed that two methods have."
    ]


def _alike(found: Compared) -> list[str]:
    order = {name: place for place, name in enumerate(found.methods)}
    return describe_indistinguishable(
        (run.record for run in sorted(found.runs, key=lambda run: order[run.method])), label
    )


def _where(found: Compared, count: int | None) -> list[str]:
    runs, labels = found.runs, found.labels
    if not runs:
        return ["No run reached so many labels."]
    if not len(labels):
        first, end = max(int(run.labels[0]) for run in runs), min(int(run.labels[-1]) for run in runs)
        if count is not None and first <= end:
            return [f"At {count} labels nothing can be compared: not all runs had begun before {first}."]
        return ["The runs have no number of labels in common: nothing can be compared."]
    notes = []
    going = [run.name for run in runs if not run.finished]
    if going:
        notes.append(f"Not ended: {_listed(going)}. Figures are of where they stand.")
    last = {int(run.labels[-1]) for run in runs}
    if len(last) > 1 or (count is not None and last != {count}):
        reached = f"between {min(last)} and {max(last)}" if len(last) > 1 else f"{max(last)}"
        notes.append(
            f"The runs reached {reached} labels; they are compared at {int(labels[-1])}, which all of them reached."
        )
    if found.interpolated:
        notes.append(
            "Not every run has a round at each number of labels: values between two rounds are on a straight line."
        )
    return notes


def _listed(names: list[str]) -> str:
    return ", ".join(names) if len(names) < 7 else f"{', '.join(names[:6])} and {len(names) - 6} others"
