"""What a query method is given: the caller's arrays, checked against what the method needs.

The caller's own names of images: any whole numbers or text, all different, never changed on the way through.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from versionspace import rng
from versionspace.errors import InputError
from versionspace.space.beliefs import Beliefs, as_array, described
from versionspace.space.diameter import Diameter
from versionspace.types import Array, ArrayLike, Floats, Vote


@dataclass(frozen=True)
class Problem:
    """Checked inputs of one query. What a method does not need is None."""

    images: int
    """N."""
    seed: int
    offset: int = 0
    """The position of the first image in the whole pool, for a pool that comes in chunks."""
    pool: Beliefs | None = None
    reference: Beliefs | None = None
    vote: Vote = "soft"
    diameter: Diameter | None = None
    """The diameter of a sub-space on the reference, for the methods that need one."""
    features: Array | None = None
    """(N, F) float32 or float64."""
    labelled: Array | None = None
    """(L, F) of the same dtype; L may be 0."""
    perturbations: Floats | None = None

    def positions(self) -> Array:
        """Positions of the images in the whole pool."""
        return np.arange(self.offset, self.offset + self.images)

    def ties(self, positions: Array) -> Array:
        """The order among equals, lowest first: a hash of seed and position, never position itself."""
        return rng.hashes(rng.key(self.seed, "ties"), positions)

    def beliefs(self) -> Beliefs:
        """The pool, which the table of methods guarantees."""
        assert self.pool is not None
        return self.pool


def read_features(given: ArrayLike, name: str, width: int | None = None, dtype: type | None = None) -> Array:
    """Finite features (N, F) as contiguous float32, or float64 where they came so."""
    array = as_array(given, name)
    if array.ndim != 2 or array.dtype.kind not in "fiu" or array.shape[1] == 0:
        raise InputError(
            name,
            expected="numbers of shape (images, features)",
            got=described(array),
            fix="Flatten each image's features into one row.",
        )
    if width is not None and array.shape[1] != width:
        raise InputError(
            name,
            expected=f"{width} features for each image, as in features",
            got=described(array),
            fix="Take both from the same layer of the same network.",
        )
    if dtype is None:
        dtype = np.float32 if array.dtype in (np.float16, np.float32) else np.float64
    array = np.ascontiguousarray(array, dtype)
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array).all(axis=1)))
        raise InputError(
            f"{name}[{row}]",
            expected="finite features",
            got="a number that is not finite",
            fix="Look for a division by zero or an overflow where the features are made.",
        )
    largest = np.abs(array).max(initial=0.0)
    if largest > (most := (float(np.finfo(dtype).max) / (8 * array.shape[1])) ** 0.5):
        raise InputError(
            name,
            expected=f"features of at most {most:.3g}, so that distances between them are finite",
            got=f"{largest:.3g}",
            fix="Divide all of them by one number: the order of distances stays as it is.",
        )
    return array


def read_perturbations(given: ArrayLike) -> Floats:
    """Sizes (N,), finite and not negative."""
    array = as_array(given, "perturbations")
    if array.ndim != 1 or array.dtype.kind not in "fiu" or len(array) == 0:
        raise InputError(
            "perturbations",
            expected="one number for each image, shape (N,)",
            got=described(array),
            fix="Pass the norm of each image's smallest adversarial perturbation.",
        )
    array = array.astype(np.float64)
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputError(
            f"perturbations[{at}]",
            expected="finite sizes of at least 0",
            got=f"{array[at]}",
            fix="Where an attack found no perturbation, pass the largest size that it tried.",
        )
    return array


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
