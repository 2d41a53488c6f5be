"""The k best of many, with ties broken by a hash of seed and position.

Equal utilities are frequent (few distinct splits of 20 members exist), and an order by position would ask for the
head of the file first.

What a set method returns: images in the order in which it took them, with the score of each at its turn.
"""

from typing import NamedTuple

import numpy as np

from versionspace.query.inputs import Problem
from versionspace.types import Array, Floats, Ints


class Chosen(NamedTuple):
    """Indices of k images, best first, and their utilities."""

    indices: Ints
    utilities: Floats


def best(utilities: Floats, ties: Array, k: int) -> Ints:
    """Indices of the k highest utilities, best first; among equals the lowest tie hash comes first. Cost N."""
    N = len(utilities)
    if k < N:
        threshold = np.partition(utilities, N - k)[N - k]
        above = np.flatnonzero(utilities > threshold)
        level = np.flatnonzero(utilities == threshold)
        wanted = k - len(above)
        if wanted < len(level):
            level = level[np.argpartition(ties[level], wanted)[:wanted]]
        chosen = np.concatenate([above, level])
    else:
        chosen = np.arange(N)
    return chosen[np.lexsort((chosen, ties[chosen], -utilities[chosen]))].astype(np.int64)


def top(problem: Problem, utilities: Floats, k: int) -> Ints:
    """Indices, within the problem, of the k images to ask first."""
    return best(utilities, problem.ties(problem.positions()), k)


def first(utilities: Floats, ties: Array, taken: Array) -> int:
    """Index of the best image not yet taken."""
    free = np.where(taken, -np.inf, utilities)
    level = np.flatnonzero(free == free.max())
    return int(level[np.argmin(ties[level])])
