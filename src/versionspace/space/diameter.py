"""Diameters: how far apart the members of a version space, or of a sub-space S of s members, are.

    D[i, j]   the share of reference images on which members i and j differ
    PWD(S)    Σ_{i≠j∈S} D[i, j] / (s(s − 1))                    0 if s < 2
    GVD(S)    the mean over i∈S of the share of reference images on which i differs from the vote of S
    GVD-LOO   as GVD, with each member compared to the vote of the others; 0 if s < 2

Disagreements are counted as integers and divided once. Liu et al. 2020, section 5 and appendix A (where the sign of
PWD's denominator is wrong). PWD is unbiased. GVD is biased low, more so for small S, because each member takes part in
the vote that it is compared to.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from versionspace.errors import InputError
from versionspace.space import kernels, masks
from versionspace.space.beliefs import Beliefs, read_beliefs
from versionspace.space.contest import ballots, contests
from versionspace.types import Array, ArrayLike, Floats, Ints, Vote, Words

_MASKS = 1 << 16
"""Number of sub-spaces processed at once. It bounds the memory and does not affect the result."""

Diameter: TypeAlias = Callable[[Words, Ints], Floats]
"""A function from sub-spaces, given as masks (K, W) and sizes (K,), to their diameters (K,)."""


def disagreement_counts(votes_MT: Array) -> Ints:
    """Return (M, M): the number of images on which members i and j differ.

    Cost M²·T', with T' the images on which any two members differ.
    """
    M = len(votes_MT)
    differing = np.ascontiguousarray(votes_MT[:, (votes_MT != votes_MT[0]).any(axis=0)])
    counts = np.zeros((M, M), np.int64)
    for i in range(M - 1):
        counts[i, i + 1 :] = (differing[i + 1 :] != differing[i]).sum(axis=1)
    return counts + counts.T


def pwd_over(reference: Beliefs, power: int = 0) -> Diameter:
    """Return a function that computes (s/M)^power · PWD of any sub-spaces on this reference set.

    Cost M²·T once, then K·M² per call.
    """
    counts = disagreement_counts(reference.votes).astype(np.float64)  # below 2^53: BLAS adds them exactly

    def pwd(masks_KW: Words, sizes: Ints) -> Floats:
        differences = np.zeros(len(masks_KW))
        for i in range(0, len(masks_KW), _MASKS):
            bits = masks.unpack(masks_KW[i : i + _MASKS], reference.members).astype(np.float64)
            differences[i : i + _MASKS] = np.einsum("km,km->k", bits @ counts, bits)
        return _normalise(differences, sizes * np.maximum(sizes - 1, 1), sizes, reference, power)

    return pwd


def gvd_over(reference: Beliefs, vote: Vote, leave_one_out: bool = False, power: int = 0) -> Diameter:
    """Return a function that computes (s/M)^power · GVD, or GVD-LOO, of any sub-spaces on this reference set.

    Cost M·T·C once, then about K·T'·R per call, with T' the reference images on which members differ and R the
    classes that can win a vote there; for a hard vote M·T once, then about K·T'·s with s members in a sub-space.
    """
    count = _count_mistakes(reference, vote, leave_one_out)

    def gvd(masks_KW: Words, sizes: Ints) -> Floats:
        several = np.flatnonzero(sizes > 1)
        several = several[masks.order(masks_KW[several])]
        mistakes = np.zeros(len(masks_KW), np.int64)
        for i in range(0, len(several), _MASKS):
            chunk = several[i : i + _MASKS]
            mistakes[chunk] = count(masks.lists(masks_KW[chunk], reference.members))
        return _normalise(mistakes, sizes, sizes, reference, power)

    return gvd


class CachedDiameter:
    """A `Diameter` that remembers the values of up to ``room`` sub-spaces, or of one call more."""

    def __init__(self, diameter: Diameter, room: int) -> None:
        self._diameter, self._room = diameter, room
        self._keys: Array = np.zeros(0, np.uint64)
        """Masks as single numbers or bytes, ascending."""
        self._values: Floats = np.zeros(0)

    def __len__(self) -> int:
        return len(self._keys)

    def __call__(self, masks_KW: Words, sizes: Ints) -> Floats:
        """Return the diameters (K,)."""
        keys = masks.keys(masks_KW)
        if len(self._keys) > self._room or self._keys.dtype != keys.dtype:
            self._keys, self._values = keys[:0], np.zeros(0)
        at = np.searchsorted(self._keys, keys)
        known = at < len(self._keys)
        known[known] = self._keys[at[known]] == keys[known]
        values = np.empty(len(keys))
        values[known] = self._values[at[known]]
        new = np.flatnonzero(~known)
        if len(new):
            values[new] = self._diameter(masks_KW[new], sizes[new])
            merged = np.concatenate([self._keys, keys[new]])
            order = np.argsort(merged, kind="stable")
            self._keys, self._values = merged[order], np.concatenate([self._values, values[new]])[order]
        return values


def _count_mistakes(reference: Beliefs, vote: Vote, leave_one_out: bool) -> Callable[[masks.Lists], Ints]:
    """Return a function that counts how often the members of each sub-space differ from their vote."""
    if vote == "hard":
        votes = ballots(reference)
        return lambda lists: kernels.hard_mistakes(votes, lists, leave_one_out)
    groups = contests(reference)

    def count(lists: masks.Lists) -> Ints:
        total = np.zeros(len(lists.masks), np.int64)
        for contest in groups:
            total += kernels.mistakes(contest, lists, leave_one_out)
        return total

    return count


def _normalise(counts: Array, pairs: Ints, sizes: Ints, reference: Beliefs, power: int) -> Floats:
    """Return counts / (pairs·T) · (s/M)^power, with a single division so that equal diameters are bitwise equal."""
    values: Floats = (counts * sizes**power) / (pairs * reference.images * reference.members**power)
    return values


def disagreement_matrix(votes: ArrayLike) -> Floats:
    """Return D (M, M): the share of images on which members i and j differ.

    Votes (M, T) or probabilities (M, T, C). Cost M²·T.

    >>> disagreement_matrix([[0, 0], [0, 1]])
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    beliefs = read_beliefs(votes, "votes")
    return disagreement_counts(beliefs.votes) / beliefs.images


def pairwise_disagreement(votes: ArrayLike) -> float:
    """Return PWD, the average diameter: Σ_{i≠j} D[i, j] / (M(M − 1)). Unbiased; 0 for a single member.

    Votes (M, T) or probabilities (M, T, C). Cost M²·T. Half of it is a lower bound on the mean error of the members.

    >>> pairwise_disagreement([[0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 1, 0]])
    0.3333333333333333
    """
    beliefs = read_beliefs(votes, "votes")
    M = beliefs.members
    return float(disagreement_counts(beliefs.votes).sum() / max(1, M * (M - 1) * beliefs.images))


def vote_of(beliefs: Beliefs, vote: Vote) -> Array:
    """Return (N,): the majority vote of all members, the lowest class on a tie. Where all agree, their common vote."""
    winner = np.empty(beliefs.images, beliefs.votes.dtype)
    if vote == "hard":
        ordered = np.sort(beliefs.votes, axis=0)
        most = np.zeros(beliefs.images, np.int64)
        run = np.zeros(beliefs.images, np.int64)
        for m in range(beliefs.members):
            run = np.where(ordered[m] == ordered[max(m - 1, 0)], run + 1, 1)
            winner = np.where(run > most, ordered[m], winner)
            most = np.maximum(most, run)
        return winner
    for chunk in beliefs.chunks():
        probs = beliefs.probs_at(chunk)
        total = probs[0].copy()
        for member in probs[1:]:  # in member order: np.sum may add in another order
            total += member
        winner[chunk] = total.argmax(axis=1)
    agreed = (beliefs.votes == beliefs.votes[0]).all(axis=0)  # rounding could make the sums favour another class
    return np.where(agreed, beliefs.votes[0], winner)


def majority_of(beliefs: Beliefs) -> Array:
    """Return (N,): the soft vote of all members, or the hard vote if only votes are known."""
    return vote_of(beliefs, "hard" if beliefs.probs is None else "soft")


def read_vote(vote: str) -> Vote:
    """Return the kind of vote. Raises `InputError` if it is neither "soft" nor "hard"."""
    match vote:
        case "soft" | "hard":
            return vote
    raise InputError("vote", expected="'soft' or 'hard'", got=repr(vote), fix="The default is 'soft', as in the paper.")


def majority_vote(probs: ArrayLike, vote: Vote = "soft") -> Array:
    """Return (N,): the class that the members choose together on each image, the lowest on a tie. Cost M·N·C.

    soft, as in the paper: argmax_c Σ_m p_m(c). hard: the most frequent vote, for which votes (M, N) suffice.

    >>> probs = [[[0.9, 0.1]], [[0.4, 0.6]], [[0.4, 0.6]]]
    >>> majority_vote(probs), majority_vote(probs, vote="hard")
    (array([0], dtype=uint8), array([1], dtype=uint8))
    """
    return vote_of(read_beliefs(probs, "probs"), read_vote(vote))


def gibbs_vote_disagreement(probs: ArrayLike, vote: Vote = "soft") -> float:
    """Return GVD: the mean over members of the share of images on which they differ from the majority vote.

    Probabilities (M, T, C), or votes (M, T) with ``vote="hard"``. Biased low, more so for few members: each member
    takes part in the vote that it is compared to. Cost M·T·C.

    >>> gibbs_vote_disagreement([[0, 0], [0, 1], [0, 1]], vote="hard")
    0.16666666666666666
    """
    beliefs = read_beliefs(probs, "probs")
    return float((beliefs.votes != vote_of(beliefs, read_vote(vote))).mean())
