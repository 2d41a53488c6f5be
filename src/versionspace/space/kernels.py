"""The three inner loops: compiled if a C compiler was available at installation, else in NumPy, with equal results.

``VERSIONSPACE_KERNELS=numpy`` in the environment disables the compiled kernels. The work is distributed over threads,
as many as ``OMP_NUM_THREADS`` allows or the process may use. Threads only add up integers, so the result does not
depend on their number.
"""

import itertools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from versionspace.machine import cores
from versionspace.space import kernels_numpy
from versionspace.space.masks import Lists, words
from versionspace.types import Array, Ints, Words

try:
    from versionspace.space import _kernels
except ImportError:  # no C compiler at installation
    _kernels = None  # type: ignore[assignment]

COMPILED = _kernels is not None and os.environ.get("VERSIONSPACE_KERNELS", "") != "numpy"
"""Whether the compiled kernels are used."""

_MIN_IMAGES = 64
"""Reference images per thread below which another thread costs more than it gains."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def threads() -> int:
    """Return the number of threads that the kernels may use."""
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    if allowed.isdigit() and int(allowed) > 0:
        return int(allowed)
    return cores()


def map_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return ``[work(item) for item in items]``, computed on several threads if there are several items."""
    todo = list(items)
    workers = min(threads(), len(todo))
    if workers <= 1:
        return [work(item) for item in todo]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, todo))


class Votes(NamedTuple):
    """The votes of some rows of probabilities, and the first row that is invalid."""

    votes: Array
    """uint32 (R,): the argmax of each row."""
    bad_row: int
    """The first row that is not a probability vector, or −1; votes after it are undefined."""


def votes(probs_RC: Array, tolerance: float) -> Votes:
    """Return the argmax of contiguous float32 or float64 rows; check that they are finite, ≥ 0 and sum to 1."""
    if not COMPILED:
        return Votes(*kernels_numpy.votes(probs_RC, tolerance))
    out = np.empty(len(probs_RC), np.uint32)
    bad_row = _kernels.votes(probs_RC, probs_RC.shape[1], probs_RC.dtype == np.float64, tolerance, out)
    return Votes(out, bad_row)


class Subspaces(NamedTuple):
    """Distinct sub-spaces as masks (K, W); those of image n are ``entries[starts[n]:starts[n + 1]]``."""

    masks: Words
    starts: Ints
    entries: Array


def subspaces(votes_MN: Array) -> Subspaces:
    """Return the distinct sub-spaces into which contiguous unsigned votes split the members. Cost M·N."""
    if not COMPILED:
        return Subspaces(*kernels_numpy.subspaces(votes_MN))
    M, N = votes_MN.shape
    masks, starts, entries = _kernels.subspaces(votes_MN, votes_MN.dtype.itemsize, M, N)
    return Subspaces(
        np.frombuffer(masks, np.uint64).reshape(-1, words(M)),
        np.frombuffer(starts, np.int64),
        np.frombuffer(entries, np.int32),
    )


class Contest(NamedTuple):
    """Predictions on the reference images where members differ, restricted to the classes that can win there."""

    probs: Array
    """float64 (M, T, R), contiguous: R contenders ordered by class, −1 where an image has fewer."""
    votes: Array
    """int32 (M, T), contiguous: each member's vote as the index of a contender."""
    exact: bool
    """Whether sums of these numbers are exact in any order, as for hard votes."""


def mistakes(contest: Contest, lists: Lists, leave_one_out: bool) -> Ints:
    """Return (K,): how often the members of each sub-space differ from their vote, or each from that of the others.

    Cost about K·T·R.
    """
    if not COMPILED:
        return kernels_numpy.mistakes(contest.probs, contest.votes, lists, leave_one_out)
    M, T, R = contest.probs.shape
    parts = max(1, min(threads(), T // _MIN_IMAGES))
    edges = np.linspace(0, T, parts + 1).astype(int).tolist()

    def count(span: tuple[int, int]) -> Ints:
        out = np.zeros(len(lists.masks), np.int64)
        listed = (lists.masks, lists.starts, lists.members, lists.shared)
        _kernels.mistakes(contest.probs, contest.votes, M, T, R, *listed, leave_one_out, contest.exact, *span, out)
        return out

    total = np.zeros(len(lists.masks), np.int64)
    for part in map_threads(count, itertools.pairwise(edges)):
        total += part
    return total
