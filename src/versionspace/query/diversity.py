"""Core-Set: greedy k-centre over features (Sener and Savarese 2018).

    u(x) = min_{l labelled or chosen} ‖f(x) − f(l)‖₂        take the farthest, add it to the centres, again

Distances are kept to the nearest centre only: N numbers, never N×N. Matrix products in the features' own precision
find which images a new centre comes nearer to; the distance itself is then taken from differences in float64, so
that an image identical to a centre is at distance 0 and nothing depends on how BLAS adds. With nothing labelled all
distances are equal, 0, and the hash of ties draws the first image.

BADGE: k-means++ seeding on gradient embeddings (Ash et al. 2020).

    g(x) = (p(x) − e_ŷ(x)) ⊗ f(x)            the last layer's gradient if the network's guess ŷ were the label
    first the longest g, then images drawn with probability ∝ min_chosen ‖g(x) − g(chosen)‖²

The C·F numbers of an embedding are never written down:
⟨a⊗f, b⊗h⟩ = ⟨a, b⟩⟨f, h⟩.
"""

import numpy as np

from versionspace import rng
from versionspace.query.inputs import Problem
from versionspace.query.ranking import Chosen, first
from versionspace.types import Array, Floats, Ints

_ELEMENTS = 4_000_000
"""Elements of a temporary array, about."""


class Nearest:
    """Squared distances of N images to their nearest centre so far. One centre costs N·F."""

    def __init__(self, features: Array) -> None:
        self.features = features
        self.norms = np.einsum("nf,nf->n", features, features)
        self.squared = np.full(len(features), np.inf)
        # Twice the rounding error of ‖x‖² − 2x·c + ‖c‖² for F terms, in units of ‖x‖² + ‖c‖².
        self.slack = 4.0 * (features.shape[1] + 2) * float(np.finfo(features.dtype).eps)

    def add(self, centre: Array) -> None:
        """Takes one more centre (F,) into account."""
        norm = float(centre.astype(np.float64) @ centre.astype(np.float64))
        about = (self.norms + norm) - 2.0 * (self.features @ centre)
        nearer = np.flatnonzero(about <= self.squared + self.slack * (self.norms + norm))
        self.squared[nearer] = np.minimum(self.squared[nearer], self._exact(nearer, centre))

    def add_all(self, centres: Array) -> None:
        """Takes many centres (L, F) into account at once, for a start. Cost N·L·F as one matrix product.

        Features are moved by the centres' mean first, lest what all have in common drown what tells them apart; every
        centre that may be the nearest within the rounding of the product is then measured exactly.
        """
        if len(centres) == 0:
            return
        origin = centres.mean(axis=0, dtype=np.float64)
        moved = (centres - origin).astype(centres.dtype)
        norms = np.einsum("lf,lf->l", moved, moved)
        step = max(1, _ELEMENTS // max(centres.shape))
        for i in range(0, len(self.features), step):
            some = (self.features[i : i + step] - origin).astype(centres.dtype)
            about = norms - 2.0 * (some @ moved.T)
            unsure = self.slack * (np.einsum("nf,nf->n", some, some) + norms.max())
            rows, columns = np.nonzero(about <= (about.min(axis=1) + unsure)[:, None])
            np.minimum.at(self.squared, rows + i, self._exact(rows + i, centres, columns))

    def _exact(self, images: Ints, centres: Array, which: Ints | None = None) -> Floats:
        """Squared distances from differences in float64, features in order: image by image the same bits.

        ``centres`` is one (F,) for all images, or (L, F) of which each image has its own.
        """
        out = np.empty(len(images))
        step = max(1, _ELEMENTS // self.features.shape[1])
        for i in range(0, len(images), step):
            to = centres if which is None else centres[which[i : i + step]]
            gap = self.features[images[i : i + step]].astype(np.float64) - to
            out[i : i + step] = np.einsum("nf,nf->n", gap, gap)
        return out

    def distances(self) -> Floats:
        """‖f(x) − f(nearest centre)‖₂, 0 where there is no centre yet."""
        return np.sqrt(np.where(np.isinf(self.squared), 0.0, self.squared))


def _start(problem: Problem) -> Nearest:
    assert problem.features is not None
    nearest = Nearest(problem.features)
    if problem.labelled is not None:
        nearest.add_all(problem.labelled)
    return nearest


def distances(problem: Problem) -> Floats:
    """The first step's score: the distance to the nearest labelled image. Cost N·L·F."""
    return _start(problem).distances()


def k_centre(problem: Problem, k: int) -> Chosen:
    """Greedy k-centre. Cost N·(L + k)·F."""
    nearest = _start(problem)
    ties = problem.ties(problem.positions())
    taken = np.zeros(problem.images, bool)
    indices, utilities = np.empty(k, np.int64), np.empty(k)
    for j in range(k):
        score = nearest.distances()
        chosen = first(score, ties, taken)
        indices[j], utilities[j] = chosen, score[chosen]
        taken[chosen] = True
        nearest.add(nearest.features[chosen])
    return Chosen(indices, utilities)


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


def badge(problem: Problem, k: int) -> Chosen:
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
