"""Methods that ask for the images whose labels cover most of the diameter that is left.

A label at l speaks for the images near it. With features scaled to unit length and a kernel of width σ,

    k(x, l)       = exp(−‖x − l‖² / 2σ²)
    covered(x; L) = max_{l ∈ L} k(x, l)
    D(L)          = E_x[ δ(x) · (1 − covered(x; L)) ]                        the uncovered diameter
    gain(x̃)       = E_x[ δ(x) · max(k(x, x̃) − covered(x; L), 0) ]            by how much a label at x̃ reduces it

The greedy choice of the largest gain is within 1 − 1/e of the best set, because D is monotone and submodular in L.

    maxherding  δ = 1                                     Bae, Noh and Sutherland 2024
    pwd-cover   δ = the Gibbs error of the members        PWD is the mean Gibbs error
    gvd-cover   δ = the variation ratio of the members    GVD (hard vote) is the mean variation ratio

With probabilities, the Gibbs error is 1 − Σ_c p̄_c², the chance that two members that draw their labels differ, and the
variation ratio is 1 − max_c p̄_c. Without a pool, or where all members agree on every image, δ = 1: the same methods
serve a cold start.

The expectation is over at most `SAMPLE` images of the pool, and candidates are processed in blocks: there is never an
N×N array. Submodularity makes lazy evaluation exact: an image whose earlier gain is below the best current one is not
evaluated again.
"""

import numpy as np

from versionspace import rng
from versionspace.query.inputs import Problem
from versionspace.query.ranking import Selection
from versionspace.space import gibbs_error_of, split_members, variation_ratio_of
from versionspace.types import Array, Floats, Ints

SAMPLE = 5_000
"""Largest number of pool images over which the expectation is taken."""
RADIUS = 0.5
"""The kernel's width σ as a share of the median distance between two images of the pool."""
_ELEMENTS = 1 << 18
"""Approximate number of kernel values computed at once: a block that stays in the processor's cache."""
_REFRESHED = 64
"""Candidates whose gains are evaluated together in a lazy step."""


def herding_gain(problem: Problem) -> Floats:
    """Return the utilities of maxherding at the first step. Cost N·(T + L)·F."""
    return _first_gains(problem, np.ones(problem.images))


def pwd_cover_gain(problem: Problem) -> Floats:
    """Return the utilities of pwd-cover at the first step. Cost N·(T + L)·F."""
    return _first_gains(problem, _gibbs_errors(problem))


def gvd_cover_gain(problem: Problem) -> Floats:
    """Return the utilities of gvd-cover at the first step. Cost N·(T + L)·F."""
    return _first_gains(problem, _variation_ratios(problem))


def choose_herding(problem: Problem, k: int) -> Selection:
    """Choose k images by MaxHerding.

    Cost N·(T + L)·F, and up to N·T·F for each pick. On features of a pretrained network, 20 picks evaluated the pool
    3 times over in all, and 100 picks 5 times; features without clusters need a pass for almost every pick.
    """
    return _choose(problem, k, np.ones(problem.images))


def choose_pwd_cover(problem: Problem, k: int) -> Selection:
    """Choose k images that reduce the uncovered PWD most. Cost as for `choose_herding`."""
    return _choose(problem, k, _gibbs_errors(problem))


def choose_gvd_cover(problem: Problem, k: int) -> Selection:
    """Choose k images that reduce the uncovered GVD most. Cost as for `choose_herding`."""
    return _choose(problem, k, _variation_ratios(problem))


class Coverage:
    """The uncovered diameter over a sample of the pool, as images are chosen.

    Args:
        features: (N, F).
        labelled: (L, F), or None.
        weights: δ, (N,), at least 0.
        seed: of the sample.
    """

    def __init__(self, features: Array, labelled: Array | None, weights: Floats, seed: int) -> None:
        self.points = _unit_length(features)
        sample = _sample(len(features), seed)
        self.sample = self.points[sample]
        """(T, F)."""
        self.sample_norms = _squared_norms(self.sample)
        sampled = weights[sample] if weights[sample].any() else np.ones(len(sample))
        self.weights = sampled.astype(np.float32)
        self.scale = -0.5 / max(median_distance(self.sample, seed) * RADIUS, 1e-6) ** 2
        self.covered = np.zeros(len(sample), np.float32)
        """(T,): max_l k(x, l)."""
        if labelled is not None and len(labelled):
            for block in _blocks(len(labelled), len(sample)):
                self._cover(_unit_length(labelled[block]))

    def gains(self, candidates: Ints) -> Floats:
        """Return the gain of each of these images of the pool, float64 (len(candidates),)."""
        gains = np.empty(len(candidates))
        for block in _blocks(len(candidates), len(self.sample)):
            kernel = self._kernel(self.points[candidates[block]])
            kernel -= self.covered
            np.maximum(kernel, 0.0, out=kernel)
            gains[block] = kernel @ self.weights  # float32: relative errors of 1e-6 do not matter to a choice
        return gains / len(self.sample)

    def add(self, image: int) -> None:
        """Cover what a label of this image of the pool covers."""
        self._cover(self.points[image : image + 1])

    def uncovered(self) -> float:
        """Return D(L)."""
        return float(self.weights @ (1.0 - self.covered)) / len(self.sample)

    def _cover(self, centres: Array) -> None:
        np.maximum(self.covered, self._kernel(centres).max(axis=0), out=self.covered)

    def _kernel(self, centres: Array) -> Array:
        """Return k(x, l) for these centres l and all images x of the sample, float32 (len(centres), T)."""
        squared: Array = centres @ self.sample.T
        squared *= -2.0
        squared += _squared_norms(centres)[:, None]
        squared += self.sample_norms
        np.maximum(squared, 0.0, out=squared)
        squared *= self.scale
        np.exp(squared, out=squared)
        return squared


def median_distance(points: Array, seed: int) -> float:
    """Return the median distance between two different points, estimated from 10,000 pairs; 1 if there is only one."""
    N = len(points)
    if N < 2:
        return 1.0
    draws = rng.generator(seed, "pairs")
    first, offset = draws.integers(0, N, 10_000), draws.integers(1, N, 10_000)
    gap = points[first] - points[(first + offset) % N]
    return float(np.median(np.sqrt(np.einsum("nf,nf->n", gap, gap, dtype=np.float64))))


def _choose(problem: Problem, k: int, weights: Floats) -> Selection:
    coverage = _coverage(problem, weights)
    ties = problem.tie_hashes(problem.positions())
    bounds = coverage.gains(np.arange(problem.images))  # gains at an earlier step are upper bounds of current ones
    evaluated = np.zeros(problem.images, np.int64)  # the step in which each bound was computed
    taken = np.zeros(problem.images, bool)
    indices, utilities = np.empty(k, np.int64), np.empty(k)
    for step in range(k):
        while True:
            current = np.where(~taken & (evaluated == step), bounds, -np.inf)
            best = current.max()
            stale = np.flatnonzero(~taken & (evaluated < step) & (bounds >= best))
            if not len(stale):
                break
            if len(stale) > _REFRESHED:
                stale = stale[np.argpartition(-bounds[stale], _REFRESHED)[:_REFRESHED]]
            bounds[stale] = np.minimum(bounds[stale], coverage.gains(stale))
            evaluated[stale] = step
        tied = np.flatnonzero(current == best)
        chosen = int(tied[np.argmin(ties[tied])])
        indices[step], utilities[step] = chosen, best
        taken[chosen] = True
        coverage.add(chosen)
    return Selection(indices, utilities)


def _first_gains(problem: Problem, weights: Floats) -> Floats:
    return _coverage(problem, weights).gains(np.arange(problem.images))


def _coverage(problem: Problem, weights: Floats) -> Coverage:
    assert problem.features is not None
    return Coverage(problem.features, problem.labelled, weights, rng.key(problem.seed, "coverage"))


def _gibbs_errors(problem: Problem) -> Floats:
    if problem.pool is None:
        return np.ones(problem.images)
    if problem.pool.probs is None:
        return gibbs_error_of(split_members(problem.pool))
    return 1.0 - np.concatenate([np.einsum("nc,nc->n", mean, mean) for mean in _mean_probabilities(problem)])


def _variation_ratios(problem: Problem) -> Floats:
    if problem.pool is None:
        return np.ones(problem.images)
    if problem.pool.probs is None:
        return variation_ratio_of(split_members(problem.pool))
    return 1.0 - np.concatenate([mean.max(axis=1) for mean in _mean_probabilities(problem)])


def _mean_probabilities(problem: Problem) -> list[Floats]:
    pool = problem.beliefs()
    return [pool.probs_at(chunk).mean(axis=0) for chunk in pool.chunks()]


def _sample(images: int, seed: int) -> Ints:
    """Return the positions of at most `SAMPLE` images, ascending; a function of seed and number of images."""
    if images <= SAMPLE:
        return np.arange(images)
    order = np.argpartition(rng.hashes(rng.key(seed, "sample"), np.arange(images)), SAMPLE)
    return np.sort(order[:SAMPLE])


def _unit_length(features: Array) -> Array:
    """Return float32 features scaled to length 1; features that are all 0 stay so."""
    norms = np.sqrt(_squared_norms(features))[:, None]
    return (features / np.where(norms > 0, norms, 1.0)).astype(np.float32)


def _squared_norms(rows: Array) -> Array:
    squares: Array = np.einsum("nf,nf->n", rows, rows)
    return squares


def _blocks(count: int, width: int) -> list[slice]:
    step = max(1, _ELEMENTS // max(1, width))
    return [slice(i, min(i + step, count)) for i in range(0, count, step)]
