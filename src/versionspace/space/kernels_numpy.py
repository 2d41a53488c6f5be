"""The kernels in NumPy, for installations without a C compiler; `kernels` documents each function."""

import numpy as np

from versionspace.space import masks as mask
from versionspace.space.masks import Lists
from versionspace.types import Array, Ints, Words

_ELEMENTS = 4_000_000
"""Approximate number of elements in a temporary array."""


def votes(probs_RC: Array, tolerance: float) -> tuple[Array, int]:
    """See `kernels.votes`."""
    with np.errstate(invalid="ignore"):  # rows with NaN or infinity are what this check looks for
        valid = (probs_RC >= 0).all(axis=1) & (np.abs(probs_RC.sum(axis=1, dtype=np.float64) - 1.0) <= tolerance)
    bad_row = -1 if valid.all() else int(np.argmin(valid))
    return probs_RC.argmax(axis=1).astype(np.uint32), bad_row


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
    by_class = np.ascontiguousarray(probs_MTR.transpose(0, 2, 1))
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
