"""The inner loops: compiled if a C compiler was available at installation, else in NumPy, with equal results.

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
from versionspace.space.kernels_numpy import Votes
from versionspace.space.masks import Lists, words
from versionspace.types import Array, Floats, Ints, Words

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


def votes(probs_RC: Array, tolerance: float) -> Votes:
    """Return the argmax of contiguous float32 or float64 rows; check that they are finite, not negative and sum to 1.

    The tolerance is that of the sum, and of numbers below 0.
    """
    if not COMPILED:
        return kernels_numpy.votes(probs_RC, tolerance)
    out = np.empty(len(probs_RC), np.uint32)
    bad_row, negative = _kernels.votes(probs_RC, probs_RC.shape[1], probs_RC.dtype == np.float64, tolerance, out)
    return Votes(out, bad_row, negative)


def member_sums(probs_MNC: Array, images: slice) -> Floats:
    """Return the sums over members, in member order, of the probabilities of some images: float64 (n, C)."""
    M, N, C = probs_MNC.shape
    plain = probs_MNC.flags.c_contiguous and probs_MNC.dtype in (np.float32, np.float64)
    if not (COMPILED and plain and probs_MNC.dtype.isnative):
        return kernels_numpy.member_sums(probs_MNC[:, images])
    out = np.empty((images.stop - images.start, C))
    _kernels.member_sums(probs_MNC, probs_MNC.dtype == np.float64, M, N * C, images.start * C, out)
    return out


def row_sums(terms_RC: Floats) -> Floats:
    """Return the sum of each row, (R,), in the order of its columns; `np.sum` adds in another order."""
    if not COMPILED:
        return kernels_numpy.row_sums(terms_RC)
    out = np.empty(len(terms_RC))
    _kernels.row_sums(np.ascontiguousarray(terms_RC), terms_RC.shape[1], out)
    return out


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
    """float32 or float64 (M, T, R), contiguous: R contenders ordered by class, −1 where an image has fewer."""
    votes: Array
    """int32 (M, T), contiguous: each member's vote as the index of a contender."""


class Ballots(NamedTuple):
    """Votes on the reference images where members differ, with the classes of each image numbered from 0."""

    votes: Array
    """uint16 (M, T), contiguous; the numbers are ordered as the classes are."""
    classes: int
    """The largest number of classes that receive a vote on an image."""


def mistakes(contest: Contest, lists: Lists, leave_one_out: bool) -> Ints:
    """Return (K,): how often the members of each sub-space differ from their vote, or each from that of the others.

    Cost about K·T·R.
    """
    if not COMPILED:
        return kernels_numpy.mistakes(contest.probs, contest.votes, lists, leave_one_out)
    M, T, R = contest.probs.shape
    listed = (lists.masks, lists.starts, lists.members, lists.shared)
    is_double = contest.probs.dtype == np.float64

    def count(begin: int, end: int, out: Ints) -> None:
        _kernels.mistakes(
            contest.probs, is_double, contest.votes, M, T, R, *listed, leave_one_out, begin, end, out
        )  # fmt: skip

    return _add_over_images(count, T, len(lists.masks))


def hard_mistakes(ballots: Ballots, lists: Lists, leave_one_out: bool) -> Ints:
    """Return what `mistakes` returns, for the most frequent vote. Cost about K·T·s, with s members in a sub-space."""
    if not COMPILED:
        return kernels_numpy.hard_mistakes(ballots.votes, ballots.classes, lists, leave_one_out)
    M, T = ballots.votes.shape
    listed = (lists.starts, lists.members, lists.shared)

    def count(begin: int, end: int, out: Ints) -> None:
        _kernels.hard_mistakes(ballots.votes, M, T, ballots.classes, *listed, leave_one_out, begin, end, out)

    return _add_over_images(count, T, len(lists.masks))


def _add_over_images(count: Callable[[int, int, Ints], None], images: int, masks: int) -> Ints:
    """Return the sum of what ``count`` adds up over ranges of images, one for each thread."""
    parts = max(1, min(threads(), images // _MIN_IMAGES))
    edges = np.linspace(0, images, parts + 1).astype(int).tolist()

    def part(span: tuple[int, int]) -> Ints:
        out = np.zeros(masks, np.int64)
        count(*span, out)
        return out

    total = np.zeros(masks, np.int64)
    for counted in map_threads(part, itertools.pairwise(edges)):
        total += counted
    return total
