"""Methods that score each image by the members' probabilities, by a perturbation, or at random.

With p̄ the mean of the members' probabilities:

    entropy            H[p̄]                                nats
    margin             p̄₂ − p̄₁                             of the two largest; 0 is the most uncertain
    least-confidence   1 − max_c p̄_c
    bald               H[p̄] − mean_m H[p_m]                nats (Houlsby et al. 2011, Gal et al. 2017)
    dfal               −‖smallest adversarial perturbation‖ (Ducoffe and Precioso 2018)
    random             uniform in [0, 1)

Entropies treat 0 ln 0 as 0. Sums over members and classes run in order, so that the result is bitwise independent of
the chunking.
"""

from collections.abc import Callable

import numpy as np

from versionspace import rng
from versionspace.query.inputs import Problem
from versionspace.types import Array, Floats

_TINY = np.finfo(np.float64).tiny


def random(problem: Problem) -> Floats:
    """Return uniform numbers that are functions of seed and position."""
    return rng.uniforms(rng.key(problem.seed, "random"), problem.positions())


def smallest_perturbation(problem: Problem) -> Floats:
    """Return the utilities of dfal: minus the size of the smallest perturbation that changes the predicted class."""
    assert problem.perturbations is not None
    return 0.0 - problem.perturbations


def entropy(problem: Problem) -> Floats:
    """Return H[p̄]."""
    return _score_chunks(problem, lambda probs: entropies(mean_over_members(probs)))


def margin(problem: Problem) -> Floats:
    """Return p̄₂ − p̄₁, at most 0."""
    return _score_chunks(problem, _margin)


def least_confidence(problem: Problem) -> Floats:
    """Return 1 − max_c p̄_c."""
    return _score_chunks(problem, lambda probs: 1.0 - mean_over_members(probs).max(axis=1))


def bald(problem: Problem) -> Floats:
    """Return H[p̄] − mean_m H[p_m]."""
    return _score_chunks(problem, _bald)


def entropies(probs: Array) -> Floats:
    """Return H over the last axis, in nats."""
    terms = probs * np.log(np.maximum(probs, _TINY))
    total = terms[..., 0].copy()
    for c in range(1, terms.shape[-1]):
        total += terms[..., c]
    return 0.0 - total


def mean_over_members(probs_MNC: Array) -> Floats:
    """Return p̄ (N, C)."""
    total: Floats = probs_MNC[0].astype(np.float64)
    for member in probs_MNC[1:]:
        total += member
    return total / len(probs_MNC)


def mean_entropy(probs_MNC: Array) -> Floats:
    """Return mean_m H[p_m] (N,)."""
    total = np.zeros(probs_MNC.shape[1])
    for member in probs_MNC:
        total += entropies(np.ascontiguousarray(member, np.float64))
    return total / len(probs_MNC)


def _score_chunks(problem: Problem, score: Callable[[Array], Floats]) -> Floats:
    beliefs = problem.beliefs()
    probs = beliefs.probabilities()
    return np.concatenate([score(probs[:, chunk]) for chunk in beliefs.chunks()])


def _margin(probs_MNC: Array) -> Floats:
    mean = mean_over_members(probs_MNC)
    if mean.shape[1] == 1:
        return np.full(len(mean), -1.0)
    largest = np.partition(mean, -2, axis=1)[:, -2:]
    return largest[:, 0] - largest[:, 1]


def _bald(probs_MNC: Array) -> Floats:
    # Mutual information is at least 0, but rounding may yield −1e-16.
    return np.maximum(entropies(mean_over_members(probs_MNC)) - mean_entropy(probs_MNC), 0.0)
