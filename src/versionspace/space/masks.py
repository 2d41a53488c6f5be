"""Sub-spaces as masks of M bits, in W = ceil(M / 64) words of 64.

Member m is bit ``63 − m % 64`` of word ``m // 64``. Sorted as numbers, masks are then sorted as lists of members, so
that neighbours share the head of their lists and the sums over it.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from versionspace.types import Array, Bools, Ints, Words

_WORD = 64


def words(members: int) -> int:
    """How many words a mask of so many members has."""
    return -(-members // _WORD)


def pack(bits_KM: Bools) -> Words:
    """Masks (K, W) of the members that are True in each row.

    >>> pack(np.array([[True, False, True]])) == 0b101 << 61
    array([[ True]])
    """
    K, M = bits_KM.shape
    padded = np.zeros((K, words(M) * _WORD), bool)
    padded[:, :M] = bits_KM
    return np.packbits(padded, axis=1).view(">u8").astype(np.uint64)


def unpack(masks_KW: Words, members: int) -> npt.NDArray[np.uint8]:
    """Rows of 0 and 1 (K, M): the inverse of `pack`."""
    octets = masks_KW.astype(">u8").view(np.uint8).reshape(len(masks_KW), -1)
    return np.unpackbits(octets, axis=1, count=members)


def sizes(masks_KW: Words) -> Ints:
    """How many members each mask has."""
    if hasattr(np, "bitwise_count"):
        counted: Ints = np.bitwise_count(masks_KW).sum(axis=1, dtype=np.int64)
        return counted
    summed: Ints = unpack(masks_KW, masks_KW.shape[1] * _WORD).sum(axis=1, dtype=np.int64)
    return summed


def order(masks_KW: Words) -> Ints:
    """The order that sorts masks as lists of members."""
    if masks_KW.shape[1] == 1:
        return np.argsort(masks_KW[:, 0], kind="stable").astype(np.int64)
    return np.lexsort(masks_KW.T[::-1]).astype(np.int64)


class Unique(NamedTuple):
    """Distinct masks, sorted, and where each of the given ones is among them."""

    masks: Words
    inverse: Ints


def unique(masks_KW: Words) -> Unique:
    """The distinct masks, sorted as lists of members."""
    by = order(masks_KW)
    ordered = masks_KW[by]
    new = np.ones(len(by), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    inverse = np.empty(len(by), np.int64)
    inverse[by] = np.cumsum(new) - 1
    return Unique(ordered[new], inverse)


class Lists(NamedTuple):
    """Sorted masks as lists of members, end to end, for a walk that shares the sums over common heads."""

    masks: Words
    """(K, W), contiguous."""
    starts: Ints
    """(K + 1,): mask k's members are ``members[starts[k]:starts[k + 1]]``."""
    members: Array
    """int32."""
    shared: Array
    """int32 (K,): how many members at the head of its list mask k has in common with mask k − 1."""


def lists(masks_KW: Words, members: int) -> Lists:
    """Masks, which must be sorted, as lists."""
    bits = unpack(masks_KW, members)
    starts = np.zeros(len(bits) + 1, np.int64)
    np.cumsum(bits.sum(axis=1, dtype=np.int64), out=starts[1:])
    shared = np.zeros(len(bits), np.int32)
    if len(bits) > 1:
        first_difference = (bits[1:] != bits[:-1]).argmax(axis=1)
        before = np.cumsum(bits, axis=1, dtype=np.int32) - bits
        shared[1:] = before[np.arange(1, len(bits)), first_difference]
    return Lists(np.ascontiguousarray(masks_KW), starts, np.nonzero(bits)[1].astype(np.int32), shared)
