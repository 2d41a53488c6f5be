"""Methods that score each image by the members' probabilities, by a perturbation, or at random.

With p̄ the mean of the members' probabilities:

    entropy            H[p̄]                                nats
    margin             p̄₂ − p̄₁                             of the two largest; 0 is the most uncertain
    least-confidence   1 − max_c p̄_c
    bald               H[p̄] − mean_m H[p_m]                nats (Houlsby et al. 2011, Gal et al. 2017)
    power-bald         ln bald + Gumbel noise              (Kirsch et al. 2023, with exponent β = 1)
    dfal               −‖smallest adversarial perturbation‖ (Ducoffe and Precioso 2018)
    random             uniform in [0, 1)

Entropies treat 0 ln 0 as 0. Sums over members and classes run in order, so that the result is bitwise independent of
the chunking.
"""

from collections.abc import Callable

import numpy as np

from versionspace import rng
from versionspace.query.inputs import Problem
from versionspace.space import Beliefs, kernels
from versionspace.types import Array, Floats

_TINY = np.finfo(np.float64).tiny
_LEAST = 1e-12
"""Information below this many nats is indistinguishable from rounding errors and counts as this much."""


def random(problem: Problem) -> Floats:
    """Return uniform numbers that are functions of seed and id, or position without ids."""
    return rng.as_uniforms(problem.hashes("random"))


def smallest_perturbation(problem: Problem) -> Floats:
    """Return the utilities of dfal: minus the size of the smallest perturbation that changes the predicted class."""
    assert problem.perturbations is not None
    return 0.0 - problem.perturbations


def entropy(problem: Problem) -> Floats:
    """Return H[p̄]."""
    return _score_means(problem, entropies)


def margin(problem: Problem) -> Floats:
    """Return p̄₂ − p̄₁, at most 0."""
    return _score_means(problem, _margin)


def least_confidence(problem: Problem) -> Floats:
    """Return 1 − max_c p̄_c."""
    return _score_means(problem, lambda mean_NC: 1.0 - mean_NC.max(axis=1))


def bald(problem: Problem) -> Floats:
    """Return H[p̄] − mean_m H[p_m]."""
    pool = problem.beliefs()

    def score(chunk: slice) -> Floats:
        # Mutual information is at least 0, but rounding may yield −1e-16.
        return np.maximum(entropies(pool.mean_at(chunk)) - mean_entropy(pool.exact_at(chunk)), 0.0)

    return _score_chunks(pool, score)


def power_bald(problem: Problem) -> Floats:
    """Return ln bald + g, where g is Gumbel noise that is a function of seed and id, or position without ids.

    The k highest of these are a sample of k images without replacement, drawn with probability ∝ bald.
    """
    uniforms = rng.as_uniforms(problem.hashes("power-bald"))
    gumbel = -np.log(-np.log(np.maximum(uniforms, 2.0**-54)))
    return np.log(np.maximum(bald(problem), _LEAST)) + gumbel


def entropies(probs: Array) -> Floats:
    """Return H over the last axis, in nats."""
    terms: Floats = np.maximum(probs, _TINY)
    np.log(terms, out=terms)
    terms *= probs
    return 0.0 - kernels.row_sums(terms.reshape(-1, probs.shape[-1])).reshape(probs.shape[:-1])


def mean_over_members(probs_MNC: Array) -> Floats:
    """Return p̄ (N, C)."""
    return kernels.member_sums(probs_MNC, slice(0, probs_MNC.shape[1])) / len(probs_MNC)


def mean_entropy(probs_MNC: Array) -> Floats:
    """Return mean_m H[p_m] (N,)."""
    total = np.zeros(probs_MNC.shape[1])
    for member in probs_MNC:
        total += entropies(np.ascontiguousarray(member, np.float64))
    return total / len(probs_MNC)


def _score_means(problem: Problem, score: Callable[[Floats], Floats]) -> Floats:
    """Return the score of the mean probabilities of each image."""
    pool = problem.beliefs()
    pool.probabilities()
    return _score_chunks(pool, lambda chunk: score(pool.mean_at(chunk)))


def _score_chunks(pool: Beliefs, score: Callable[[slice], Floats]) -> Floats:
    """Return the scores of all images, computed for some of them at a time on several threads."""
    scores = np.empty(pool.images)

    def fill(chunk: slice) -> None:
        scores[chunk] = score(chunk)

    kernels.map_threads(fill, pool.chunks())
    return scores


def _margin(mean_NC: Floats) -> Floats:
    """Return second largest − largest; overwrites the means."""
    if mean_NC.shape[1] == 1:
        return np.full(len(mean_NC), -1.0)
    rows, first = np.arange(len(mean_NC)), mean_NC.argmax(axis=1)
    largest = mean_NC[rows, first]
    mean_NC[rows, first] = -np.inf
    margins: Floats = mean_NC.max(axis=1) - largest
    return margins
