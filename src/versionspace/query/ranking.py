"""The k best of many images, with ties broken by a hash of seed and image.

Equal utilities are frequent, because 20 members can be split in few distinct ways; ordering ties by position would
prefer the images at the start of the pool.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from versionspace.types import Array, Floats, Ints


class Selection(NamedTuple):
    """Images in the order in which they are to be labelled, best first."""

    indices: Ints
    """(k,): positions within the `Problem`."""
    utilities: Floats
    """(k,): the utility of each image at the step in which it was chosen."""
    tied: Ints | None = None
    """(k,): among how many images of equal utility the seed chose at each step; None if the method does not count."""


@dataclass(frozen=True)
class Chosen:
    """What `query` chose, with ``return_record=True``.

    >>> import versionspace as vs
    >>> record = vs.query("ge", 2, pool=[[0, 0, 1, 0], [0, 1, 1, 1]], ids=list("abcd"), seed=0, return_record=True)
    >>> sorted(record.ids.tolist()), record.tied, record.by_lot
    (['b', 'd'], 1, 0)
    """

    ids: Array
    """(k,), best first; positions in the pool if no ids were passed."""
    positions: Ints
    """(k,): the same images by position in the pool."""
    utilities: Floats
    """(k,): the utility of each image at the step in which it was chosen."""
    tied: int
    """Number of images, chosen or not, that tied for the last place; 1 if there was no choice between equal images."""
    by_lot: int
    """Number of chosen images that the seed chose among more images of equal utility than were needed."""


class Best(NamedTuple):
    """The best image that remains, and how many images are as good."""

    image: int
    tied: int


def top_k(utilities: Floats, ties: Array, k: int) -> Ints:
    """Return the indices of the k highest utilities, best first; ties are ordered by their hashes. Cost N."""
    N = len(utilities)
    if k < N:
        threshold = np.partition(utilities, N - k)[N - k]
        above = np.flatnonzero(utilities > threshold)
        tied = np.flatnonzero(utilities == threshold)
        missing = k - len(above)
        if missing < len(tied):
            tied = tied[np.argpartition(ties[tied], missing)[:missing]]
        chosen = np.concatenate([above, tied])
    else:
        chosen = np.arange(N)
    return chosen[np.lexsort((chosen, ties[chosen], -utilities[chosen]))].astype(np.int64)


def best_remaining(utilities: Floats, ties: Array, taken: Array) -> Best:
    """Return the best image that is not taken; ties are ordered by their hashes."""
    remaining = np.where(taken, -np.inf, utilities)
    tied = np.flatnonzero(remaining == remaining.max())
    return Best(int(tied[np.argmin(ties[tied])]), len(tied))
