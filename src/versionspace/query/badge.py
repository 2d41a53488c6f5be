"""BADGE: k-means++ seeding on gradient embeddings (Ash et al. 2020).

    g(x) = (p(x) − e_ŷ(x)) ⊗ f(x)            the last layer's gradient if the network's guess ŷ were the label
    first the longest g, then images drawn with probability ∝ min_chosen ‖g(x) − g(chosen)‖²

The C·F numbers of an embedding are never written down:
⟨a⊗f, b⊗h⟩ = ⟨a, b⟩⟨f, h⟩.
"""

import numpy as np

from versionspace import rng
from versionspace.query.chosen import Chosen
from versionspace.query.order import first
from versionspace.query.problem import Problem
from versionspace.types import Array, Floats


def _errors(problem: Problem) -> Floats:
    """p − e_ŷ (N, C)."""
    beliefs = problem.beliefs()
    errors: Floats = beliefs.probabilities()[0].astype(np.float64)
    errors[np.arange(len(errors)), beliefs.votes[0]] -= 1.0
    return errors


def _squares(rows: Array) -> Floats:
    squares: Floats = np.einsum("nf,nf->n", rows, rows, dtype=np.float64)
    return squares


def gradient_norms(problem: Problem) -> Floats:
    """The first step's score: ‖g(x)‖₂. Cost N·(C + F)."""
    assert problem.features is not None
    return np.sqrt(_squares(_errors(problem)) * _squares(problem.features))


def choose(problem: Problem, k: int) -> Chosen:
    """k-means++ seeding; a pick's utility is its distance to the nearest pick before it. Cost k·N·(C + F)."""
    assert problem.features is not None
    features, errors = problem.features, _errors(problem)
    ties = problem.ties(problem.positions())
    generator = rng.generator(problem.seed, "badge")
    norms = _squares(errors) * _squares(features)
    taken = np.zeros(problem.images, bool)
    nearest = np.full(problem.images, np.inf)
    indices, utilities = np.empty(k, np.int64), np.empty(k)
    for j in range(k):
        weights = np.where(taken, 0.0, norms if j == 0 else nearest)
        if j == 0 or weights.sum() == 0.0:
            chosen = first(weights, ties, taken)
        else:
            heap = np.cumsum(weights)
            chosen = int(np.searchsorted(heap, generator.random() * heap[-1], side="right"))
            chosen = min(chosen, int(np.flatnonzero(weights)[-1]))  # rounding may point past the end
        indices[j], utilities[j] = chosen, np.sqrt(weights[chosen])
        taken[chosen] = True
        inner = (errors @ errors[chosen]) * (features @ features[chosen]).astype(np.float64)
        nearest = np.minimum(nearest, np.maximum(norms + norms[chosen] - 2.0 * inner, 0.0))
    return Chosen(indices, utilities)
