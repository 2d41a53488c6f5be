"""Estimate time, memory and disk of a run from short fits on this machine, before hours are spent."""

import math
import resource
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from versionspace.campaign.choice import Candidates, choose
from versionspace.campaign.datasets import Datasets
from versionspace.campaign.image_features import MEMBERS, ImageFeatures, feature_source
from versionspace.campaign.images import CampaignImages
from versionspace.campaign.learner import Learner, group_sizes, make_learner, training_of
from versionspace.campaign.validation import validate_campaign, validate_settings
from versionspace.config import Config, as_input_errors
from versionspace.ensemble import Training
from versionspace.machine import cores
from versionspace.query import find

_EPOCHS = (1, 3)
"""Epochs of two fits, whose difference is the cost of two epochs without the cost of starting a fit."""
_IMAGES = 512
"""The number of images that are predicted, and scored by each method, to measure the cost of one."""
_LIKELY_FACTOR = 3.0
"""Members need about this many times the fewest epochs that their schedule allows (docs/ensembles.md)."""


@dataclass(frozen=True)
class Plan:
    """Estimated seconds and bytes of a run."""

    campaigns: int
    rounds: int
    """Rounds of one campaign: each fits all members."""
    labels: int
    """Labels of one campaign at its end, the audit's included: the budget, or all that the pool has."""
    likely_epochs: float
    most_epochs: int
    seconds: float
    """Of all campaigns, if members need `likely_epochs`."""
    most_seconds: float
    """Of all campaigns, if members need `most_epochs`."""
    by_method: dict[str, float]
    """Seconds of one campaign with each method, if members need `likely_epochs`."""
    memory: int
    """Bytes of one process."""
    disk: int
    """Bytes of the whole folder."""
    measured: float
    """Seconds that the measurement took."""


@dataclass(frozen=True)
class _Costs:
    """Costs in seconds, for all members together."""

    epoch: float
    """Of one epoch without labels: the validation pass."""
    label: float
    """Of each label in one epoch."""
    image: float
    """Of predicting one image."""


def plan(config: Config, methods: Sequence[str] | None = None, seeds: Sequence[int] | None = None) -> Plan:
    """Measure short fits and predictions, and extrapolate. Raises InputError if a campaign cannot run."""
    began = time.perf_counter()
    chosen_methods = tuple(methods or config.grid.methods or (config.query.method,))
    chosen_seeds = tuple(seeds or config.grid.seeds or (config.seed,))
    with as_input_errors("plan"):
        configs = [config.campaign(find(method).name, config.seed) for method in chosen_methods]
    for one in configs:
        validate_settings(one)
    images = validate_campaign(configs[0], Datasets())
    roles = images.roles
    threads = config.machine.threads or cores()
    training = training_of(config, images.truth("validation") is not None)
    costs, fitted = _measure(config, images, training, threads)

    first = max(1, len(roles.initial) or len(images.dataset.classes))
    last = min(config.budget.total - config.budget.audit, len(roles.askable()))
    labels: list[int] = [*range(first, last, config.query.size), last]
    falls = math.floor(math.log(training.floor / training.rate, training.decay)) + 1
    fewest = training.patience * max(1, falls)  # a floor above the rate ends it on the first plateau
    likely = min(float(training.epochs), _LIKELY_FACTOR * fewest)
    predicted = sum(len(getattr(roles, name)) for name in ("test", "validation", "reference", "pool"))

    def seconds_of_fits(epochs: float) -> float:
        return sum(epochs * (costs.epoch + costs.label * n) + costs.image * predicted for n in labels)

    queries = {
        method: _query_seconds(config, method, images, fitted) * len(roles.pool) * (len(labels) - 1)
        for method in chosen_methods
    }
    by_method = {method: seconds_of_fits(likely) + queries[method] for method in chosen_methods}
    weights = fitted.weight_bytes * config.ensemble.members // fitted.members
    votes = config.ensemble.members * len(roles.test) // 4 + len(roles.pool)
    campaigns = len(chosen_methods) * len(chosen_seeds)
    most = seconds_of_fits(training.epochs) * len(chosen_methods) + sum(queries.values())
    return Plan(
        campaigns=campaigns,
        rounds=len(labels),
        labels=last + config.budget.audit,
        likely_epochs=likely,
        most_epochs=training.epochs,
        seconds=sum(by_method.values()) * len(chosen_seeds),
        most_seconds=most * len(chosen_seeds),
        by_method=by_method,
        memory=_memory(config, images, weights),
        disk=campaigns * (2 * weights + len(labels) * votes) + len(chosen_seeds) * weights,
        measured=time.perf_counter() - began,
    )


def _measure(config: Config, images: CampaignImages, training: Training, threads: int) -> tuple[_Costs, Learner]:
    """Fit as many members as keep the threads busy, at two numbers of labels and of epochs."""
    members = min(config.ensemble.members, group_sizes(config).group * threads)
    times = config.ensemble.members / members
    truth = images.truth("validation")
    validation = None if truth is None else (images.of("validation"), truth)
    pool, labels = images.roles.pool, images.truth("pool")
    whole = make_learner(config, 2, lambda: images.of("pool"), training=training, threads=threads)
    normalisation = whole.normalisation
    order = np.random.default_rng(0).permutation(len(pool))
    most = min(len(pool), config.budget.total)
    few = max(2, min(most // 4, 64))

    def timed_fit(count: int, epochs: int) -> tuple[float, Learner]:
        some = order[:count]
        classes = labels[some] if labels is not None else some % max(2, len(images.dataset.classes))
        ensemble = make_learner(
            config, max(2, len(images.dataset.classes)), lambda: images.of("pool"), members=members,
            threads=threads, normalisation=normalisation, training=replace(training, epochs=epochs),
        )  # fmt: skip
        start = time.perf_counter()
        ensemble.fit(images.pixels(pool[some]), classes, validation=validation)
        return time.perf_counter() - start, ensemble

    timed_fit(few, 1)  # warm up: some costs arise once in a process
    span = _EPOCHS[1] - _EPOCHS[0]
    at = {n: (timed_fit(n, _EPOCHS[1])[0] - timed_fit(n, _EPOCHS[0])[0]) / span * times for n in (few, most)}
    fitted = timed_fit(few, 1)[1]
    start = time.perf_counter()
    some = images.of("pool")[:_IMAGES]
    fitted.opinions(some)
    image = (time.perf_counter() - start) / len(some) * times
    label = max(0.0, (at[most] - at[few]) / max(1, most - few))
    return _Costs(max(0.0, at[few] - label * few), label, image), fitted


def _query_seconds(config: Config, method: str, images: CampaignImages, learner: Learner) -> float:
    """Return the seconds that a method takes for one image of the pool, not counting votes, which every round has."""
    ids = images.roles.pool[:_IMAGES]
    pixels = images.pixels(ids)
    reference = learner.predict_proba(images.of(images.reference_set)[:_IMAGES], members=True)
    query = config.query.model_copy(update={"method": method})
    of_images = None
    if feature_source(config) != MEMBERS:
        features = ImageFeatures(config, images)
        of_images = lambda: (features.of(ids), features.of(ids[:10]))  # noqa: E731
    candidates = Candidates(ids, lambda: pixels, learner.votes(pixels), pixels[:10], of_images)
    start = time.perf_counter()
    classes = max(2, len(images.dataset.classes))
    choose(query, min(query.size, len(ids)), learner, candidates, reference, classes, seed=0)
    return (time.perf_counter() - start) / len(ids)


def _memory(config: Config, images: CampaignImages, weights: int) -> int:
    """Return the peak memory of this process so far plus what a full round holds beyond it."""
    unit = 1 if sys.platform == "darwin" else 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    members, classes = config.ensemble.members, len(images.dataset.classes)
    votes = members * sum(len(getattr(images.roles, name)) for name in ("pool", "test", "validation", "reference"))
    probs = members * len(getattr(images.roles, images.reference_set)) * classes * 4
    return int(used + 2 * votes + 3 * probs + weights)


def free_disk(path: Path) -> int | None:
    """Return the free bytes of the disk that holds a folder, or would hold it; None if unknown."""
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None
