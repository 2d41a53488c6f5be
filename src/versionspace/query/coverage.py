"""Methods that ask for the images whose labels cover most of what is uncertain.

A label at l speaks for the images near it. In leading principal components of the features, scaled to length 1
(`versionspace.query.principal_components`), and with a kernel of width σ,

    k(x, l)       = exp(−‖x − l‖² / 2σ²)
    covered(x; L) = max_{l ∈ L} k(x, l)
    D(L)          = E_x[ w(x) · (1 − covered(x; L)) ]                        the uncovered diameter
    gain(x̃)       = E_x[ w(x) · max(k(x, x̃) − covered(x; L), 0) ]            by how much a label at x̃ reduces it

The greedy choice of the largest gain is within 1 − 1/e of the best set, because D is monotone and submodular in L.

    maxherding  w = 1                                     Bae, Noh and Sutherland 2024
    uherding    w = 1 − margin of the mean probabilities  Bae, Oliveira and Sutherland 2025
    pwd-cover   w = 1 − c·(1 − δ), δ = the Gibbs error of the members       PWD is the mean Gibbs error
    gvd-cover   w = 1 − c·(1 − δ), δ = the variation ratio of the members   GVD (hard vote) is the mean of it

Here c is covered(x; L) at the start of the query. Members that agree on an image are evidence only if a label is near
it: elsewhere they may agree on what is wrong. With few labels nearly everything is uncovered, and w is nearly 1; with
many, w becomes δ.

With probabilities, the Gibbs error is 1 − Σ_c p̄_c², the chance that two members that draw their labels differ, and the
variation ratio is 1 − max_c p̄_c. Without a pool, or where w is 0 on every image, w = 1: the same methods serve a cold
start.

The expectation is over at most `SAMPLE` images of the pool. ProbCover (`versionspace.query.probcover`) is the same with
w = 1, k = 1 within a radius and 0 outside, and features as they are, scaled to length 1.
"""

from collections.abc import Callable

import numpy as np

from versionspace import rng
from versionspace.query import uncertainty
from versionspace.query.cover import Cover, Gaussian
from versionspace.query.greedy_cover import choose_greedily
from versionspace.query.inputs import Problem
from versionspace.query.principal_components import PrincipalComponents
from versionspace.query.ranking import Selection
from versionspace.query.unit_rows import blocks, sample_rows, squared_distances
from versionspace.space import gibbs_error_of, split_members, variation_ratio_of
from versionspace.types import Array, Floats

SAMPLE = 5_000
"""Largest number of pool images over which the expectation is taken."""
RADIUS = 0.5
"""The kernel's width σ as a share of the median distance between two images of the pool."""
_SMALLEST = 1e-6
"""Smallest width of a kernel, and largest distance between two images that count as copies."""


def herding_gain(problem: Problem) -> Floats:
    """Return the utilities of maxherding at the first step. Cost N·(T + L)·F."""
    return _first_gains(problem, everywhere, radius)


def uherding_gain(problem: Problem) -> Floats:
    """Return the utilities of uherding at the first step. Cost N·(T + L)·F + L²·F."""
    return _first_gains(problem, small_margins, uherding_radius)


def pwd_cover_gain(problem: Problem) -> Floats:
    """Return the utilities of pwd-cover at the first step. Cost N·(T + L)·F."""
    return _first_gains(problem, gibbs_errors, radius, doubt=True)


def gvd_cover_gain(problem: Problem) -> Floats:
    """Return the utilities of gvd-cover at the first step. Cost N·(T + L)·F."""
    return _first_gains(problem, variation_ratios, radius, doubt=True)


def choose_herding(problem: Problem, k: int) -> Selection:
    """Choose k images by MaxHerding. Cost N·(T + L)·F, then about N·T·ln k; see `choose_greedily`."""
    return _choose(problem, k, everywhere, radius)


def choose_uherding(problem: Problem, k: int) -> Selection:
    """Choose k images by Uncertainty Herding. Cost as for `choose_herding`, and L²·F.

    The method's authors calibrate the probabilities by a temperature first. That is left to the caller, who has the
    labels: pass calibrated probabilities.
    """
    return _choose(problem, k, small_margins, uherding_radius)


def choose_pwd_cover(problem: Problem, k: int) -> Selection:
    """Choose k images that reduce the uncovered PWD most. Cost as for `choose_herding`."""
    return _choose(problem, k, gibbs_errors, radius, doubt=True)


def choose_gvd_cover(problem: Problem, k: int) -> Selection:
    """Choose k images that reduce the uncovered GVD most. Cost as for `choose_herding`."""
    return _choose(problem, k, variation_ratios, radius, doubt=True)


def everywhere(problem: Problem) -> Floats:
    """Return δ = 1, (N,)."""
    return np.ones(problem.images)


def small_margins(problem: Problem) -> Floats:
    """Return δ = 1 − margin of the mean probabilities, (N,); 1 without a pool."""
    return np.ones(problem.images) if problem.pool is None else 1.0 + uncertainty.margin(problem)


def gibbs_errors(problem: Problem) -> Floats:
    """Return δ = the Gibbs error, (N,), of votes or of drawn labels; 1 without a pool."""
    if problem.pool is None:
        return np.ones(problem.images)
    if problem.pool.probs is None:
        return gibbs_error_of(split_members(problem.pool))
    return 1.0 - np.concatenate([np.einsum("nc,nc->n", mean, mean) for mean in _mean_probabilities(problem)])


def variation_ratios(problem: Problem) -> Floats:
    """Return δ = the variation ratio, (N,), of votes or of drawn labels; 1 without a pool."""
    if problem.pool is None:
        return np.ones(problem.images)
    if problem.pool.probs is None:
        return variation_ratio_of(split_members(problem.pool))
    return 1.0 - np.concatenate([mean.max(axis=1) for mean in _mean_probabilities(problem)])


def _mean_probabilities(problem: Problem) -> list[Floats]:
    pool = problem.beliefs()
    return [pool.probs_at(chunk).mean(axis=0) for chunk in pool.chunks()]


def radius(sample: Array, labelled: Array, seed: int) -> float:
    """Return the kernel's width σ: `RADIUS` times the median distance of two images of the sample.

    Args:
        sample: (T, F), float32 of length 1.
        labelled: (L, F), float32 of length 1; L may be 0.
        seed: of the pairs that are compared.
    """
    return max(median_distance(sample, seed) * RADIUS, _SMALLEST)


def uherding_radius(sample: Array, labelled: Array, seed: int) -> float:
    """Return the kernel's width σ by the rule of Uncertainty Herding; arguments as for `radius`.

    Its kernel exp(−d²/r²) has as radius r the smallest distance between two different labelled images. While there are
    fewer than two of them, the result is that of `radius`.
    """
    smallest = np.inf
    for some in blocks(len(labelled), 1_000):
        squared = squared_distances(labelled[some].astype(np.float64), labelled.astype(np.float64))
        smallest = min(smallest, float(squared[squared > _SMALLEST**2].min(initial=np.inf)))
    return radius(sample, labelled, seed) if np.isinf(smallest) else float(np.sqrt(smallest / 2))


def median_distance(points: Array, seed: int) -> float:
    """Return the median distance between two different points, estimated from 10,000 pairs; 1 if there is only one."""
    N = len(points)
    if N < 2:
        return 1.0
    draws = rng.generator(seed, "pairs")
    first, offset = draws.integers(0, N, 10_000), draws.integers(1, N, 10_000)
    second, distances = (first + offset) % N, np.empty(10_000)
    for some in blocks(10_000, 1_000):
        gap = points[first[some]] - points[second[some]]
        distances[some] = np.sqrt(np.einsum("nf,nf->n", gap, gap, dtype=np.float64))
    return float(np.median(distances))


_Weights = Callable[[Problem], Floats]
_Radius = Callable[[Array, Array, int], float]


def coverage_kernel(features: Array) -> Array:
    """Return k(x, l) of all pairs of these images, float32 (N, N): for a sample, not for a pool.

    >>> coverage_kernel(np.array([[2.0, 0.0], [3.0, 0.0], [0.0, 1.0], [0.0, 1.0]])).round(2)[0]
    array([1.  , 1.  , 0.14, 0.14], dtype=float32)
    """
    if len(features) == 0:
        return np.empty((0, 0), np.float32)
    points = PrincipalComponents(features, np.arange(len(features)), seed=0)(features)
    return Gaussian(radius(points, points[:0], seed=0))(squared_distances(points, points))


def _choose(problem: Problem, k: int, weights: _Weights, width: _Radius, *, doubt: bool = False) -> Selection:
    ties = problem.tie_hashes()
    return choose_greedily(_cover(problem, weights, width, doubt), problem.images, k, ties)


def _first_gains(problem: Problem, weights: _Weights, width: _Radius, *, doubt: bool = False) -> Floats:
    return _cover(problem, weights, width, doubt).gains(np.arange(problem.images))


def _cover(problem: Problem, weights: _Weights, width: _Radius, doubt: bool) -> Cover:
    assert problem.features is not None
    seed = rng.key(problem.seed, "coverage")
    sample = sample_rows(problem.images, SAMPLE, seed)
    project = PrincipalComponents(problem.features, sample, seed)
    points = project(problem.features)
    labelled = points[:0] if problem.labelled is None else project(problem.labelled)
    sigma = width(points[sample], labelled, seed)
    return Cover(points, labelled, sample, weights(problem)[sample], Gaussian(sigma), doubt=doubt)
