"""Methods that look at the members' probabilities on an image, and at nothing else.

With p̄ the mean of the members' probabilities:

    entropy            H[p̄]                                nats
    margin             p̄₂ − p̄₁                             the two largest; 0 is the most doubtful
    least-confidence   1 − max_c p̄_c
    bald               H[p̄] − mean_m H[p_m]                nats (Houlsby et al. 2011, Gal et al. 2017)

All zero-safe: 0 ln 0 is 0. Sums run over members and classes in order, so that chunks change no bit.

Methods with nothing to compute: a seeded draw, and the sizes of adversarial perturbations.
"""

from collections.abc import Callable

import numpy as np

from versionspace import rng
from versionspace.query.inputs import Problem
from versionspace.types import Array, Floats


def random(problem: Problem) -> Floats:
    """Uniform numbers, functions of seed and position."""
    return rng.uniforms(rng.key(problem.seed, "random"), problem.positions())


def smallest_perturbation(problem: Problem) -> Floats:
    """dfal: minus the size of the smallest perturbation that changes the network's mind (Ducoffe, Precioso 2018)."""
    assert problem.perturbations is not None
    return 0.0 - problem.perturbations


_TINY = np.finfo(np.float64).tiny


def entropies(probs: Array) -> Floats:
    """H over the last axis, in nats."""
    terms = probs * np.log(np.maximum(probs, _TINY))
    total = terms[..., 0].copy()
    for c in range(1, terms.shape[-1]):
        total += terms[..., c]
    return 0.0 - total


def mean_over_members(probs_MNC: Array) -> Floats:
    """p̄ (N, C)."""
    total: Floats = probs_MNC[0].astype(np.float64)
    for member in probs_MNC[1:]:
        total += member
    return total / len(probs_MNC)


def _each_chunk(problem: Problem, score: Callable[[Array], Floats]) -> Floats:
    beliefs = problem.beliefs()
    probs = beliefs.probabilities()
    return np.concatenate([score(probs[:, chunk]) for chunk in beliefs.chunks()])


def entropy(problem: Problem) -> Floats:
    """H[p̄]."""
    return _each_chunk(problem, lambda probs: entropies(mean_over_members(probs)))


def _margin(probs_MNC: Array) -> Floats:
    mean = mean_over_members(probs_MNC)
    if mean.shape[1] == 1:
        return np.full(len(mean), -1.0)
    two = np.partition(mean, -2, axis=1)[:, -2:]
    return two[:, 0] - two[:, 1]


def margin(problem: Problem) -> Floats:
    """p̄₂ − p̄₁, at most 0."""
    return _each_chunk(problem, _margin)


def least_confidence(problem: Problem) -> Floats:
    """1 − max_c p̄_c."""
    return _each_chunk(problem, lambda probs: 1.0 - mean_over_members(probs).max(axis=1))


def mean_entropy(probs_MNC: Array) -> Floats:
    """mean_m H[p_m] (N,)."""
    total = np.zeros(probs_MNC.shape[1])
    for member in probs_MNC:
        total += entropies(np.ascontiguousarray(member, np.float64))
    return total / len(probs_MNC)


def _bald(probs_MNC: Array) -> Floats:
    # Mutual information is at least 0; rounding may say −1e-16.
    return np.maximum(entropies(mean_over_members(probs_MNC)) - mean_entropy(probs_MNC), 0.0)


def bald(problem: Problem) -> Floats:
    """H[p̄] − mean_m H[p_m]."""
    return _each_chunk(problem, _bald)
