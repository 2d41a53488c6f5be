"""Images that cover the pool best, for as long as no model can ask: MaxHerding, kept up to date.

Both the candidates and the images to be covered are a sample of the pool, so that an ask takes milliseconds however
large the folder is. Distances are measured between mean colours until the trainer has sent better features. Images that
are not decoded yet are chosen at random until then.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from versionspace import rng
from versionspace.campaign import CampaignImages, IdIndex, plain_features
from versionspace.query import coverage_kernel
from versionspace.store import Event, Proposed, as_ids
from versionspace.types import Array, Floats, ImageId, Ints

SAMPLE = 1_500
"""Largest number of images in the sample."""


class CoveringImages:
    """For every image of the sample, how much of the sample its label would newly cover: a view of the ledger.

    An asked image costs at most SAMPLE² operations, and the less the more were asked before it.

    Args:
        images: the campaign's.
        seed: of the sample.
        herd: whether to choose covering images; if not, images are chosen at random.
        colours: whether to measure distances between mean colours until there are features; if not, images are chosen
            at random until then, and none is decoded.
    """

    def __init__(self, images: CampaignImages, seed: int, *, herd: bool = True, colours: bool = True) -> None:
        ids = images.roles.askable()
        self.ids = IdIndex(ids)
        self._order = _random_order(ids, seed)
        """In which images are asked once the sample is exhausted."""
        self._never_asked, self._present = np.ones(len(ids), np.bool_), np.ones(len(ids), np.bool_)
        sample = sample_ids(ids, seed)[: None if herd and colours else 0]
        features = plain_features(images.pixels(sample)) if len(sample) else np.empty((0, 1))
        self._set_sample(as_ids(sample), features)
        self._herd = herd

    def __contains__(self, image: ImageId) -> bool:
        return image in self.ids

    def set_features(self, ids: Sequence[ImageId], features: Array) -> None:
        """Choose among these images from now on, and measure distances between their features (S, F)."""
        if self._herd:
            self._set_sample(ids, features)

    def _set_sample(self, ids: Sequence[ImageId], features: Array) -> None:
        known = [position for position, image in enumerate(ids) if image in self]
        self._sample = np.array([self.ids.row(ids[position]) for position in known], np.int64)
        self._position = {row: position for position, row in enumerate(self._sample.tolist())}
        self._coverage = _Coverage.of(coverage_kernel(features[known]))
        for position in np.flatnonzero(~self._never_asked[self._sample]):
            self._coverage.add(int(position))

    def apply(self, event: Event) -> None:
        """Update the view with a committed event."""
        for image in Proposed.from_body(event.body).ids if event.kind == "proposed" else ():
            row = self.ids.row(image)
            if row is not None and self._never_asked[row]:
                self._never_asked[row] = False
                if row in self._position:
                    self._coverage.add(self._position[row])

    def set_missing(self, images: Iterable[ImageId]) -> None:
        """Choose none of these images; all others may be chosen."""
        self._present[:] = True
        self._present[self.ids.rows(images)] = False

    def choose(self, count: int, exclude: Collection[ImageId] = ()) -> dict[ImageId, float]:
        """Return up to ``count`` images, each the one that covers most of what those before it leave, and how much.

        The view does not change: an image counts as asked only once the ledger says so.
        """
        free = self._never_asked & self._present
        free[self.ids.rows(exclude)] = False
        chosen: dict[ImageId, float] = {}
        coverage, candidates = self._coverage.copy(), free[self._sample]
        while len(chosen) < count and candidates.any():
            best = int(np.argmax(np.where(candidates, coverage.gains, -1.0)))
            chosen[self.ids[self._sample[best]]] = max(0.0, float(coverage.gains[best]))
            candidates[best] = False
            coverage.add(best)
        free[self._sample] = False
        others = self._order[free[self._order]][: count - len(chosen)]
        return chosen | {self.ids[row]: 0.0 for row in others}

    @property
    def left(self) -> int:
        """Number of images that are present and were never asked."""
        return int((self._never_asked & self._present).sum())


def sample_ids(ids: Array, seed: int) -> Array:
    """Return the ids of the sample: at most `SAMPLE`, a function of the ids and the seed.

    >>> sample_ids(np.array(["a", "b", "c"]), seed=0).tolist()
    ['a', 'b', 'c']
    """
    return ids[_random_order(ids, seed)[:SAMPLE]]


def _random_order(ids: Array, seed: int) -> Ints:
    hashes = rng.id_hashes(rng.key(seed, "cold start"), ids) if len(ids) else np.empty(0)
    return np.argsort(hashes, kind="stable")


@dataclass
class _Coverage:
    """How far the images of the sample are covered, and how much more each would cover."""

    kernel: Array
    """(S, S)"""
    covered: Array
    """(S,): the kernel's largest value at an asked image."""
    gains: Floats
    """(S,)"""

    @classmethod
    def of(cls, kernel: Array) -> "_Coverage":
        size = len(kernel)
        return cls(kernel, np.zeros(size, kernel.dtype), kernel.sum(axis=1, dtype=np.float64) / max(1, size))

    def copy(self) -> "_Coverage":
        return _Coverage(self.kernel, self.covered.copy(), self.gains.copy())

    def add(self, position: int) -> None:
        """Cover what a label of this image covers. Only images that it covers better than before change any gain."""
        row = self.kernel[position]
        better = np.flatnonzero(row > self.covered)
        columns = self.kernel[:, better]
        lost = np.minimum(columns, row[better]) - self.covered[better]
        self.gains -= np.maximum(lost, 0.0).sum(axis=1, dtype=np.float64) / len(self.kernel)
        self.covered[better] = row[better]
