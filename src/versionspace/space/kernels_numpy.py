"""The kernels in NumPy, for where no compiler was at hand; `kernels` says what each does."""

import numpy as np

from versionspace.space import masks as mask
from versionspace.space.masks import Lists
from versionspace.types import Array, Ints, Words

_ELEMENTS = 4_000_000
"""Elements of a temporary array, about: chunks are cut to it."""


def votes(probs_RC: Array, tolerance: float) -> tuple[Array, int]:
    """See `kernels.votes`."""
    with np.errstate(invalid="ignore"):  # a NaN or an infinity is what we look for
        fine = (probs_RC >= 0).all(axis=1) & (np.abs(probs_RC.sum(axis=1, dtype=np.float64) - 1.0) <= tolerance)
    bad = -1 if fine.all() else int(np.argmin(fine))
    return probs_RC.argmax(axis=1).astype(np.uint32), bad


def subspaces(votes_MN: Array) -> tuple[Words, Ints, Array]:
    """See `kernels.subspaces`. An image's sub-spaces are found through the first member of each."""
    M, N = votes_MN.shape
    width = mask.words(M)
    table = np.zeros((0, width), np.uint64)
    starts = np.zeros(N + 1, np.int64)
    index: list[Array] = []
    step = max(1, _ELEMENTS // (M * M))
    for begin in range(0, N, step):
        chunk = votes_MN[:, begin : begin + step]
        alike = chunk[:, None, :] == chunk[None, :, :]  # (M, M, n): i and j agree on the image
        leads = alike.argmax(axis=1) == np.arange(M)[:, None]  # i is the first of those who agree with it
        image, leader = np.nonzero(leads.T)
        found = mask.pack(np.ascontiguousarray(alike[leader, :, image]))
        merged = mask.unique(np.concatenate([table, found]))
        index = [merged.inverse[: len(table)][part] for part in index]
        index.append(merged.inverse[len(table) :])
        table = merged.masks
        starts[begin + 1 : begin + 1 + chunk.shape[1]] = leads.sum(axis=0)
    return table, np.cumsum(starts), np.concatenate(index).astype(np.int32)


def mistakes(probs_MTR: Array, votes_MT: Array, lists: Lists, leave_one_out: bool) -> Ints:
    """See `kernels.mistakes`: a walk over sorted lists, with the sums over their heads on a stack."""
    M, T, R = probs_MTR.shape
    by_class = np.ascontiguousarray(probs_MTR.transpose(0, 2, 1))
    sums = np.zeros((M + 1, R, T))
    out = np.zeros(len(lists.masks), np.int64)
    for k in range(len(out)):
        members = lists.members[lists.starts[k] : lists.starts[k + 1]]
        for level in range(lists.shared[k], len(members)):
            np.add(sums[level], by_class[members[level]], out=sums[level + 1])
        if not leave_one_out:
            out[k] = np.count_nonzero(votes_MT[members] != sums[len(members)].argmax(axis=0))
        elif len(members) > 1:
            for member in members:
                others = np.zeros((R, T))
                for other in members[members != member]:
                    others += by_class[other]
                out[k] += np.count_nonzero(votes_MT[member] != others.argmax(axis=0))
    return out
