"""Statistics of few seeds: pure functions on a matrix of runs × methods, or on the differences of two columns.

Seeds never contain the method's name, so two methods with the same seed share split, first labels and first ensemble:
their difference is *paired*. What few pairs cannot show is said beside what they do show: n pairs reach no two-sided
Wilcoxon p below 2/2ⁿ, and a bootstrap of fewer than eight is not made.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from versionspace import rng
from versionspace.extras import require
from versionspace.types import ArrayLike, Floats

LEVEL = 0.95
"""Of every interval."""
BOOTSTRAP_FROM = 8
"""Pairs; fewer resample too few distinct values for an interval to mean anything."""
RESAMPLES = 9_999
_DECIMALS = 12
"""Differences are rounded to this, so that 0.9 − 0.8 and 0.8 − 0.7 tie as they should."""


@dataclass(frozen=True)
class Spread:
    """Mean and sample deviation over seeds."""

    mean: float
    deviation: float | None
    """With n − 1 in the denominator; None for a single value: one seed has no spread."""
    count: int


@dataclass(frozen=True)
class Interval:
    """An interval of level `LEVEL`."""

    low: float
    high: float


@dataclass(frozen=True)
class SignedRank:
    """Wilcoxon's signed-rank test, exact and two-sided."""

    p: float
    pairs: int
    """That differ: equal pairs are left out, as Wilcoxon did, and make the test weaker."""
    smallest: float
    """The p that so many pairs would have, did all of them point the same way: 2/2ⁿ, and 1 for none."""


@dataclass(frozen=True)
class Pair:
    """One method against another over the seeds that both have."""

    one: str
    other: str
    differences: Floats
    """one − other, by seed."""
    mean: float
    interval: Interval | None
    """Student's t; None for fewer than two pairs."""
    bootstrap: Interval | None
    """BCa; None for fewer than `BOOTSTRAP_FROM` pairs."""
    wins: int
    ties: int
    losses: int
    test: SignedRank
    holm: float
    """The test's p, corrected for all pairs of the matrix by Holm's method."""


def spread(values: ArrayLike) -> Spread | None:
    """Mean and sample deviation of the values that are there (NaN: not there); None where none is. Cost n.

    >>> spread([1.0, 2.0, 3.0, float("nan")])
    Spread(mean=2.0, deviation=1.0, count=3)
    >>> spread([5.0])
    Spread(mean=5.0, deviation=None, count=1)
    """
    there = _there(values)
    if not len(there):
        return None
    return Spread(float(there.mean()), float(there.std(ddof=1)) if len(there) > 1 else None, len(there))


def t_interval(differences: ArrayLike, level: float = LEVEL) -> Interval | None:
    """mean ± t_{n−1} · s/√n, which supposes differences that are about normal; None for n < 2.

    >>> found = t_interval([1.0, 2.0, 3.0])       # t with 2 degrees of freedom is 4.303, s/√n is 0.577
    >>> round(found.low, 3), round(found.high, 3)
    (-0.484, 4.484)
    """
    found = spread(differences)
    if found is None or found.deviation is None:
        return None
    half = (
        float(require("scipy.stats", "report").t.ppf((1 + level) / 2, found.count - 1))
        * found.deviation
        / found.count**0.5
    )
    return Interval(found.mean - half, found.mean + half)


def signed_rank(differences: ArrayLike) -> SignedRank:
    """Wilcoxon's signed-rank test, exact for any ties. Cost n³.

    Differences of 0 are left out; equal sizes share their mean rank. With W the smaller of the two sums of ranks,
    p = min(1, 2 · P(sum ≤ W)), counted over all 2ⁿ signs of these very ranks. Wilcoxon 1945; Pratt 1959 on zeros.

    >>> signed_rank([3.0, 1.0, 4.0, 2.0])         # all positive: no four pairs say more
    SignedRank(p=0.125, pairs=4, smallest=0.125)
    >>> signed_rank([0.0, 0.0])
    SignedRank(p=1.0, pairs=0, smallest=1.0)
    """
    there = np.round(_there(differences), _DECIMALS)
    there = there[there != 0]
    n = len(there)
    if n == 0:
        return SignedRank(1.0, 0, 1.0)
    sizes = np.abs(there)
    # Twice the mean rank is whole: those below count twice, those equal once, and the value itself once more.
    doubled = (2 * (sizes < sizes[:, None]).sum(1) + (sizes == sizes[:, None]).sum(1) + 1).astype(int)
    total = int(doubled.sum())
    ways = [1] + [0] * total  # Python's integers: 2ⁿ must not overflow
    for rank in doubled.tolist():
        ways = [ways[i] + (ways[i - rank] if i >= rank else 0) for i in range(total + 1)]
    positive = int(doubled[there > 0].sum())
    tail = sum(ways[: min(positive, total - positive) + 1])
    return SignedRank(min(1.0, 2 * tail / 2**n), n, min(1.0, 2 / 2**n))


def holm(ps: ArrayLike) -> Floats:
    """Holm's correction for several tests: sorted, the k-th smallest of m times m − k + 1, never falling, at most 1.

    All claims together err with at most the level's probability, however the tests depend. Holm 1979. Cost m log m.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    raw = np.asarray(ps, np.float64)
    order = np.argsort(raw, kind="stable")
    steps = raw[order] * np.arange(len(raw), 0, -1)
    out = np.empty(len(raw))
    out[order] = np.minimum(1.0, np.maximum.accumulate(steps)) if len(raw) else steps
    return out


def bootstrap(differences: ArrayLike, seed: int = 0, level: float = LEVEL) -> Interval | None:
    """The bias-corrected and accelerated interval of the mean (Efron 1987); None for n < `BOOTSTRAP_FROM`.

    Resampled 9,999 times by a generator that is named by the seed. Cost 9,999 · n.

    >>> bootstrap([1.0] * 7) is None, bootstrap([1.0] * 8)
    (True, Interval(low=1.0, high=1.0))
    """
    there = _there(differences)
    if len(there) < BOOTSTRAP_FROM:
        return None
    if np.ptp(there) == 0:
        return Interval(float(there[0]), float(there[0]))
    found = require("scipy.stats", "report").bootstrap(
        (there,), np.mean, n_resamples=RESAMPLES, confidence_level=level, method="BCa", vectorized=True,
        rng=rng.generator(seed, "report", "bootstrap"),
    ).confidence_interval  # fmt: skip
    return Interval(float(found.low), float(found.high))


def pairs(matrix_RK: ArrayLike, methods: tuple[str, ...], *, better: int = 1, seed: int = 0) -> tuple[Pair, ...]:
    """Every two methods of a matrix of R runs (one seed a row) × K methods; NaN where a run is missing.

    ``better`` is 1 where larger is better, −1 where smaller is: it decides who wins, not the sign of the difference.
    Holm's family is all K(K − 1)/2 pairs. Cost K²·(R³ + 9,999·R).

    >>> found, = pairs([[0.9, 0.8], [0.7, 0.7], [0.8, 0.5]], ("gvd", "random"))
    >>> round(found.mean, 3), found.wins, found.ties, found.losses, found.test.p
    (0.133, 2, 1, 0, 0.5)
    """
    matrix = np.asarray(matrix_RK, np.float64)
    assert matrix.shape[1:] == (len(methods),), "one column a method"
    found = []
    for i, j in combinations(range(len(methods)), 2):
        differences = np.round(_there(matrix[:, i] - matrix[:, j]), _DECIMALS)
        if len(differences):
            found.append((methods[i], methods[j], differences, signed_rank(differences)))
    corrected = holm([test.p for *_, test in found])
    return tuple(
        Pair(
            one=one, other=other, differences=differences, mean=float(differences.mean()),
            interval=t_interval(differences), bootstrap=bootstrap(differences, rng.key(seed, one, other)),
            wins=int((better * differences > 0).sum()), ties=int((differences == 0).sum()),
            losses=int((better * differences < 0).sum()), test=test, holm=float(p),
        )
        for (one, other, differences, test), p in zip(found, corrected, strict=True)
    )  # fmt: skip


def area(labels: ArrayLike, values: ArrayLike) -> float | None:
    """The mean height of a curve: its area by the trapezoid rule over its width in labels; None below two points.

    >>> area([10, 20, 40], [0.0, 1.0, 1.0])       # (5 + 20) / 30
    0.8333333333333334
    """
    x, y = np.asarray(labels, np.float64), np.asarray(values, np.float64)
    if len(x) < 2 or np.isnan(y).any():
        return None
    return float(((y[1:] + y[:-1]) / 2 * np.diff(x)).sum() / (x[-1] - x[0]))


def labels_to_reach(labels: ArrayLike, values: ArrayLike, target: float) -> float | None:
    """The labels at which a curve first reaches the target, straight lines between its points; None where never.

    >>> labels_to_reach([10, 20, 30], [0.5, 0.7, 0.6], 0.6), labels_to_reach([10, 20], [0.5, 0.7], 0.8)
    (15.0, None)
    """
    x, y = np.asarray(labels, np.float64), np.asarray(values, np.float64)
    reached = np.flatnonzero(y >= target)
    if not len(reached):
        return None
    i = int(reached[0])
    if i == 0 or y[i] == target or np.isnan(y[i - 1]):
        return float(x[i])
    return float(x[i - 1] + (target - y[i - 1]) / (y[i] - y[i - 1]) * (x[i] - x[i - 1]))


def _there(values: ArrayLike) -> Floats:
    array = np.asarray(values, np.float64)
    out: Floats = array[~np.isnan(array)]
    return out
