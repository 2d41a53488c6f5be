"""Sub-spaces as masks of M bits, stored in W = ceil(M / 64) words of 64 bits.

Member m is bit ``63 − m % 64`` of word ``m // 64``. Sorting masks as numbers then sorts them as lists of members, and
neighbouring lists share a prefix and the sums over it.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from versionspace.types import Array, Bools, Ints, Words

_WORD = 64


def words(members: int) -> int:
    """Return W, the number of words in a mask."""
    return -(-members // _WORD)


def pack(bits_KM: Bools) -> Words:
    """Return masks (K, W) of the members that are True in each row.

    >>> pack(np.array([[True, False, True]])) == 0b101 << 61
    array([[ True]])
    """
    K, M = bits_KM.shape
    padded = np.zeros((K, words(M) * _WORD), bool)
    padded[:, :M] = bits_KM
    return np.packbits(padded, axis=1).view(">u8").astype(np.uint64)


def unpack(masks_KW: Words, members: int) -> npt.NDArray[np.uint8]:
    """Return rows of 0 and 1 (K, M): the inverse of `pack`."""
    octets = masks_KW.astype(">u8").view(np.uint8).reshape(len(masks_KW), -1)
    return np.unpackbits(octets, axis=1, count=members)


def sizes(masks_KW: Words) -> Ints:
    """Return (K,): the number of members in each mask."""
    if hasattr(np, "bitwise_count"):  # NumPy 2
        counted: Ints = np.bitwise_count(masks_KW).sum(axis=1, dtype=np.int64)
        return counted
    summed: Ints = unpack(masks_KW, masks_KW.shape[1] * _WORD).sum(axis=1, dtype=np.int64)
    return summed


def order(masks_KW: Words) -> Ints:
    """Return the permutation (K,) that sorts masks as lists of members."""
    if masks_KW.shape[1] == 1:
        return np.argsort(masks_KW[:, 0], kind="stable").astype(np.int64)
    return np.lexsort(masks_KW.T[::-1]).astype(np.int64)


def keys(masks_KW: Words) -> Array:
    """Return each mask as one number or as bytes, (K,), ordered as the masks are."""
    if masks_KW.shape[1] == 1:
        return np.ascontiguousarray(masks_KW[:, 0])
    return np.ascontiguousarray(masks_KW, ">u8").view(f"S{8 * masks_KW.shape[1]}")[:, 0]


class Unique(NamedTuple):
    """Distinct masks, sorted, and the index of each input mask among them."""

    masks: Words
    inverse: Ints


def unique(masks_KW: Words) -> Unique:
    """Return the distinct masks, sorted as lists of members."""
    by = order(masks_KW)
    ordered = masks_KW[by]
    new = np.ones(len(by), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    inverse = np.empty(len(by), np.int64)
    inverse[by] = np.cumsum(new) - 1
    return Unique(ordered[new], inverse)


class Lists(NamedTuple):
    """Sorted masks as concatenated lists of members, for a walk that reuses the sums over shared prefixes."""

    masks: Words
    """(K, W), contiguous."""
    starts: Ints
    """(K + 1,): the members of mask k are ``members[starts[k]:starts[k + 1]]``."""
    members: Array
    """int32."""
    shared: Array
    """int32 (K,): the length of the prefix that mask k's list shares with that of mask k − 1."""


def lists(masks_KW: Words, members: int) -> Lists:
    """Return masks as lists of members. The masks must be sorted by `order`."""
    bits = unpack(masks_KW, members)
    starts = np.zeros(len(bits) + 1, np.int64)
    np.cumsum(bits.sum(axis=1, dtype=np.int64), out=starts[1:])
    shared = np.zeros(len(bits), np.int32)
    if len(bits) > 1:
        first_difference = (bits[1:] != bits[:-1]).argmax(axis=1)
        before = np.cumsum(bits, axis=1, dtype=np.int32) - bits
        shared[1:] = before[np.arange(1, len(bits)), first_difference]
    return Lists(np.ascontiguousarray(masks_KW), starts, np.nonzero(bits)[1].astype(np.int32), shared)
