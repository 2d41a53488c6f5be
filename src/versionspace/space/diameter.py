"""Diameters: how far apart the members of a version space, or of a sub-space S of s members, are.

    D[i, j]   the share of the reference images on which members i and j differ
    PWD(S)    Σ_{i≠j∈S} D[i, j] / (s(s − 1))                    0 where s < 2
    GVD(S)    the mean over i∈S of the share on which i differs from the vote of S
    GVD-LOO   as GVD, each member against the vote of the others; 0 where s < 2

Disagreements are counted in whole numbers and divided once. Liu et al. 2020, section 5 and appendix A, where the
sign of PWD's denominator is wrong. PWD is unbiased. GVD is biased low, the more the smaller S: each member sits in
the vote that it is held against.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from versionspace.errors import InputError
from versionspace.space import kernels, masks
from versionspace.space.beliefs import Beliefs, read
from versionspace.space.contest import contests
from versionspace.types import Array, ArrayLike, Floats, Ints, Vote, Words

_MASKS = 1 << 16
"""Sub-spaces listed at once; bounds the memory, changes nothing."""


def disagreement_counts(votes_MT: Array) -> Ints:
    """(M, M): on how many images members i and j differ. Cost M²·T over the images where any differ."""
    M = len(votes_MT)
    differing = np.ascontiguousarray(votes_MT[:, (votes_MT != votes_MT[0]).any(axis=0)])
    counts = np.zeros((M, M), np.int64)
    for i in range(M - 1):
        counts[i, i + 1 :] = (differing[i + 1 :] != differing[i]).sum(axis=1)
    return counts + counts.T


Diameter: TypeAlias = Callable[[Words, Ints], Floats]
"""From sub-spaces, as masks (K, W) and sizes (K,), to their diameters (K,)."""


def pwd_over(reference: Beliefs, power: int = 0) -> Diameter:
    """(s/M)^power · PWD of any sub-spaces, on a reference set that is looked at once. Cost M²·T, then K·M²."""
    counts = disagreement_counts(reference.votes).astype(np.float64)  # below 2^53: BLAS adds them exactly

    def pwd(masks_KW: Words, sizes: Ints) -> Floats:
        differences = np.zeros(len(masks_KW))
        for i in range(0, len(masks_KW), _MASKS):
            bits = masks.unpack(masks_KW[i : i + _MASKS], reference.members).astype(np.float64)
            differences[i : i + _MASKS] = np.einsum("km,km->k", bits @ counts, bits)
        return _divided(differences, sizes * np.maximum(sizes - 1, 1), sizes, reference, power)

    return pwd


def gvd_over(reference: Beliefs, vote: Vote, leave_one_out: bool = False, power: int = 0) -> Diameter:
    """(s/M)^power · GVD, or GVD-LOO, of any sub-spaces, on a reference set that is looked at once.

    Cost M·T·C, then about K·T'·R, with T' the reference images on which members differ and R the classes that can
    win a vote there.
    """
    groups = contests(reference, vote)

    def gvd(masks_KW: Words, sizes: Ints) -> Floats:
        several = np.flatnonzero(sizes > 1)
        several = several[masks.order(masks_KW[several])]
        mistakes = np.zeros(len(masks_KW), np.int64)
        for i in range(0, len(several), _MASKS):
            some = several[i : i + _MASKS]
            lists = masks.lists(masks_KW[some], reference.members)
            for contest in groups:
                mistakes[some] += kernels.mistakes(contest, lists, leave_one_out)
        return _divided(mistakes, sizes, sizes, reference, power)

    return gvd


def _divided(counts: Array, of: Ints, sizes: Ints, reference: Beliefs, power: int) -> Floats:
    """counts/(of·T) · (s/M)^power, of whole numbers that are divided once: what is equal is equal to the last bit."""
    values: Floats = (counts * sizes**power) / (of * reference.images * reference.members**power)
    return values


def disagreement_matrix(votes: ArrayLike) -> Floats:
    """D[i, j], the share of images on which members i and j differ. Votes (M, T) or probabilities (M, T, C).

    >>> disagreement_matrix([[0, 0], [0, 1]])
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    beliefs = read(votes, "votes")
    return disagreement_counts(beliefs.votes) / beliefs.images


def pairwise_disagreement(votes: ArrayLike) -> float:
    """PWD, the average diameter: Σ_{i≠j} D[i, j] / (M(M − 1)), unbiased; 0 for one member.

    Votes (M, T) or probabilities (M, T, C). Cost M²·T. Half of it bounds the members' mean error from below.

    >>> pairwise_disagreement([[0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 1, 0]])
    0.3333333333333333
    """
    beliefs = read(votes, "votes")
    M = beliefs.members
    return float(disagreement_counts(beliefs.votes).sum() / max(1, M * (M - 1) * beliefs.images))


def vote_of(beliefs: Beliefs, vote: Vote) -> Array:
    """(N,): the majority vote of all members; the lowest class wins a tie. Where all agree, it is what they say."""
    winner = np.empty(beliefs.images, beliefs.votes.dtype)
    if vote == "hard":
        ordered = np.sort(beliefs.votes, axis=0)
        best = np.zeros(beliefs.images, np.int64)
        run = np.zeros(beliefs.images, np.int64)
        for m in range(beliefs.members):
            run = np.where(ordered[m] == ordered[max(m - 1, 0)], run + 1, 1)
            winner = np.where(run > best, ordered[m], winner)
            best = np.maximum(best, run)
        return winner
    for chunk in beliefs.chunks():
        probs = beliefs.probs_at(chunk)
        total = probs[0].copy()
        for member in probs[1:]:  # float64 in member order, as everywhere
            total += member
        winner[chunk] = total.argmax(axis=1)
    agreed = (beliefs.votes == beliefs.votes[0]).all(axis=0)  # sums could say otherwise by a last bit
    return np.where(agreed, beliefs.votes[0], winner)


def read_vote(vote: str) -> Vote:
    """The name of a vote, checked."""
    match vote:
        case "soft" | "hard":
            return vote
    raise InputError("vote", expected="'soft' or 'hard'", got=repr(vote), fix="soft is the paper's and the default.")


def majority_vote(probs: ArrayLike, vote: Vote = "soft") -> Array:
    """The class that the members choose together on each image; the lowest class wins a tie. Cost M·N·C.

    soft (the paper's): argmax_c Σ_m p_m(c). hard: the most frequent vote, for which votes (M, N) suffice.

    >>> probs = [[[0.9, 0.1]], [[0.4, 0.6]], [[0.4, 0.6]]]
    >>> majority_vote(probs), majority_vote(probs, vote="hard")
    (array([0], dtype=uint8), array([1], dtype=uint8))
    """
    return vote_of(read(probs, "probs"), read_vote(vote))


def gibbs_vote_disagreement(probs: ArrayLike, vote: Vote = "soft") -> float:
    """GVD: the mean over members of the share of images on which they differ from their vote. Cost M·T·C.

    Probabilities (M, T, C), or votes (M, T) with ``vote="hard"``. Biased low: see the top of this module.

    >>> gibbs_vote_disagreement([[0, 0], [0, 1], [0, 1]], vote="hard")
    0.16666666666666666
    """
    beliefs = read(probs, "probs")
    return float((beliefs.votes != vote_of(beliefs, read_vote(vote))).mean())
