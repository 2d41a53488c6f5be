"""Checks of the audit: lower bounds on the accuracy at a few moments, which hold together.

A bound that had to hold in every round would be wide: most rounds come long before anyone would stop. A check is
therefore made only in a round whose members have settled, and only if the audit has grown by half since the check
before. Neither depends on what the audit's labels are, nor on the target, which may be chosen afterwards. Check
k = 1, 2, … gives the exact one-sided binomial bound (Clopper and Pearson 1934) of level 1 − 2α/((k+1)(k+2)). The error
probabilities add up to α: with probability 1 − α no check overstates the accuracy of the model that it was made on.

With 50 images, a first check assures 80% with at most three mistakes; an interval for all of 20 rounds, with none.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from versionspace.extras import require
from versionspace.store import AuditMetrics, RoundMetrics

FIRST_CHECK = 20
"""Audit labels before the first check: the bound from fewer is useless."""
GROWTH = 1.5
"""How much the audit has to grow from one check to the next."""
MOST_IMAGES = 2000
"""Largest audit that `images_needed` considers."""


@dataclass(frozen=True)
class Check:
    """A bound on the accuracy of the members of one round."""

    number: int
    """From 1."""
    labels: int
    """Number of labels that the members were trained on."""
    right: int
    images: int
    low: float
    """The accuracy of their vote is at least this."""


def level_of_check(number: int, confidence: float) -> float:
    """Return the error probability of check ``number`` = 1, 2, …

    >>> round(sum(level_of_check(number, 0.95) for number in range(1, 10_000)), 3)
    0.05
    """
    return 2.0 * (1.0 - confidence) / ((number + 1) * (number + 2))


def lower_bound(right: int, images: int, level: float) -> float:
    """Return the exact lower bound on a share of which ``right`` of ``images`` were drawn.

    >>> round(lower_bound(20, 20, 0.05), 3), lower_bound(0, 20, 0.05)
    (0.861, 0.0)
    """
    return float(require("scipy.stats").beta.ppf(level, right, images - right + 1)) if right else 0.0


def audit_checks(rounds: Sequence[RoundMetrics], settled: Sequence[bool], confidence: float) -> list[Check]:
    """Return the checks that were made in these rounds, the first one first.

    ``settled``: for each round, whether its members have settled; it must not depend on the audit.
    """
    checks: list[Check] = []
    for metrics, ready in zip(rounds, settled, strict=True):
        audit = metrics.audit
        if ready and audit is not None and audit.images >= next_check_size(checks):
            number, right = len(checks) + 1, right_answers(audit)
            low = lower_bound(right, audit.images, level_of_check(number, confidence))
            checks.append(Check(number, metrics.labels, right, audit.images, low))
    return checks


def next_check_size(checks: Sequence[Check]) -> int:
    """Return how many audit labels the next check takes.

    >>> next_check_size([]), next_check_size([Check(1, 100, 19, 21, 0.7)])
    (20, 32)
    """
    return math.ceil(GROWTH * checks[-1].images) if checks else FIRST_CHECK


def images_needed(audit: AuditMetrics | None, checks: Sequence[Check], target: float, confidence: float) -> int | None:
    """Return how many audit labels the next check needs to assure the target, if the model is as right as it seems.

    At least `next_check_size`. None if the model does not seem right often enough, or if `MOST_IMAGES` do not suffice.

    >>> images_needed(AuditMetrics(50, 0.9, 0.7, 1.0), [], 0.8, 0.95)
    79
    >>> images_needed(AuditMetrics(50, 0.8, 0.6, 0.9), [], 0.8, 0.95) is None
    True
    """
    right, images = (right_answers(audit), audit.images) if audit else (0, 0)
    if not images:
        return next_check_size(checks)
    return _needed(right, images, next_check_size(checks), level_of_check(len(checks) + 1, confidence), target)


@lru_cache(maxsize=256)
def _needed(right: int, images: int, least: int, level: float, target: float) -> int | None:
    seems = right / images if right < images else (images + 1) / (images + 2)
    sizes = np.arange(max(least, 1), MOST_IMAGES + 1)
    expected = np.floor(seems * sizes)
    lows = require("scipy.stats").beta.ppf(level, np.maximum(expected, 1), sizes - expected + 1)
    enough = np.flatnonzero((lows >= target) & (expected >= 1))
    return int(sizes[enough[0]]) if len(enough) else None


def right_answers(audit: AuditMetrics) -> int:
    """Return on how many images of the audit the vote was right."""
    return round((audit.accuracy or 0.0) * audit.images)
