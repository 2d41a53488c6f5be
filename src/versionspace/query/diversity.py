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

from collections.abc import Callable

import numpy as np

from versionspace import rng
from versionspace.query.inputs import Problem
from versionspace.query.ranking import Selection, best_remaining
from versionspace.types import Array, Floats, Ints

_ELEMENTS = 1 << 20
"""Approximate number of elements in a temporary array."""
_BLOCK = 1 << 18
"""Approximate number of probabilities or features converted at once."""


def distance_to_labelled(problem: Problem) -> Floats:
    """Return the utilities of coreset at the first step: the distance to the nearest labelled image. Cost N·L·F."""
    return _nearest_labelled(problem).distances()


def choose_coreset(problem: Problem, k: int) -> Selection:
    """Choose k images by greedy k-centre. Cost N·(L + k)·F."""
    nearest = _nearest_labelled(problem)
    ties = problem.tie_hashes()
    taken = np.zeros(problem.images, bool)
    indices, utilities, tied = np.empty(k, np.int64), np.empty(k), np.ones(k, np.int64)
    for j in range(k):
        score = nearest.distances()
        chosen, tied[j] = best_remaining(score, ties, taken)
        indices[j], utilities[j] = chosen, score[chosen]
        taken[chosen] = True
        nearest.add(nearest.features[chosen])
    return Selection(indices, utilities, tied)


class NearestCentre:
    """Squared distances of N images to their nearest centre. Each centre costs N·F."""

    def __init__(self, features: Array) -> None:
        self.features = features
        self.dtype = np.float32 if features.dtype == np.float16 else features.dtype
        """The precision of products: float16 is converted a block at a time."""
        self.norms = self._by_block(lambda rows: np.einsum("nf,nf->n", rows, rows))
        self.squared = np.full(len(features), np.inf)
        # Twice the rounding error of ‖x‖² − 2x·c + ‖c‖² for F terms, in units of ‖x‖² + ‖c‖².
        self.slack = 4.0 * (features.shape[1] + 2) * float(np.finfo(self.dtype).eps)

    def add(self, centre: Array) -> None:
        """Add one centre (F,)."""
        norm = float(centre.astype(np.float64) @ centre.astype(np.float64))
        centre = centre.astype(self.dtype)
        approximate = (self.norms + norm) - 2.0 * self._by_block(lambda rows: rows @ centre)
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
        shifted = (centres - origin).astype(self.dtype)
        norms = np.einsum("lf,lf->l", shifted, shifted)
        step = max(1, _ELEMENTS // max(centres.shape))
        for i in range(0, len(self.features), step):
            images = (self.features[i : i + step] - origin).astype(self.dtype)
            approximate = norms - 2.0 * (images @ shifted.T)
            error = self.slack * (np.einsum("nf,nf->n", images, images) + norms.max())
            rows, columns = np.nonzero(approximate <= (approximate.min(axis=1) + error)[:, None])
            np.minimum.at(self.squared, rows + i, self._exact(rows + i, centres, columns))

    def _by_block(self, compute: Callable[[Array], Array]) -> Array:
        """Return a number for each image, (N,), computed from blocks of contiguous features."""
        if self.features.dtype == self.dtype and self.features.flags.c_contiguous:
            return compute(self.features)
        values, step = np.empty(len(self.features), self.dtype), max(1, _BLOCK // self.features.shape[1])
        for i in range(0, len(values), step):
            values[i : i + step] = compute(np.ascontiguousarray(self.features[i : i + step], self.dtype))
        return values

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
        nearest.add_all(np.ascontiguousarray(problem.labelled, nearest.dtype))
    return nearest


def gradient_norm(problem: Problem) -> Floats:
    """Return the utilities of badge at the first step: ‖g(x)‖₂. Cost N·(C + F)."""
    return np.sqrt(Gradients(problem).norms)


def choose_badge(problem: Problem, k: int) -> Selection:
    """Choose k images by k-means++ seeding; utilities are distances to the nearest pick before. Cost k·N·(C + F)."""
    gradients = Gradients(problem)
    ties = problem.tie_hashes()
    generator = rng.generator(problem.seed, "badge")
    taken = np.zeros(problem.images, bool)
    nearest = np.full(problem.images, np.inf)
    indices, utilities, tied = np.empty(k, np.int64), np.empty(k), np.ones(k, np.int64)
    for j in range(k):
        weights = np.where(taken, 0.0, gradients.norms if j == 0 else nearest)
        if j == 0 or weights.sum() == 0.0:
            chosen, tied[j] = best_remaining(weights, ties, taken)
        else:
            cumulative = np.cumsum(weights)
            chosen = int(np.searchsorted(cumulative, generator.random() * cumulative[-1], side="right"))
            chosen = min(chosen, int(np.flatnonzero(weights)[-1]))  # rounding may lead past the last image
        indices[j], utilities[j] = chosen, np.sqrt(weights[chosen])
        taken[chosen] = True
        nearest = np.minimum(nearest, gradients.squared_distances(chosen))
    return Selection(indices, utilities, tied)


class Gradients:
    """Gradient embeddings g(x) = (p − e_ŷ) ⊗ f: their inner products, computed for a block of images at a time."""

    def __init__(self, problem: Problem) -> None:
        assert problem.features is not None
        self._features, self._beliefs = problem.features, problem.beliefs()
        step = max(1, _BLOCK // max(self._features.shape[1], self._beliefs.classes))
        self._blocks = [slice(i, min(i + step, problem.images)) for i in range(0, problem.images, step)]
        self.norms: Floats = np.empty(problem.images)
        """(N,): ‖g(x)‖²."""
        for some in self._blocks:
            self.norms[some] = _squared_norms(self._errors(some)) * _squared_norms(self._rows(some))

    def squared_distances(self, image: int) -> Floats:
        """Return ‖g(x) − g(image)‖² for all x, (N,)."""
        alone = slice(image, image + 1)
        error, row = self._errors(alone)[0], self._rows(alone)[0]
        squared = np.empty(len(self.norms))
        for some in self._blocks:
            inner = (self._errors(some) @ error) * (self._rows(some) @ row).astype(np.float64)
            squared[some] = np.maximum(self.norms[some] + self.norms[image] - 2.0 * inner, 0.0)
        return squared

    def _errors(self, some: slice) -> Floats:
        """Return p − e_ŷ (n, C)."""
        errors: Floats = self._beliefs.probs_at(some)[0]
        if np.shares_memory(errors, self._beliefs.probabilities()):
            errors = errors.copy()
        errors[np.arange(len(errors)), self._beliefs.votes[0, some]] -= 1.0
        return errors

    def _rows(self, some: slice) -> Array:
        """Return features, in float32 or float64."""
        rows = self._features[some]
        return rows.astype(np.float32) if rows.dtype == np.float16 else rows


def _squared_norms(rows: Array) -> Floats:
    squares: Floats = np.einsum("nf,nf->n", rows, rows, dtype=np.float64)
    return squares
