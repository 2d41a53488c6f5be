"""The reference images that can tell sub-spaces apart, and on each of them the classes that can win a vote.

Two facts make the exact worst case cheap before any sub-space is looked at.

1. Where all M members agree, so does every sub-space with its vote: such an image adds nothing to any GVD.
2. A class to which every member gives less probability than to some one rival never wins the vote of any sub-space.
   Late in learning two or three of ten classes are left on most images, early five or six.

The second holds to the last bit: addition rounds monotonically, so that a class which no member prefers to a lower
one can at best tie with it, and the lower wins ties; against a higher class a margin above the rounding of M
additions is asked for.
"""

import numpy as np

from versionspace.space.beliefs import Beliefs
from versionspace.space.kernels import Contest
from versionspace.types import Array, Bools, Ints, Vote

_RIVALS = 4
"""Each class is held against the so many most probable ones of its image."""
_LEAST_IMAGES = 64
"""A group of fewer images than this joins the next one, which has more contenders."""
_ELEMENTS = 2_000_000
"""Elements of a temporary array, about: images are taken in chunks of so many probabilities."""


def contests(reference: Beliefs, vote: Vote) -> list[Contest]:
    """The images of the reference on which members differ, in groups of equally many contenders. Cost M·T·C."""
    M, C = reference.members, reference.classes
    differing = np.flatnonzero((reference.votes != reference.votes[0]).any(axis=0))
    if len(differing) == 0:
        return []
    if vote == "hard":
        whole = _hard(reference.votes[:, differing])
    else:
        step = max(1, _ELEMENTS // (M * C))
        chunks = [differing[i : i + step] for i in range(0, len(differing), step)]
        whole = _joined([_soft(reference.probs_at(chunk), reference.votes[:, chunk]) for chunk in chunks])
    contenders = (whole.probs[0] >= 0).sum(axis=1)
    by = np.argsort(contenders, kind="stable")
    groups = np.split(by, _edges(contenders[by]))
    return [_taken(whole, group, int(contenders[group].max())) for group in groups]


def _hard(votes_MT: Array) -> Contest:
    """Votes as probabilities 0 and 1, over the classes that somebody votes for: no more than M of them."""
    M, T = votes_MT.shape
    by = np.argsort(votes_MT, axis=0, kind="stable")
    ordered = np.take_along_axis(votes_MT, by, axis=0)
    rank = np.zeros((M, T), np.int32)
    np.cumsum(ordered[1:] != ordered[:-1], axis=0, out=rank[1:])
    votes = np.empty((M, T), np.int32)
    np.put_along_axis(votes, by, rank, axis=0)
    R = int(rank.max()) + 1
    probs = np.where(np.arange(R) > rank[-1][:, None], -1.0, 0.0) + (votes[:, :, None] == np.arange(R))
    return Contest(probs, votes, exact=True)


def _soft(probs_MTC: Array, votes_MT: Array) -> Contest:
    """The contenders of each image moved to the front, in order of class."""
    can_win = _contenders(probs_MTC)
    R = int(can_win.sum(axis=1).max())
    first = np.argsort(~can_win, axis=1, kind="stable")[:, :R]
    probs = np.take_along_axis(probs_MTC, first[None], axis=2)
    probs[:, ~np.take_along_axis(can_win, first, axis=1)] = -1.0
    place = np.cumsum(can_win, axis=1) - 1
    return Contest(probs, np.take_along_axis(place.T, votes_MT.astype(np.int64), axis=0), exact=False)


def _contenders(probs_MTC: Array) -> Bools:
    """(T, C): which classes can win the vote of some sub-space."""
    M, _, C = probs_MTC.shape
    margin = (M + 1) ** 2 * 2.0**-52
    popular = np.argsort(-probs_MTC.sum(axis=0), axis=1, kind="stable")[:, :_RIVALS]
    loses: Bools = np.zeros(probs_MTC.shape[1:], bool)
    for rival in popular.T:
        lead = (np.take_along_axis(probs_MTC, rival[None, :, None], axis=2) - probs_MTC).min(axis=0)
        loses |= np.where(rival[:, None] < np.arange(C), lead >= 0, lead > margin)
    return ~loses


def _joined(parts: list[Contest]) -> Contest:
    """One contest, with −1 for the contenders that an image does not have."""
    R = max(part.probs.shape[2] for part in parts)
    padded = [np.pad(p.probs, ((0, 0), (0, 0), (0, R - p.probs.shape[2])), constant_values=-1.0) for p in parts]
    return Contest(np.concatenate(padded, axis=1), np.concatenate([p.votes for p in parts], axis=1), parts[0].exact)


def _edges(contenders: Ints) -> list[int]:
    """Where to cut images sorted by their number of contenders into groups."""
    edges = [0]
    for change in (np.flatnonzero(np.diff(contenders)) + 1).tolist():
        if change - edges[-1] >= _LEAST_IMAGES:
            edges.append(change)
    return edges[1:]


def _taken(whole: Contest, images: Ints, contenders: int) -> Contest:
    probs = np.ascontiguousarray(whole.probs[:, images, :contenders])
    return Contest(probs, np.ascontiguousarray(whole.votes[:, images], np.int32), whole.exact)
