"""The caller's own names of images: any whole numbers or text, all different, never changed on the way through."""

from collections import Counter
from contextlib import suppress
from numbers import Integral

import numpy as np

from versionspace.errors import InputError
from versionspace.space.beliefs import as_array, described
from versionspace.types import Array, ArrayLike


def read_ids(given: ArrayLike) -> Array:
    """The caller's own names of the images, one for each, all different, and just as they were given."""
    ids = _whole(list(given)) if isinstance(given, (list, tuple)) else as_array(given, "ids")
    if ids.ndim != 1 or len(ids) == 0:
        raise InputError(
            "ids", expected="one id for each image", got=described(ids), fix="Pass a list of ids, shape (N,)."
        )
    _kind_of(ids)
    once = np.unique(ids) if ids.dtype.kind in "iuU" else set(ids.tolist())
    if len(once) < len(ids):
        name, times = Counter(ids.tolist()).most_common(1)[0]
        raise InputError(
            "ids",
            expected="ids that are all different",
            got=f"{name!r} {times} times",
            fix="Remove duplicates first: a label must belong to one image.",
        )
    return ids


def _kind_of(ids: Array) -> str:
    """What all of them are, in a word: "int", "str", …"""
    found = {"i": {"int"}, "u": {"int"}, "U": {"str"}}.get(ids.dtype.kind)
    if found is None:
        found = {_kind(one) for one in ids.tolist()}
    if len(found) > 1 or found & {"bool", "float", "NoneType", "list", "dict", "set"}:
        raise InputError(
            "ids",
            expected="ids of one kind: all text, or all whole numbers",
            got=" and ".join(sorted(found)),
            fix="Give every image an id of the same kind; none may be missing, and a mask is no list of ids.",
        )
    return found.pop()


def _kind(one: object) -> str:
    whole = isinstance(one, Integral) and not isinstance(one, bool)
    return "int" if whole else "str" if isinstance(one, str) else type(one).__name__


def _whole(given: list[object]) -> Array:
    """In NumPy's own type where that keeps every id; mixed, large or odd ones stay the objects that they are."""
    plain = [one.item() if isinstance(one, np.generic) else one for one in given]
    with suppress(ValueError, OverflowError):
        array = np.asarray(plain)
        if array.ndim != 1 or (array.dtype.kind in "iuU" and array.tolist() == plain):
            return array
    array = np.empty(len(plain), object)
    array[:] = plain
    return array


def joined_ids(before: Array, more: Array) -> Array:
    """Ids of one kind, one list after the other; none is changed by what the others are."""
    kinds = _kind_of(before), _kind_of(more)
    if kinds[0] != kinds[1]:
        raise InputError(
            "ids",
            expected=f"{kinds[0]}, as in the chunks before",
            got=kinds[1],
            fix="Give every image an id of the same kind.",
        )
    kept = np.result_type(before, more).kind in "iuU"
    return np.concatenate([before, more] if kept else [before.astype(object), more.astype(object)])
