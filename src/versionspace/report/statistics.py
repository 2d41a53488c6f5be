"""Statistics of few seeds: pure functions of a matrix of runs × methods, or of paired differences.

Random seeds do not depend on the method, so two methods with the same seed share split, initial labels and first
ensemble: their difference is *paired*. Results state what few pairs cannot show: n pairs give no two-sided Wilcoxon p
below 2/2ⁿ, and there is no bootstrap interval for fewer than eight pairs.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from versionspace import rng
from versionspace.extras import require
from versionspace.types import ArrayLike, Floats

LEVEL = 0.95
"""Confidence level of all intervals."""
BOOTSTRAP_FROM = 8
"""Pairs below which there is no bootstrap interval: resamples have too few distinct values."""
RESAMPLES = 9_999
_DECIMALS = 12
"""Decimal places to which differences are rounded, so that 0.9 − 0.8 and 0.8 − 0.7 tie."""


@dataclass(frozen=True)
class SampleMean:
    """Mean and sample standard deviation over seeds."""

    mean: float
    deviation: float | None
    """With n − 1 in the denominator; None for a single value."""
    count: int


@dataclass(frozen=True)
class Interval:
    """A confidence interval of level `LEVEL`."""

    low: float
    high: float


@dataclass(frozen=True)
class SignedRank:
    """The result of Wilcoxon's signed-rank test, exact and two-sided."""

    p: float
    pairs: int
    """The number of pairs that differ. Equal pairs are dropped, as in Wilcoxon 1945, which weakens the test."""
    smallest_p: float
    """The p of this many pairs if all differences had the same sign: 2/2ⁿ, and 1 for n = 0."""


@dataclass(frozen=True)
class PairedComparison:
    """Two methods, compared over the seeds that both have."""

    first: str
    second: str
    differences: Floats
    """first − second, by seed."""
    mean: float
    interval: Interval | None
    """Student's t; None for fewer than two pairs."""
    bootstrap: Interval | None
    """BCa; None for fewer than `BOOTSTRAP_FROM` pairs."""
    wins: int
    """Seeds on which the first method is better."""
    ties: int
    losses: int
    test: SignedRank
    holm_p: float
    """The p of the test, corrected by Holm's method for all pairs of methods."""


def sample_mean(values: ArrayLike) -> SampleMean | None:
    """Return the mean and sample standard deviation of the values that are not NaN; None if all are. Cost n.

    >>> sample_mean([1.0, 2.0, 3.0, float("nan")])
    SampleMean(mean=2.0, deviation=1.0, count=3)
    >>> sample_mean([5.0])
    SampleMean(mean=5.0, deviation=None, count=1)
    """
    known = _known(values)
    if not len(known):
        return None
    return SampleMean(float(known.mean()), float(known.std(ddof=1)) if len(known) > 1 else None, len(known))


def t_interval(differences: ArrayLike, level: float = LEVEL) -> Interval | None:
    """Return mean ± t_{n−1} · s/√n, which assumes roughly normal differences; None for n < 2.

    >>> interval = t_interval([1.0, 2.0, 3.0])       # t with 2 degrees of freedom is 4.303, s/√n is 0.577
    >>> round(interval.low, 3), round(interval.high, 3)
    (-0.484, 4.484)
    """
    sample = sample_mean(differences)
    if sample is None or sample.deviation is None:
        return None
    quantile = float(require("scipy.stats", "report").t.ppf((1 + level) / 2, sample.count - 1))
    half = quantile * sample.deviation / sample.count**0.5
    return Interval(sample.mean - half, sample.mean + half)


def signed_rank(differences: ArrayLike) -> SignedRank:
    """Return Wilcoxon's signed-rank test, exact with any ties. Cost n³.

    Zero differences are dropped; equal magnitudes share their mean rank. With W the smaller of the two rank sums,
    p = min(1, 2 · P(sum ≤ W)), counted over all 2ⁿ signs of these ranks. Wilcoxon 1945; Pratt 1959 on zeros.

    >>> signed_rank([3.0, 1.0, 4.0, 2.0])         # all positive: no four pairs give a smaller p
    SignedRank(p=0.125, pairs=4, smallest_p=0.125)
    >>> signed_rank([0.0, 0.0])
    SignedRank(p=1.0, pairs=0, smallest_p=1.0)
    """
    known = np.round(_known(differences), _DECIMALS)
    nonzero = known[known != 0]
    n = len(nonzero)
    if n == 0:
        return SignedRank(1.0, 0, 1.0)
    magnitudes = np.abs(nonzero)
    # Twice the mean rank is an integer: each smaller value counts twice, each equal one once, plus one.
    smaller, equal = (magnitudes < magnitudes[:, None]).sum(1), (magnitudes == magnitudes[:, None]).sum(1)
    doubled = (2 * smaller + equal + 1).astype(int)
    total = int(doubled.sum())
    ways = [1] + [0] * total  # Python integers, because 2ⁿ may exceed 64 bits
    for rank in doubled.tolist():
        ways = [ways[i] + (ways[i - rank] if i >= rank else 0) for i in range(total + 1)]
    positive = int(doubled[nonzero > 0].sum())
    tail = sum(ways[: min(positive, total - positive) + 1])
    return SignedRank(min(1.0, 2 * tail / 2**n), n, min(1.0, 2 / 2**n))


def holm(ps: ArrayLike) -> Floats:
    """Return p-values after Holm's correction for multiple tests: sorted, p_(k) · (m − k + 1), monotone, at most 1.

    Controls the family-wise error rate under any dependence between the tests. Holm 1979. Cost m log m.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    raw = np.asarray(ps, np.float64)
    order = np.argsort(raw, kind="stable")
    steps = raw[order] * np.arange(len(raw), 0, -1)
    corrected = np.empty(len(raw))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps)) if len(raw) else steps
    return corrected


def bootstrap(differences: ArrayLike, seed: int = 0, level: float = LEVEL) -> Interval | None:
    """Return the bias-corrected and accelerated interval of the mean (Efron 1987); None for n < `BOOTSTRAP_FROM`.

    Uses 9,999 resamples from a generator derived from the seed. Cost 9,999 · n.

    >>> bootstrap([1.0] * 7) is None, bootstrap([1.0] * 8)
    (True, Interval(low=1.0, high=1.0))
    """
    known = _known(differences)
    if len(known) < BOOTSTRAP_FROM:
        return None
    if np.ptp(known) == 0:
        return Interval(float(known[0]), float(known[0]))
    interval = require("scipy.stats", "report").bootstrap(
        (known,), np.mean, n_resamples=RESAMPLES, confidence_level=level, method="BCa", vectorized=True,
        rng=rng.generator(seed, "report", "bootstrap"),
    ).confidence_interval  # fmt: skip
    return Interval(float(interval.low), float(interval.high))


def compare_pairs(
    matrix_RK: ArrayLike, methods: tuple[str, ...], *, better: int = 1, seed: int = 0
) -> tuple[PairedComparison, ...]:
    """Compare every two columns of a matrix of R runs (one seed per row) × K methods; NaN where a run is missing.

    ``better``: 1 if larger is better, −1 if smaller is. It decides who wins, not the sign of the difference. Holm's
    correction covers all K(K − 1)/2 pairs; pairs without a common seed are left out. Cost K²·(R³ + 9,999·R).

    >>> pair, = compare_pairs([[0.9, 0.8], [0.7, 0.7], [0.8, 0.5]], ("gvd", "random"))
    >>> round(pair.mean, 3), pair.wins, pair.ties, pair.losses, pair.test.p
    (0.133, 2, 1, 0, 0.5)
    """
    matrix = np.asarray(matrix_RK, np.float64)
    assert matrix.shape[1:] == (len(methods),), "one column per method"
    tested = []
    for i, j in combinations(range(len(methods)), 2):
        differences = np.round(_known(matrix[:, i] - matrix[:, j]), _DECIMALS)
        if len(differences):
            tested.append((methods[i], methods[j], differences, signed_rank(differences)))
    corrected = holm([test.p for *_, test in tested])
    return tuple(
        PairedComparison(
            first=first, second=second, differences=differences, mean=float(differences.mean()),
            interval=t_interval(differences), bootstrap=bootstrap(differences, rng.key(seed, first, second)),
            wins=int((better * differences > 0).sum()), ties=int((differences == 0).sum()),
            losses=int((better * differences < 0).sum()), test=test, holm_p=float(p),
        )
        for (first, second, differences, test), p in zip(tested, corrected, strict=True)
    )  # fmt: skip


def area(labels: ArrayLike, values: ArrayLike) -> float | None:
    """Return the mean height of a curve: its area by the trapezoidal rule, divided by its width in labels.

    None for fewer than two points, or if a value is NaN.

    >>> area([10, 20, 40], [0.0, 1.0, 1.0])       # (5 + 20) / 30
    0.8333333333333334
    """
    x, y = np.asarray(labels, np.float64), np.asarray(values, np.float64)
    if len(x) < 2 or np.isnan(y).any():
        return None
    return float(((y[1:] + y[:-1]) / 2 * np.diff(x)).sum() / (x[-1] - x[0]))


def labels_to_reach(labels: ArrayLike, values: ArrayLike, target: float) -> float | None:
    """Return the labels at which a curve first reaches the target, interpolated linearly; None if it never does.

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


def _known(values: ArrayLike) -> Floats:
    array = np.asarray(values, np.float64)
    known: Floats = array[~np.isnan(array)]
    return known
