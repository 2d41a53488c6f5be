"""How a pool splits the members: each image x divides them into the sub-spaces V̂_x^y of those who vote y.

Many images split the members the same way, so each distinct sub-space is kept, and later scored, once.
"""

from dataclasses import dataclass

import numpy as np

from versionspace.space import kernels, masks
from versionspace.space.beliefs import Beliefs
from versionspace.types import Array, Floats, Ints, Words


@dataclass(frozen=True)
class Splits:
    """The K distinct sub-spaces of a pool, and which of them each image has."""

    members: int
    masks: Words
    """(K, W)."""
    sizes: Ints
    """(K,): how many members each has."""
    starts: Ints
    """(N + 1,): image n's sub-spaces are ``entries[starts[n]:starts[n + 1]]``, at least one."""
    entries: Array

    def worst(self, values_K: Floats) -> Floats:
        """(N,): the largest value among each image's sub-spaces."""
        return np.maximum.reduceat(values_K[self.entries], self.starts[:-1])

    def total(self, values_K: Ints) -> Ints:
        """(N,): the sum of a whole number over each image's sub-spaces."""
        return np.add.reduceat(values_K[self.entries], self.starts[:-1])

    def of(self, image: int) -> Words:
        """The masks of one image's sub-spaces."""
        return self.masks[self.entries[self.starts[image] : self.starts[image + 1]]]


def split(beliefs: Beliefs) -> Splits:
    """The sub-spaces into which each image's votes split the members. Cost M·N.

    >>> from versionspace.space.beliefs import read
    >>> split(read([[0, 0, 1], [0, 1, 0], [0, 1, 0]], "pool")).sizes.tolist()
    [3, 1, 2]
    """
    found = kernels.subspaces(beliefs.votes)
    return Splits(beliefs.members, found.masks, masks.sizes(found.masks), found.starts, found.entries)
