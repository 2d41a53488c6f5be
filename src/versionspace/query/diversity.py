"""Methods that choose a diverse set of images in a feature space: Core-Set and BADGE.

Core-Set is greedy k-centre over features (Sener and Savarese 2018): choose the image that is farthest from all
centres, add it to the centres, repeat.

    u(x) = min_{l labelled or chosen} ‖f(x) − f(l)‖₂

Only the distance to the nearest centre is kept: N numbers, never N×N. Matrix products in the precision of the features
find the images to which a new centre may be nearer; their distances are then computed from differences in float64, so
that an image identical to a centre has distance 0 and the result does not depend on the order of additions in BLAS.
With no labelled images all distances are 0, and the random tie-break chooses the first image.

BADGE is k-means++ seeding on gradient embeddings (Ash et al. 2020).

    g(x) = (p(x) − e_ŷ(x)) ⊗ f(x)            the gradient of the last layer if the predicted class ŷ were the label
    first the longest g, then images drawn with probability ∝ min_chosen ‖g(x) − g(chosen)‖²

The C·F numbers of an embedding are never materialised, because ⟨a⊗f, b⊗h⟩ = ⟨a, b⟩⟨f, h⟩.
"""

import numpy as np

from versionspace import rng
from versionspace.query.inputs import Problem
from versionspace.query.ranking import Selection, best_remaining
from versionspace.types import Array, Floats, Ints

_ELEMENTS = 4_000_000
"""Approximate number of elements in a temporary array."""


def distance_to_labelled(problem: Problem) -> Floats:
    """Return the utilities of coreset at the first step: the distance to the nearest labelled image. Cost N·L·F."""
    return _nearest_labelled(problem).distances()


def choose_coreset(problem: Problem, k: int) -> Selection:
    """Choose k images by greedy k-centre. Cost N·(L + k)·F."""
    nearest = _nearest_labelled(problem)
    ties = problem.tie_hashes(problem.positions())
    taken = np.zeros(problem.images, bool)
    indices, utilities = np.empty(k, np.int64), np.empty(k)
    for j in range(k):
        score = nearest.distances()
        chosen = best_remaining(score, ties, taken)
        indices[j], utilities[j] = chosen, score[chosen]
        taken[chosen] = True
        nearest.add(nearest.features[chosen])
    return Selection(indices, utilities)


class NearestCentre:
    """Squared distances of N images to their nearest centre. Each centre costs N·F."""

    def __init__(self, features: Array) -> None:
        self.features = features
        self.norms = np.einsum("nf,nf->n", features, features)
        self.squared = np.full(len(features), np.inf)
        # Twice the rounding error of ‖x‖² − 2x·c + ‖c‖² for F terms, in units of ‖x‖² + ‖c‖².
        self.slack = 4.0 * (features.shape[1] + 2) * float(np.finfo(features.dtype).eps)

    def add(self, centre: Array) -> None:
        """Add one centre (F,)."""
        norm = float(centre.astype(np.float64) @ centre.astype(np.float64))
        approximate = (self.norms + norm) - 2.0 * (self.features @ centre)
        nearer = np.flatnonzero(approximate <= self.squared + self.slack * (self.norms + norm))
        self.squared[nearer] = np.minimum(self.squared[nearer], self._exact(nearer, centre))

    def add_all(self, centres: Array) -> None:
        """Add many centres (L, F) at once; call this before `add`. Cost N·L·F, as one matrix product.

        The mean of the centres is subtracted first, so that a large common offset does not cancel the differences in
        the product. Every centre that may be the nearest within the rounding error is then measured exactly.
        """
        if len(centres) == 0:
            return
        origin = centres.mean(axis=0, dtype=np.float64)
        shifted = (centres - origin).astype(centres.dtype)
        norms = np.einsum("lf,lf->l", shifted, shifted)
        step = max(1, _ELEMENTS // max(centres.shape))
        for i in range(0, len(self.features), step):
            images = (self.features[i : i + step] - origin).astype(centres.dtype)
            approximate = norms - 2.0 * (images @ shifted.T)
            error = self.slack * (np.einsum("nf,nf->n", images, images) + norms.max())
            rows, columns = np.nonzero(approximate <= (approximate.min(axis=1) + error)[:, None])
            np.minimum.at(self.squared, rows + i, self._exact(rows + i, centres, columns))

    def _exact(self, images: Ints, centres: Array, which: Ints | None = None) -> Floats:
        """Return squared distances from differences in float64, bitwise independent of the other images.

        ``centres`` is a single centre (F,), or (L, F) with ``which`` the centre of each image.
        """
        squared = np.empty(len(images))
        step = max(1, _ELEMENTS // self.features.shape[1])
        for i in range(0, len(images), step):
            to = centres if which is None else centres[which[i : i + step]]
            gap = self.features[images[i : i + step]].astype(np.float64) - to
            squared[i : i + step] = np.einsum("nf,nf->n", gap, gap)
        return squared

    def distances(self) -> Floats:
        """Return ‖f(x) − f(nearest centre)‖₂, or 0 if there is no centre yet."""
        return np.sqrt(np.where(np.isinf(self.squared), 0.0, self.squared))


def _nearest_labelled(problem: Problem) -> NearestCentre:
    assert problem.features is not None
    nearest = NearestCentre(problem.features)
    if problem.labelled is not None:
        nearest.add_all(problem.labelled)
    return nearest


def gradient_norm(problem: Problem) -> Floats:
    """Return the utilities of badge at the first step: ‖g(x)‖₂. Cost N·(C + F)."""
    assert problem.features is not None
    return np.sqrt(_squared_norms(_errors(problem)) * _squared_norms(problem.features))


def choose_badge(problem: Problem, k: int) -> Selection:
    """Choose k images by k-means++ seeding; utilities are distances to the nearest pick before. Cost k·N·(C + F)."""
    assert problem.features is not None
    features, errors = problem.features, _errors(problem)
    ties = problem.tie_hashes(problem.positions())
    generator = rng.generator(problem.seed, "badge")
    norms = _squared_norms(errors) * _squared_norms(features)
    taken = np.zeros(problem.images, bool)
    nearest = np.full(problem.images, np.inf)
    indices, utilities = np.empty(k, np.int64), np.empty(k)
    for j in range(k):
        weights = np.where(taken, 0.0, norms if j == 0 else nearest)
        if j == 0 or weights.sum() == 0.0:
            chosen = best_remaining(weights, ties, taken)
        else:
            cumulative = np.cumsum(weights)
            chosen = int(np.searchsorted(cumulative, generator.random() * cumulative[-1], side="right"))
            chosen = min(chosen, int(np.flatnonzero(weights)[-1]))  # rounding may lead past the last image
        indices[j], utilities[j] = chosen, np.sqrt(weights[chosen])
        taken[chosen] = True
        inner = (errors @ errors[chosen]) * (features @ features[chosen]).astype(np.float64)
        nearest = np.minimum(nearest, np.maximum(norms + norms[chosen] - 2.0 * inner, 0.0))
    return Selection(indices, utilities)


def _errors(problem: Problem) -> Floats:
    """Return p − e_ŷ (N, C)."""
    beliefs = problem.beliefs()
    errors: Floats = beliefs.probabilities()[0].astype(np.float64)
    errors[np.arange(len(errors)), beliefs.votes[0]] -= 1.0
    return errors


def _squared_norms(rows: Array) -> Floats:
    squares: Floats = np.einsum("nf,nf->n", rows, rows, dtype=np.float64)
    return squares
