"""Choose the images of largest gain one after another, without computing all gains at every step.

The gain of an image never grows as labels are added (`versionspace.query.cover`), so an earlier gain is an upper bound.
All images have such a bound. When an image is chosen, the bounds fall by what the images of the sample that became
better covered no longer contribute; their number falls like 1/|L|, so that k picks cost about ln k passes. The kernel
values of the first images, up to `CACHE` bytes, are kept as 16-bit codes, rounded up, and their bounds are updated
without a further matrix product. The bounds of all others are updated only if they reach the best bound so far. The
few images whose bound reaches the best gain are then evaluated in full: the result is that of the plain greedy
algorithm, up to float32 rounding.

A code is the upper half of a float32: 2,048 steps for each power of 2, from 2⁻³¹ to 1. Codes are ordered as the numbers
that they stand for, so that they are compared without conversion.
"""

import numpy as np

from versionspace.query.cover import CENTRES, Cover
from versionspace.query.ranking import Selection
from versionspace.query.unit_rows import blocks, unit_rows
from versionspace.types import Array, Bools, Floats, Ints

CACHE = 1 << 29
"""Bytes of kernel values to keep: all of a pool of 53,000 images and a sample of 5,000."""
_FINALISTS = 16
"""Images evaluated in full at once. The number is fixed, so that equal images have bitwise equal gains."""
_COUNTED = 4_096
"""Images considered at once where bounds are gains: with a `Ball`, thousands may be tied."""
_UPDATED = 1_024
"""Images outside the cache whose bounds are updated at once."""
_ELEMENTS = 1 << 18
"""Approximate number of codes processed at once."""
_SLACK = 2e-6
"""Rounding error of a bound, as a share of the largest first bound."""
_SHIFT, _BASE = 12, (127 - 31) << 11


def choose_greedily(cover: Cover, images: int, k: int, ties: Array) -> Selection:
    """Return k of the images 0, …, images − 1, each the one of largest gain given those before; ties by their hashes.

    Cost N·T·F for the first bounds, about N·T·ln k for the updates of images in the cache and at most N·T·F·ln k for
    those of the others, then T·F for each pick and image evaluated in full. Memory: `CACHE`, and N.
    """
    bounds = Bounds(cover, images)
    indices, utilities, counts = np.empty(k, np.int64), np.empty(k), np.ones(k, np.int64)
    for step in range(k):
        finalists, gains = _finalists(cover, bounds)
        best = gains.max()
        tied = finalists[gains == best]
        indices[step], utilities[step], counts[step] = tied[np.argmin(ties[tied])], best, len(tied)
        bounds.take(int(indices[step]))
    return Selection(indices, utilities, counts)


def _finalists(cover: Cover, bounds: "Bounds") -> tuple[Ints, Floats]:
    """Return the images that may have the largest gain, and their gains."""
    remaining = np.flatnonzero(~bounds.taken)
    if bounds.values[remaining].max() <= bounds.slack:  # everything is covered
        return remaining, np.zeros(len(remaining))
    chosen, gains = np.zeros(0, np.int64), np.zeros(0)
    size = _COUNTED if cover.counts else _FINALISTS
    while len(group := bounds.highest(size, gains.max(initial=-np.inf), chosen)):
        if cover.counts:
            evaluated = np.rint(bounds.values[group] * cover.images) / cover.images
        else:
            evaluated = cover.gains(np.resize(group, _FINALISTS))[: len(group)]
        chosen, gains = np.concatenate([chosen, group]), np.concatenate([gains, evaluated])
    return chosen, gains


class Bounds:
    """Upper bounds of the gains of all images, each computed for the cover at some step.

    Those of the images in the cache are always up to date; those of the others are brought up to date when needed.
    """

    def __init__(self, cover: Cover, images: int) -> None:
        self.cover = cover
        self.values: Floats = np.zeros(images)
        self.taken: Bools = np.zeros(images, bool)
        self._history = [_round_down(cover.covered)]
        """Codes of what is covered at each step that changed it, (T,)."""
        self._step: Ints = np.zeros(images, np.int64)
        """The step for which each bound was computed."""
        T = len(cover.covered)
        self._codes = np.empty((T, min(images, CACHE // (2 * T))), np.uint16)
        """Codes of the kernel values of the first images."""
        for some in blocks(images, CENTRES):
            self._set_first(some)
        self.slack = _SLACK * float(self.values.max())

    @property
    def current(self) -> Bools:
        """Whether the bound of each image is that for the present cover."""
        current: Bools = self._step == len(self._history) - 1
        return current

    def highest(self, count: int, best: float, excluded: Ints) -> Ints:
        """Return up to ``count`` images of highest bound, none of them below ``best``, taken or excluded."""
        possible = ~self.taken
        possible[excluded] = False
        while True:
            current = self.current
            first = self.values[possible & current].max(initial=-np.inf)
            outdated = np.flatnonzero(possible & ~current & (self.values >= max(first, best - self.slack)))
            if not len(outdated):
                break
            self._update(np.sort(_top(outdated, self.values, _UPDATED)))
        return _top(np.flatnonzero(possible & current & (self.values >= best - self.slack)), self.values, count)

    def take(self, image: int) -> None:
        """Label this image, and update the bounds of the images in the cache."""
        self.taken[image] = True
        self.cover.add(image)
        before, now = self._history[-1], _round_down(self.cover.covered)
        changed = np.flatnonzero(now > before)
        if not len(changed):
            return
        self._history.append(now)
        cached = self._codes.shape[1]
        for some in blocks(len(changed), max(1, _ELEMENTS // cached)):
            rows = changed[some]
            self._subtract(slice(0, cached), rows, self._codes[rows], before[rows, None])
        self._step[:cached] = len(self._history) - 1

    def _update(self, images: Ints) -> None:
        """Bring the bounds of these images up to date, from the images of the sample that became better covered."""
        first = int(self._step[images].min())
        changed = np.flatnonzero(self._history[-1] > self._history[first])
        before = np.stack(self._history[first:])[self._step[images] - first].T
        for rows, kernel in self.cover.kernel_blocks(unit_rows(self.cover.features, images), changed):
            self._subtract(images, changed[rows], _round_up(kernel), before[changed[rows]])
        self._step[images] = len(self._history) - 1

    def _subtract(self, images: Ints | slice, rows: Ints, codes: Array, before: Array) -> None:
        """Subtract what these images of the sample no longer contribute; overwrites the codes."""
        lost = _decode(np.clip(codes, before, self._history[-1][rows, None], out=codes))
        lost -= _decode(before)
        self.values[images] -= (self.cover.weights[rows] @ lost) / self.cover.images

    def _set_first(self, images: slice) -> None:
        """Set the first bounds of these images, and keep their codes if there is room."""
        for rows, kernel in self.cover.kernel_blocks(unit_rows(self.cover.features, images)):
            codes, before = _round_up(kernel), self._history[0][rows, None]
            kept = self._codes[rows, images]
            kept[:] = codes[:, : kept.shape[1]]
            gains = _decode(np.maximum(codes, before, out=codes))
            gains -= _decode(before)
            self.values[images] += (self.cover.weights[rows] @ gains) / self.cover.images


def _top(images: Ints, values: Floats, count: int) -> Ints:
    """Return up to ``count`` of these images, those of highest value."""
    if len(images) <= count:
        return images
    return images[np.argpartition(-values[images], count - 1)[:count]]


def _round_up(values: Array) -> Array:
    """Return the codes of the next larger numbers that have one, uint16; overwrites the float32 values, 0 to 1."""
    bits: Array = values.view(np.int32)
    bits += (1 << _SHIFT) - 1
    bits >>= _SHIFT
    bits -= _BASE
    np.maximum(bits, 0, out=bits)
    return bits.astype(np.uint16)


def _round_down(values: Array) -> Array:
    """Return the codes of the next smaller numbers that have one, uint16; numbers below 2⁻³¹ get code 0."""
    bits: Array = (values.view(np.int32) >> _SHIFT) - _BASE
    return np.maximum(bits, 0).astype(np.uint16)


def _decode(codes: Array) -> Array:
    """Return the numbers that codes stand for, float32; code 0 stands for 2⁻³¹ and all below."""
    bits = codes.astype(np.int32)
    bits += _BASE
    bits <<= _SHIFT
    return bits.view(np.float32)
