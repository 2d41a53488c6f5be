"""How a pool splits the members: each image x divides them into sub-spaces V̂_x^y, the members that vote for y.

Many images split the members in the same way, so each distinct sub-space is stored, and later scored, once.
"""

from dataclasses import dataclass, replace

import numpy as np

from versionspace.space import kernels, masks
from versionspace.space.beliefs import Beliefs
from versionspace.types import Array, Floats, Ints, Words


@dataclass(frozen=True)
class Splits:
    """The K distinct sub-spaces of a pool, and which of them belong to each image."""

    members: int
    masks: Words
    """(K, W)."""
    sizes: Ints
    """(K,): the number of members in each sub-space."""
    starts: Ints
    """(N + 1,): the sub-spaces of image n, at least one, are ``entries[starts[n]:starts[n + 1]]``."""
    entries: Array

    def worst(self, values_K: Floats) -> Floats:
        """Return (N,): the largest value among the sub-spaces of each image."""
        return np.maximum.reduceat(values_K[self.entries], self.starts[:-1])

    def total(self, values_K: Ints) -> Ints:
        """Return (N,): the sum of an integer over the sub-spaces of each image."""
        return np.add.reduceat(values_K[self.entries], self.starts[:-1])

    def take(self, images: Ints) -> "Splits":
        """Return the same sub-spaces with some of the images."""
        lengths = self.starts[images + 1] - self.starts[images]
        starts = np.zeros(len(images) + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        entries = self.entries[np.arange(starts[-1]) + np.repeat(self.starts[images] - starts[:-1], lengths)]
        return replace(self, starts=starts, entries=entries)

    def masks_of(self, image: int) -> Words:
        """Return the masks of the sub-spaces of one image."""
        return self.masks[self.entries[self.starts[image] : self.starts[image + 1]]]


def split_members(beliefs: Beliefs) -> Splits:
    """Return the sub-spaces into which the votes on each image split the members. Cost M·N.

    >>> from versionspace.space.beliefs import read_beliefs
    >>> sorted(split_members(read_beliefs([[0, 0, 1], [0, 1, 0], [0, 1, 0]], "pool")).sizes.tolist())
    [1, 2, 3]
    """
    distinct = kernels.subspaces(beliefs.votes)
    return Splits(beliefs.members, distinct.masks, masks.sizes(distinct.masks), distinct.starts, distinct.entries)
