"""The k best of many images, with ties broken by a hash of seed and position.

Equal utilities are frequent, because 20 members can be split in few distinct ways; ordering ties by position would
prefer the images at the start of the pool.
"""

from typing import NamedTuple

import numpy as np

from versionspace.types import Array, Floats, Ints


class Selection(NamedTuple):
    """Images in the order in which they are to be labelled, best first."""

    indices: Ints
    """(k,): positions within the `Problem`."""
    utilities: Floats
    """(k,): the utility of each image at the step in which it was chosen."""


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


def best_remaining(utilities: Floats, ties: Array, taken: Array) -> int:
    """Return the index of the best image that is not taken; ties are ordered by their hashes."""
    remaining = np.where(taken, -np.inf, utilities)
    tied = np.flatnonzero(remaining == remaining.max())
    return int(tied[np.argmin(ties[tied])])
