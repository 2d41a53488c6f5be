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
from versionspace.space.kernels import Contest
from versionspace.types import Array, Bools, Ints, Vote

_RIVALS = 4
"""Each class is compared with this many of the most probable classes of its image."""
_MIN_IMAGES = 64
"""A group of fewer images is merged with the next one, which has more contenders."""
_ELEMENTS = 2_000_000
"""Approximate number of elements in a temporary array."""


def contests(reference: Beliefs, vote: Vote) -> list[Contest]:
    """Return the reference images on which members differ, grouped by their number of contenders. Cost M·T·C."""
    M, C = reference.members, reference.classes
    differing = np.flatnonzero((reference.votes != reference.votes[0]).any(axis=0))
    if len(differing) == 0:
        return []
    if vote == "hard":
        whole = _hard_contest(reference.votes[:, differing])
    else:
        step = max(1, _ELEMENTS // (M * C))
        chunks = [differing[i : i + step] for i in range(0, len(differing), step)]
        whole = _concatenate([_soft_contest(reference.probs_at(chunk), reference.votes[:, chunk]) for chunk in chunks])
    contenders = (whole.probs[0] >= 0).sum(axis=1)
    order = np.argsort(contenders, kind="stable")
    groups = np.split(order, _group_edges(contenders[order]))
    return [_select(whole, group, int(contenders[group].max())) for group in groups]


def _hard_contest(votes_MT: Array) -> Contest:
    """Represent votes as probabilities 0 and 1 over the classes that receive a vote, at most M on an image."""
    M, T = votes_MT.shape
    order = np.argsort(votes_MT, axis=0, kind="stable")
    ordered = np.take_along_axis(votes_MT, order, axis=0)
    rank = np.zeros((M, T), np.int32)
    np.cumsum(ordered[1:] != ordered[:-1], axis=0, out=rank[1:])
    votes = np.empty((M, T), np.int32)
    np.put_along_axis(votes, order, rank, axis=0)
    R = int(rank.max()) + 1
    probs = np.where(np.arange(R) > rank[-1][:, None], -1.0, 0.0) + (votes[:, :, None] == np.arange(R))
    return Contest(probs, votes, exact=True)


def _soft_contest(probs_MTC: Array, votes_MT: Array) -> Contest:
    """Move the contenders of each image to the front, ordered by class, and drop the other classes."""
    can_win = _contenders(probs_MTC)
    R = int(can_win.sum(axis=1).max())
    first = np.argsort(~can_win, axis=1, kind="stable")[:, :R]
    probs = np.take_along_axis(probs_MTC, first[None], axis=2)
    probs[:, ~np.take_along_axis(can_win, first, axis=1)] = -1.0
    rank = np.cumsum(can_win, axis=1) - 1
    return Contest(probs, np.take_along_axis(rank.T, votes_MT.astype(np.int64), axis=0), exact=False)


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


def _concatenate(parts: list[Contest]) -> Contest:
    """Join contests along the axis of images, padding the contenders with −1."""
    R = max(part.probs.shape[2] for part in parts)
    padded = [np.pad(p.probs, ((0, 0), (0, 0), (0, R - p.probs.shape[2])), constant_values=-1.0) for p in parts]
    return Contest(np.concatenate(padded, axis=1), np.concatenate([p.votes for p in parts], axis=1), parts[0].exact)


def _group_edges(contenders: Ints) -> list[int]:
    """Return where to split images that are sorted by their number of contenders."""
    edges = [0]
    for change in (np.flatnonzero(np.diff(contenders)) + 1).tolist():
        if change - edges[-1] >= _MIN_IMAGES:
            edges.append(change)
    return edges[1:]


def _select(whole: Contest, images: Ints, contenders: int) -> Contest:
    probs = np.ascontiguousarray(whole.probs[:, images, :contenders])
    return Contest(probs, np.ascontiguousarray(whole.votes[:, images], np.int32), whole.exact)
