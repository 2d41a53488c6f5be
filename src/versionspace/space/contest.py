"""The reference images that distinguish sub-spaces, and the classes that can win a vote on each of them.

Two facts reduce the work before any sub-space is scored.

1. Where all M members agree, every sub-space agrees with its vote: such an image adds nothing to any GVD.
2. A class to which every member gives less probability than to one particular rival never wins the vote of any
   sub-space. Of ten classes, two or three remain on most images late in learning, five or six early.

Fact 2 holds in floating point as well. Rounding is monotonic, so a class that no member prefers to a lower class can
at best tie with it, and the lower class wins ties. Against a higher class, the margin must exceed the rounding error
of M additions.
"""

import numpy as np

from versionspace.space.beliefs import Beliefs
from versionspace.space.kernels import Ballots, Contest
from versionspace.types import Array, Bools, Ints

_RIVALS = 4
"""Each class is compared with this many of the most probable classes of its image."""
_MIN_IMAGES = 64
"""A group of fewer images is merged with the next one, which has more contenders."""
_ELEMENTS = 2_000_000
"""Approximate number of elements in a temporary array."""


def contests(reference: Beliefs) -> list[Contest]:
    """Return the reference images on which members differ, grouped by their number of contenders. Cost M·T·C.

    Memory: the probabilities of contenders on these images, in the precision of the reference.
    """
    images = _differing(reference)
    if len(images) == 0:
        return []
    step = max(1, _ELEMENTS // (reference.members * reference.classes))
    can_win = np.concatenate(
        [_contenders(reference.probs_at(images[i : i + step])) for i in range(0, len(images), step)]
    )
    contenders = can_win.sum(axis=1)
    order = np.argsort(contenders, kind="stable")
    groups = np.split(order, _group_edges(contenders[order]))
    return [_contest(reference, images[group], can_win[group], step) for group in groups]


def ballots(reference: Beliefs) -> Ballots:
    """Return the votes on the reference images on which members differ; at most M classes have one on an image."""
    images = _differing(reference)
    votes, most = np.empty((reference.members, len(images)), np.uint16), 1
    step = max(1, _ELEMENTS // reference.members)
    for i in range(0, len(images), step):
        ranks = _ranks(reference.votes[:, images[i : i + step]])
        votes[:, i : i + step] = ranks
        most = max(most, int(ranks.max()) + 1)
    return Ballots(votes, most)


def _differing(reference: Beliefs) -> Ints:
    return np.flatnonzero((reference.votes != reference.votes[0]).any(axis=0))


def _ranks(votes_MT: Array) -> Array:
    """Return each vote as its rank among the classes that receive a vote on the image, int32 (M, T)."""
    order = np.argsort(votes_MT, axis=0, kind="stable")
    ordered = np.take_along_axis(votes_MT, order, axis=0)
    rank = np.zeros(votes_MT.shape, np.int32)
    np.cumsum(ordered[1:] != ordered[:-1], axis=0, out=rank[1:])
    ranks = np.empty(votes_MT.shape, np.int32)
    np.put_along_axis(ranks, order, rank, axis=0)
    return ranks


def _contest(reference: Beliefs, images: Ints, can_win_TC: Bools, step: int) -> Contest:
    """Return the contenders of some images, ordered by class, and the votes among them."""
    M, R = reference.members, int(can_win_TC.sum(axis=1).max())
    dtype = np.float64 if reference.probabilities().dtype.itemsize >= 8 else np.float32
    probs, votes = np.empty((M, len(images), R), dtype), np.empty((M, len(images)), np.int32)
    for i in range(0, len(images), step):
        some, can_win = slice(i, i + step), can_win_TC[i : i + step]
        first = np.argsort(~can_win, axis=1, kind="stable")[:, :R]
        probs[:, some] = np.take_along_axis(reference.exact_at(images[some]), first[None], axis=2)
        probs[:, some][:, ~np.take_along_axis(can_win, first, axis=1)] = -1.0
        rank = np.cumsum(can_win, axis=1) - 1
        votes[:, some] = np.take_along_axis(rank.T, reference.votes[:, images[some]].astype(np.int64), axis=0)
    return Contest(probs, votes)


def _contenders(probs_MTC: Array) -> Bools:
    """Return (T, C): which classes can win the vote of some sub-space."""
    M, _, C = probs_MTC.shape
    margin = (M + 1) ** 2 * 2.0**-52
    popular = np.argsort(-probs_MTC.sum(axis=0), axis=1, kind="stable")[:, :_RIVALS]
    loses: Bools = np.zeros(probs_MTC.shape[1:], bool)
    for rival in popular.T:
        lead = (np.take_along_axis(probs_MTC, rival[None, :, None], axis=2) - probs_MTC).min(axis=0)
        loses |= np.where(rival[:, None] < np.arange(C), lead >= 0, lead > margin)
    return ~loses


def _group_edges(contenders: Ints) -> list[int]:
    """Return where to split images that are sorted by their number of contenders."""
    edges = [0]
    for change in (np.flatnonzero(np.diff(contenders)) + 1).tolist():
        if change - edges[-1] >= _MIN_IMAGES:
            edges.append(change)
    return edges[1:]
