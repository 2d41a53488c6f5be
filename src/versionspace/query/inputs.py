"""The inputs of a query method: the validated `Problem`, and the validation of features, perturbations and ids.

`arguments` assembles a `Problem` from the caller's arguments; the predictions in it are validated by
`versionspace.space`. Ids are the caller's own names of the images: integers or text, all different, and returned
exactly as they were passed.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from versionspace import rng
from versionspace.errors import InputError
from versionspace.space import Beliefs, Diameter, as_array, describe
from versionspace.types import Array, ArrayLike, Floats, Vote, Words

_ELEMENTS = 1 << 20
"""Approximate number of features validated at once."""


@dataclass(frozen=True)
class Problem:
    """The validated inputs of one query. Those that the method does not need are None."""

    images: int
    """N."""
    seed: int
    offset: int = 0
    """The position of the first image in the whole pool, for a pool that arrives in chunks."""
    pool: Beliefs | None = None
    reference: Beliefs | None = None
    vote: Vote = "soft"
    diameter: Diameter | None = None
    """The diameter of a sub-space on the reference set, for methods that use one."""
    features: Array | None = None
    """(N, F), float16, float32 or float64, in memory or mapped from a file."""
    labelled: Array | None = None
    """(L, F), features of the labelled images; L may be 0."""
    perturbations: Floats | None = None
    classes: int | None = None
    """C as passed by the caller."""
    outcomes: int | None = None
    """The largest number of joint outcomes for batchbald, as passed by the caller."""
    keys: Array | None = None
    """(N,): what identifies the images in hashes, if not their positions: their ids."""

    def positions(self) -> Array:
        """Return the positions of the images in the whole pool, (N,)."""
        return np.arange(self.offset, self.offset + self.images)

    def hashes(self, purpose: str) -> Words:
        """Return a hash of seed, purpose and id, or position if there are no ids, for each image, (N,)."""
        return rng.id_hashes(rng.key(self.seed, purpose), self.positions() if self.keys is None else self.keys)

    def tie_hashes(self) -> Words:
        """Return the hashes that order equal utilities; the lowest hash comes first."""
        return self.hashes("ties")

    def take(self, images: Array) -> "Problem":
        """Return the problem of choosing among some of the images only; they keep their hashes."""
        return replace(
            self,
            images=len(images),
            pool=None if self.pool is None else self.pool.take(images),
            features=None if self.features is None else self.features[images],
            perturbations=None if self.perturbations is None else self.perturbations[images],
            keys=(self.positions() if self.keys is None else self.keys)[images],
        )

    def beliefs(self) -> Beliefs:
        """Return the members' predictions on the pool, for methods that declare ``pool`` in the table."""
        assert self.pool is not None
        return self.pool


def read_features(given: ArrayLike, name: str, like: Array | None = None) -> Array:
    """Return finite features (N, F) in float16, float32 or float64; others are converted to float64.

    With ``like``, they must be comparable to those: as wide, and with finite distances in that precision. Features in
    one of these types are not copied, so that they may be mapped from a file; they are read once, in blocks.
    """
    array = as_array(given, name)
    if array.ndim != 2 or array.dtype.kind not in "fiu" or array.shape[1] == 0:
        raise InputError(
            name,
            expected="numbers of shape (images, features)",
            got=describe(array),
            fix="Flatten the features of each image into one row.",
        )
    if like is not None and array.shape[1] != like.shape[1]:
        raise InputError(
            name,
            expected=f"{like.shape[1]} features for each image, as in features",
            got=describe(array),
            fix="Take both from the same layer of the same network.",
        )
    if array.dtype not in (np.float16, np.float32, np.float64):
        array = array.astype(np.float64)
    precision = np.float64 if (array if like is None else like).dtype == np.float64 else np.float32
    _check_values(array, name, largest=(float(np.finfo(precision).max) / (8 * array.shape[1])) ** 0.5)
    return array


def _check_values(array: Array, name: str, largest: float) -> None:
    """Raise `InputError` unless all features are finite and none is larger than ``largest``."""
    step = max(1, _ELEMENTS // array.shape[1])
    for i in range(0, len(array), step):
        block = array[i : i + step]
        if block.dtype == np.float16:  # compared without conversion, these are slow
            block = block.astype(np.float32)
        found = max(float(block.max()), -float(block.min()))  # NaN if any feature is
        if not np.isfinite(found):
            row = i + int(np.argmin(np.isfinite(block).all(axis=1)))
            raise InputError(
                f"{name}[{row}]",
                expected="finite features",
                got="a number that is not finite",
                fix="Look for a division by zero or an overflow in the code that computes the features.",
            )
        if found > largest:
            raise InputError(
                name,
                expected=f"features of at most {largest:.3g}, so that distances between them are finite",
                got=f"{found:.3g}",
                fix="Divide all features by the same number, which does not change the order of their distances.",
            )


def read_perturbations(given: ArrayLike) -> Floats:
    """Convert and validate sizes of perturbations (N,), finite and at least 0."""
    array = as_array(given, "perturbations")
    if array.ndim != 1 or array.dtype.kind not in "fiu" or len(array) == 0:
        raise InputError(
            "perturbations",
            expected="one number for each image, shape (N,)",
            got=describe(array),
            fix="Pass the norm of the smallest adversarial perturbation of each image.",
        )
    array = array.astype(np.float64)
    invalid = ~(np.isfinite(array) & (array >= 0))
    if invalid.any():
        at = int(np.argmax(invalid))
        raise InputError(
            f"perturbations[{at}]",
            expected="finite sizes of at least 0",
            got=f"{array[at]}",
            fix="If an attack found no perturbation, pass the largest size that it tried.",
        )
    return array


def read_ids(given: ArrayLike) -> Array:
    """Convert and validate ids, one for each image and all different, without changing any of them."""
    ids = _ids_array(list(given)) if isinstance(given, (list, tuple)) else as_array(given, "ids")
    if ids.ndim != 1 or len(ids) == 0:
        raise InputError(
            "ids", expected="one id for each image", got=describe(ids), fix="Pass a list of ids, shape (N,)."
        )
    _kind_of_ids(ids)
    distinct = np.unique(ids) if ids.dtype.kind in "iuU" else set(ids.tolist())
    if len(distinct) < len(ids):
        id_, times = Counter(ids.tolist()).most_common(1)[0]
        raise InputError(
            "ids",
            expected="ids that are all different",
            got=f"{id_!r} {times} times",
            fix="Remove duplicates: a label must belong to a single image.",
        )
    return ids


def concatenate_ids(first: Array, second: Array) -> Array:
    """Concatenate ids without changing any of them. Raises `InputError` if the two are of different kinds."""
    kinds = _kind_of_ids(first), _kind_of_ids(second)
    if kinds[0] != kinds[1]:
        raise InputError(
            "ids",
            expected=f"{kinds[0]}, as in the chunks before",
            got=kinds[1],
            fix="Use ids of the same kind for all images.",
        )
    lossless = np.result_type(first, second).kind in "iuU"
    return np.concatenate([first, second] if lossless else [first.astype(object), second.astype(object)])


def _kind_of_ids(ids: Array) -> str:
    """Return the common type of all ids as text: "int", "str", … Raises `InputError` if they have several."""
    kinds = {"i": {"int"}, "u": {"int"}, "U": {"str"}}.get(ids.dtype.kind)
    if kinds is None:
        kinds = {_kind_of_id(id_) for id_ in ids.tolist()}
    if len(kinds) > 1 or kinds & {"bool", "float", "NoneType", "list", "dict", "set"}:
        raise InputError(
            "ids",
            expected="ids of one kind: all text, or all integers",
            got=" and ".join(sorted(kinds)),
            fix="Use ids of the same kind for all images; None is not an id, and a boolean mask is not a list of ids.",
        )
    return kinds.pop()


def _kind_of_id(id_: object) -> str:
    is_integer = isinstance(id_, Integral) and not isinstance(id_, bool)
    return "int" if is_integer else "str" if isinstance(id_, str) else type(id_).__name__


def _ids_array(given: list[object]) -> Array:
    """Return ids in a native NumPy type if that is lossless; otherwise as an array of objects."""
    plain = [id_.item() if isinstance(id_, np.generic) else id_ for id_ in given]
    with suppress(ValueError, OverflowError):
        array = np.asarray(plain)
        if array.ndim != 1 or (array.dtype.kind in "iuU" and array.tolist() == plain):
            return array
    array = np.empty(len(plain), object)
    array[:] = plain
    return array
