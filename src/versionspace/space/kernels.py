"""The three inner loops, compiled where the compiler made them and in NumPy where it did not: the same numbers.

``VERSIONSPACE_KERNELS=numpy`` in the environment sets the compiled ones aside. Work is spread over threads, at most
as many as ``OMP_NUM_THREADS`` says or the process may use; results are integers that are added up, so that no bit
depends on how many.
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
except ImportError:  # no compiler where the package was built
    _kernels = None  # type: ignore[assignment]

COMPILED = _kernels is not None and os.environ.get("VERSIONSPACE_KERNELS", "") != "numpy"
"""Whether the compiled kernels are in use."""

_LEAST_IMAGES = 64
"""Reference images below which a further thread costs more than it brings."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def threads() -> int:
    """How many threads the kernels may use."""
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    if allowed.isdigit() and int(allowed) > 0:
        return int(allowed)
    return cores()


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """``[work(item) for item in items]``, on several threads where there are several items."""
    todo = list(items)
    workers = min(threads(), len(todo))
    if workers <= 1:
        return [work(item) for item in todo]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, todo))


class Votes(NamedTuple):
    """The argmax of each row, and the first row that is no probability vector, or −1."""

    votes: Array
    bad: int


def votes(probs_RC: Array, tolerance: float) -> Votes:
    """Argmax of contiguous float32 or float64 rows, and their check: finite, not negative, summing to 1."""
    if not COMPILED:
        return Votes(*kernels_numpy.votes(probs_RC, tolerance))
    out = np.empty(len(probs_RC), np.uint32)
    bad = _kernels.votes(probs_RC, probs_RC.shape[1], probs_RC.dtype == np.float64, tolerance, out)
    return Votes(out, bad)


class Subspaces(NamedTuple):
    """Distinct masks (K, W), and image n's own: ``entries[starts[n]:starts[n + 1]]``."""

    masks: Words
    starts: Ints
    entries: Array


def subspaces(votes_MN: Array) -> Subspaces:
    """The distinct sub-spaces into which contiguous unsigned votes split the members. Cost M·N."""
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
    """What the members say on reference images where they differ, over the classes that can win there."""

    probs: Array
    """float64 (M, T, R), contiguous: R contenders, ordered by class, −1 where an image has fewer."""
    votes: Array
    """int32 (M, T), contiguous: each member's vote as the number of a contender."""
    exact: bool
    """Whether sums of these numbers are exact in any order (hard votes)."""


def mistakes(contest: Contest, lists: Lists, leave_one_out: bool) -> Ints:
    """For each sub-space, how often its members differ from their vote (or each from the others'). Cost ~ K·T·R."""
    if not COMPILED:
        return kernels_numpy.mistakes(contest.probs, contest.votes, lists, leave_one_out)
    M, T, R = contest.probs.shape
    parts = max(1, min(threads(), T // _LEAST_IMAGES))
    edges = np.linspace(0, T, parts + 1).astype(int).tolist()

    def work(span: tuple[int, int]) -> Ints:
        out = np.zeros(len(lists.masks), np.int64)
        listed = (lists.masks, lists.starts, lists.members, lists.shared)
        _kernels.mistakes(contest.probs, contest.votes, M, T, R, *listed, leave_one_out, contest.exact, *span, out)
        return out

    total = np.zeros(len(lists.masks), np.int64)
    for part in in_threads(work, itertools.pairwise(edges)):
        total += part
    return total
