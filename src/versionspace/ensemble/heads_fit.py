"""How heads are trained: the settings, the statistics of features, and members in groups on several threads."""

import math
import threading
from dataclasses import replace

import numpy as np
import torch

from versionspace.ensemble import work
from versionspace.ensemble.fit import Fitted, Task, fit_group
from versionspace.ensemble.normalise import Normalisation
from versionspace.ensemble.sizes import sizes
from versionspace.ensemble.training import Training, read_training
from versionspace.types import Array

TRAINING = Training("rmsprop", rate=1e-3, epochs=12, batch=64, watch="training loss")
"""The default, with validation labels and without. On STL-10 members are about as accurate after 12 epochs as after 20
and differ a little more; with up to 1,500 labels the worst of 20 gives back 99.8% of them."""
ENOUGH, LONGER = 0.99, 60
"""A group in which a member gives back less of its labels starts anew and has so many epochs. Wrong labels take longer
to fit: of 1,000, a tenth of them wrong, members gave back 98.6% after 20 epochs and 99.9% after 60."""
SIZES = sizes("heads")
"""Members in one pass, and images where nothing is trained: part of what a run is, as in sizes.py."""


def even(count: int, most: int) -> int:
    """The size of batches that hold ``count`` images in equal parts, or the last one a little less.

    A last batch of two images throws members off what they had learnt: with 130 labels and batches of 64, SGD left one
    with 93% of its labels and the PWD at four times what it is between.

    >>> even(130, 64), even(400, 64), even(10, 64)
    (44, 58, 10)
    """
    return math.ceil(count / math.ceil(count / most))


def statistics(features: Array) -> Normalisation:
    """Of features (N, F): the mean of each, and one deviation for all, the mean of theirs. Sums in float64.

    A deviation for each would make as much of features that hardly ever light up as of the others; on STL-10 that cost
    a logistic regression 0.1 to 0.5 points.

    >>> statistics(np.array([[0.0, 5.0], [2.0, 5.0]]))
    Normalisation(mean=(1.0, 5.0), deviation=(0.5, 0.5))
    """
    means = features.mean(axis=0, dtype=np.float64)
    spread = float(features.std(axis=0, dtype=np.float64).mean()) or 1.0
    return Normalisation(tuple(means.tolist()), (spread,) * features.shape[1])


def read_heads_training(given: Training | str | dict[str, object] | None) -> Training:
    """Settings as they are, by name, or as changes to `TRAINING`.

    >>> read_heads_training({"epochs": 5}).optimiser
    'rmsprop'
    """
    if given is None:
        return TRAINING
    found = read_training(given)
    return replace(TRAINING, **given) if isinstance(given, dict) else found  # type: ignore[arg-type]


def fit_heads(task: Task, threads: int, longer: int | None = None) -> Fitted:
    """Trains all members of a task: a group on a thread, several side by side.

    ``longer``: the epochs of another try of groups in which a member gives back less than `ENOUGH` of its labels.
    """
    work.keep_memory()
    stop = threading.Event()

    def report(epochs: int, ended: int) -> None:
        if stop.is_set():
            raise work.StoppedError
        task.report(epochs, ended)

    groups = [slice(i, i + SIZES.group) for i in range(0, len(task.members), SIZES.group)]
    tasks = [
        replace(
            task,
            report=report,
            members=task.members[some],
            state={name: value[some] for name, value in task.state.items()},
        )
        for some in groups
    ]
    with work.enough_memory("training"):
        parts = work.side_by_side(lambda group: _fitted(group, longer), tasks, threads, stop)
    state = {name: torch.cat([part.state[name] for part in parts]) for name in parts[0].state}
    return Fitted(state, [history for part in parts for history in part.histories])


def _fitted(group: Task, longer: int | None) -> Fitted:
    fitted = fit_group(group)
    if longer is None or min(history.fit for history in fitted.histories) >= ENOUGH:
        return fitted
    return fit_group(replace(group, training=replace(group.training, epochs=longer)))
