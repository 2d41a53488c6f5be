"""What a run will cost on this machine, from short fits: before hours are spent."""

import math
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from versionspace.campaign.images import Pictures, opened
from versionspace.campaign.learner import Learner, group_sizes, make_learner, training_of
from versionspace.campaign.round import Candidates, choose
from versionspace.campaign.setup import checked, fitting
from versionspace.config import Config, as_input_errors
from versionspace.ensemble import Training
from versionspace.machine import cores
from versionspace.query.methods import find

_EPOCHS = (1, 3)
"""Two fits of so many epochs: their difference is the cost of two, without what comes once."""
_IMAGES = 512
"""Images that are predicted, and scored by each method, to know the cost of one."""
_LONGER = 3.0
"""Members ran about this many times the fewest epochs that their schedule allows (docs/ensembles.md)."""


@dataclass(frozen=True)
class Plan:
    """Seconds, bytes and where they go."""

    campaigns: int
    rounds: int
    """Of one campaign: fits of all members."""
    labels: int
    """Of one campaign at its end, the audit's included: the budget, or what the pool has."""
    likely_epochs: float
    most_epochs: int
    seconds: float
    """Of all campaigns, if members need the likely epochs."""
    most_seconds: float
    """If they all need the most."""
    by_method: dict[str, float]
    """Seconds of one campaign."""
    memory: int
    """Bytes that one process needs."""
    disk: int
    """Bytes of the whole folder."""
    measured: float
    """Seconds that measuring took."""


@dataclass(frozen=True)
class _Costs:
    """Seconds."""

    epoch: float
    """Of all members, without labels: the validation pass."""
    label: float
    """More for each label, in one epoch of all members."""
    image: float
    """One image predicted by all members."""


def plan(config: Config, methods: Sequence[str] | None = None, seeds: Sequence[int] | None = None) -> Plan:
    """Measures short fits and predictions here, and multiplies."""
    began = time.perf_counter()
    wanted = tuple(methods or config.grid.methods or (config.query.method,))
    numbers = tuple(seeds or config.grid.seeds or (config.seed,))
    with as_input_errors("plan"):
        each = [config.campaign(find(method).name, config.seed) for method in wanted]
    for one in each:
        fitting(one)
    dataset = opened(config)
    pictures = Pictures(dataset, checked(each[0], dataset))
    threads = config.machine.threads or cores()
    training = training_of(config, pictures.truth("validation") is not None)
    costs, fitted = _measured(config, pictures, training, threads)

    first = max(1, len(pictures.cut.initial) or len(dataset.classes))
    last = min(config.budget.total - config.budget.audit, len(pictures.cut.askable()))
    labels: list[int] = [*range(first, last, config.query.size), last]
    falls = math.floor(math.log(training.floor / training.rate, training.decay)) + 1
    fewest = training.patience * max(1, falls)  # a floor above the rate ends it on the first plateau
    likely = min(float(training.epochs), _LONGER * fewest)
    images = sum(len(getattr(pictures.cut, name)) for name in ("test", "validation", "reference", "pool"))

    def fits(epochs: float) -> float:
        return sum(epochs * (costs.epoch + costs.label * n) + costs.image * images for n in labels)

    asking = {m: _asking(config, m, pictures, fitted) * len(pictures.cut.pool) * (len(labels) - 1) for m in wanted}
    by_method = {m: fits(likely) + asking[m] for m in wanted}
    weights = fitted.weight_bytes * config.ensemble.members // fitted.members
    votes = config.ensemble.members * len(pictures.cut.test) // 4 + len(pictures.cut.pool)
    campaigns = len(wanted) * len(numbers)
    return Plan(
        campaigns=campaigns,
        rounds=len(labels),
        labels=last + config.budget.audit,
        likely_epochs=likely,
        most_epochs=training.epochs,
        seconds=sum(by_method.values()) * len(numbers),
        most_seconds=(fits(training.epochs) * len(wanted) + sum(asking.values())) * len(numbers),
        by_method=by_method,
        memory=_memory(config, pictures, weights),
        disk=campaigns * (2 * weights + len(labels) * votes) + len(numbers) * weights,
        measured=time.perf_counter() - began,
    )


def _measured(config: Config, pictures: Pictures, training: Training, threads: int) -> tuple[_Costs, Learner]:
    """Fits as many members as keep the threads busy, at two numbers of labels and of epochs."""
    members = min(config.ensemble.members, group_sizes(config).group * threads)
    times = config.ensemble.members / members
    truth = pictures.truth("validation")
    validation = None if truth is None else (pictures.of("validation"), truth)
    pool, labels = pictures.cut.pool, pictures.truth("pool")
    whole = make_learner(config, 2, lambda: pictures.of("pool"), training=training, threads=threads)
    normalisation = whole.normalisation
    order = np.random.default_rng(0).permutation(len(pool))
    most = min(len(pool), config.budget.total)
    few = max(2, min(most // 4, 64))

    def seconds(count: int, epochs: int) -> tuple[float, Learner]:
        some = order[:count]
        classes = labels[some] if labels is not None else some % max(2, len(pictures.dataset.classes))
        ensemble = make_learner(
            config, max(2, len(pictures.dataset.classes)), lambda: pictures.of("pool"), members=members,
            threads=threads, normalisation=normalisation, training=replace(training, epochs=epochs),
        )  # fmt: skip
        start = time.perf_counter()
        ensemble.fit(pictures.pool(pool[some]), classes, validation=validation)
        return time.perf_counter() - start, ensemble

    seconds(few, 1)  # what comes once in a process
    span = _EPOCHS[1] - _EPOCHS[0]
    at = {n: (seconds(n, _EPOCHS[1])[0] - seconds(n, _EPOCHS[0])[0]) / span * times for n in (few, most)}
    fitted = seconds(few, 1)[1]
    start = time.perf_counter()
    some = pictures.of("pool")[:_IMAGES]
    fitted.opinions(some)
    image = (time.perf_counter() - start) / len(some) * times
    label = max(0.0, (at[most] - at[few]) / max(1, most - few))
    return _Costs(max(0.0, at[few] - label * few), label, image), fitted


def _asking(config: Config, method: str, pictures: Pictures, learner: Learner) -> float:
    """Seconds for each image of the pool that a method scores, beyond the votes that are there anyway."""
    ids = pictures.cut.pool[:_IMAGES]
    pixels = pictures.pool(ids)
    reference = learner.predict_proba(pictures.of(pictures.reference)[:_IMAGES])
    query = config.query.model_copy(update={"method": method})
    found = Candidates(ids, lambda: pixels, learner.votes(pixels), pixels[:10])
    start = time.perf_counter()
    choose(query, min(query.size, len(ids)), learner, found, reference, max(2, len(pictures.dataset.classes)), seed=0)
    return (time.perf_counter() - start) / len(ids)


def _memory(config: Config, pictures: Pictures, weights: int) -> int:
    """The most that this process has used so far, and what a full round holds beyond it."""
    unit = 1 if sys.platform == "darwin" else 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    members, classes = config.ensemble.members, len(pictures.dataset.classes)
    votes = members * sum(len(getattr(pictures.cut, name)) for name in ("pool", "test", "validation", "reference"))
    probs = members * len(getattr(pictures.cut, pictures.reference)) * classes * 4
    return int(used + 2 * votes + 3 * probs + weights)


def free_disk(path: Path) -> int | None:
    """Bytes that are free where a folder would be; None where it cannot be told."""
    import shutil

    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None
