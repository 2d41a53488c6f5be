"""How much of a sample of the pool the labelled images cover, and by how much one more label would increase it.

With δ ≥ 0 the weight of an image x of the sample and k(x, l) ∈ [0, 1] a function of the distance between x and l,
for features scaled to length 1,

    covered(x; L) = max_{l ∈ L} k(x, l)
    D(L)          = E_x[ δ(x) · (1 − covered(x; L)) ]
    gain(x̃)       = E_x[ δ(x) · max(k(x, x̃) − covered(x; L), 0) ]

`versionspace.query.greedy_cover` chooses the images of largest gain.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from versionspace.query.unit_rows import blocks, unit_rows
from versionspace.types import Array, Floats, Ints

Kernel: TypeAlias = Callable[[Array], Array]
"""Converts squared distances (float32) to similarities from 0 to 1, in place."""

_ROWS = 512
"""Images of the sample for which the kernel is computed at once."""
CENTRES = 256
"""Centres for which the kernel is computed at once; with `_ROWS`, a block that stays in the processor's cache."""


@dataclass(frozen=True)
class Gaussian:
    """k = exp(−d² / 2σ²)."""

    width: float
    """σ > 0."""

    def __call__(self, squared: Array) -> Array:
        """Convert squared distances in place."""
        squared *= -0.5 / self.width**2
        return np.exp(squared, out=squared)


@dataclass(frozen=True)
class Ball:
    """k = 1 within the radius, else 0."""

    radius: float

    def __call__(self, squared: Array) -> Array:
        """Convert squared distances in place."""
        np.copyto(squared, squared < self.radius**2)
        return squared


class Cover:
    """The part of a sample that the labelled images cover, as labels are added.

    Args:
        features: of the pool, (N, F), in memory or on disk.
        labelled: features of the labelled images, (L, F); L may be 0.
        sample: positions in the pool of the images that are to be covered, (T,).
        weights: δ of these, (T,); if all are 0, they count as 1.
        kernel: the similarity of two images.
        doubt: whether a weight holds only as far as the image is covered by the labelled ones: then it becomes
            1 − covered · (1 − δ).
    """

    def __init__(
        self,
        features: Array,
        labelled: Array,
        sample: Ints,
        weights: Floats,
        kernel: Kernel,
        *,
        doubt: bool = False,
    ) -> None:
        self.features, self.kernel = features, kernel
        self.images = len(sample)
        """T."""
        points = unit_rows(features, sample)
        norms = np.einsum("nf,nf->n", points, points)
        # The product of (−2x, ‖x‖², 1) and (l, 1, ‖l‖²) is the squared distance of x and l.
        self._points = np.column_stack([-2.0 * points, norms, np.ones_like(norms)])
        self.covered: Array = np.zeros(len(points), np.float32)
        """(T',): max_l k(x, l) of the images of the sample with a weight above 0."""
        for some in blocks(len(labelled), CENTRES):
            self._cover(unit_rows(labelled, some))
        if doubt:
            weights = 1.0 - self.covered * (1.0 - weights)
        if not weights.any():
            weights = np.ones(len(sample))
        used = weights > 0  # the others contribute nothing to any gain
        self._points, self.covered = self._points[used], self.covered[used]
        self.weights: Array = weights[used].astype(np.float32)
        self.counts = isinstance(kernel, Ball) and bool((self.weights == 1.0).all())
        """Whether gains are numbers of images, divided by T: many of them are equal, and none has a rounding error."""

    def kernel_blocks(self, centres: Array, among: Ints | None = None) -> Iterator[tuple[slice, Array]]:
        """Yield k(x, l) for these centres l (B, F), as ranges of images x of the sample and float32 (range, B).

        With ``among``, only for these images of the sample; the ranges are then ranges of ``among``.
        """
        norms = np.einsum("nf,nf->n", centres, centres)
        transposed = np.column_stack([centres, np.ones_like(norms), norms]).T
        for rows in blocks(len(self._points) if among is None else len(among), _ROWS):
            squared: Array = self._points[rows if among is None else among[rows]] @ transposed
            yield rows, self.kernel(np.maximum(squared, 0.0, out=squared))

    def gains(self, candidates: Ints) -> Floats:
        """Return the gain of each of these images of the pool, float64 (len(candidates),). Cost B·T·F."""
        gains = np.zeros(len(candidates))
        for some in blocks(len(candidates), CENTRES):
            for rows, kernel in self.kernel_blocks(unit_rows(self.features, candidates[some])):
                more = np.subtract(kernel, self.covered[rows, None], out=kernel)
                gains[some] += self.weights[rows] @ np.maximum(more, 0.0, out=more)
        return gains / self.images

    def add(self, image: int) -> None:
        """Cover what a label of this image of the pool covers. Cost T·F."""
        self._cover(unit_rows(self.features, slice(image, image + 1)))

    def uncovered(self) -> float:
        """Return D(L)."""
        return float(self.weights @ (1.0 - self.covered)) / self.images

    def _cover(self, centres: Array) -> None:
        for rows, kernel in self.kernel_blocks(centres):
            np.maximum(self.covered[rows], kernel.max(axis=1), out=self.covered[rows])
