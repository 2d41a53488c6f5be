"""What a query method is given: the caller's arrays, checked against what the method needs."""

from dataclasses import dataclass

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
