"""The kernels in NumPy, for installations without a C compiler; `kernels` documents each function."""

from typing import NamedTuple

import numpy as np

from versionspace.space import masks as mask
from versionspace.space.masks import Lists
from versionspace.types import Array, Floats, Ints, Words

_ELEMENTS = 4_000_000
"""Approximate number of elements in a temporary array."""


class Votes(NamedTuple):
    """The votes of some rows of probabilities, and what is wrong with these rows."""

    votes: Array
    """uint32 (R,): the argmax of each row."""
    bad_row: int
    """The first row that is not a probability vector, or −1; votes after it are undefined."""
    negative: bool
    """Whether a number is below 0, in a valid row by no more than the tolerance."""


def votes(probs_RC: Array, tolerance: float) -> Votes:
    """See `kernels.votes`."""
    with np.errstate(invalid="ignore"):  # rows with NaN or infinity are what this check looks for
        least = probs_RC.min(axis=1)
        valid = (least >= -tolerance) & (np.abs(probs_RC.sum(axis=1, dtype=np.float64) - 1.0) <= tolerance)
        negative = bool((least < 0).any())
    bad_row = -1 if valid.all() else int(np.argmin(valid))
    return Votes(probs_RC.argmax(axis=1).astype(np.uint32), bad_row, negative)


def member_sums(probs_MNC: Array) -> Floats:
    """See `kernels.member_sums`."""
    total: Floats = probs_MNC[0].astype(np.float64)
    for member in probs_MNC[1:]:
        total += member
    return total


def row_sums(terms_RC: Floats) -> Floats:
    """See `kernels.row_sums`."""
    total = terms_RC[:, 0].copy()
    for c in range(1, terms_RC.shape[1]):
        total += terms_RC[:, c]
    return total


def subspaces(votes_MN: Array) -> tuple[Words, Ints, Array]:
    """See `kernels.subspaces`. Each sub-space of an image is identified by its first member."""
    M, N = votes_MN.shape
    width = mask.words(M)
    table = np.zeros((0, width), np.uint64)
    starts = np.zeros(N + 1, np.int64)
    entries: list[Array] = []
    step = max(1, _ELEMENTS // (M * M))
    for begin in range(0, N, step):
        chunk = votes_MN[:, begin : begin + step]
        agree = chunk[:, None, :] == chunk[None, :, :]  # (M, M, n): members i and j agree on the image
        leads = agree.argmax(axis=1) == np.arange(M)[:, None]  # i is the first member of its sub-space
        image, leader = np.nonzero(leads.T)
        new = mask.pack(np.ascontiguousarray(agree[leader, :, image]))
        merged = mask.unique(np.concatenate([table, new]))
        entries = [merged.inverse[: len(table)][part] for part in entries]
        entries.append(merged.inverse[len(table) :])
        table = merged.masks
        starts[begin + 1 : begin + 1 + chunk.shape[1]] = leads.sum(axis=0)
    return table, np.cumsum(starts), np.concatenate(entries).astype(np.int32)


def mistakes(probs_MTR: Array, votes_MT: Array, lists: Lists, leave_one_out: bool) -> Ints:
    """See `kernels.mistakes`. Walks over the sorted lists, with the sums over shared prefixes on a stack."""
    M, T, R = probs_MTR.shape
    by_class = np.ascontiguousarray(probs_MTR.transpose(0, 2, 1), np.float64)
    sums = np.zeros((M + 1, R, T))
    counts = np.zeros(len(lists.masks), np.int64)
    for k in range(len(counts)):
        members = lists.members[lists.starts[k] : lists.starts[k + 1]]
        for level in range(lists.shared[k], len(members)):
            np.add(sums[level], by_class[members[level]], out=sums[level + 1])
        if not leave_one_out:
            counts[k] = np.count_nonzero(votes_MT[members] != sums[len(members)].argmax(axis=0))
        elif len(members) > 1:
            for member in members:
                others = np.zeros((R, T))
                for other in members[members != member]:
                    others += by_class[other]
                counts[k] += np.count_nonzero(votes_MT[member] != others.argmax(axis=0))
    return counts


def hard_mistakes(votes_MT: Array, classes: int, lists: Lists, leave_one_out: bool) -> Ints:
    """See `kernels.hard_mistakes`. Walks over the sorted lists, with the counts of shared prefixes on a stack."""
    M, T = votes_MT.shape
    counts = np.zeros(len(lists.masks), np.int64)
    step = max(1, _ELEMENTS // ((M + 1) * classes))
    for begin in range(0, T, step):
        votes = votes_MT[:, begin : begin + step]
        images = np.arange(votes.shape[1])
        ballots = np.zeros((M + 1, classes, len(images)), np.uint16)
        for k in range(len(counts)):
            members = lists.members[lists.starts[k] : lists.starts[k + 1]]
            for level in range(lists.shared[k], len(members)):
                ballots[level + 1] = ballots[level]
                ballots[level + 1, votes[members[level]], images] += 1
            counted = ballots[len(members)]
            if not leave_one_out:
                counts[k] += len(members) * len(images) - int(counted.max(axis=0).sum(dtype=np.int64))
            elif len(members) > 1:
                for member in members:
                    counted[votes[member], images] -= 1
                    counts[k] += np.count_nonzero(counted.argmax(axis=0) != votes[member])
                    counted[votes[member], images] += 1
    return counts
