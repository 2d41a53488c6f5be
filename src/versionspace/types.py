"""Types of the arrays that packages exchange, the letters of their axes, and two checks of scalar values.

M  hypotheses (members of the ensemble)      N  images of the pool      T  images of the reference set
C  classes                                   K  distinct sub-spaces     F  features

Arrays are ordered M, N, C, and a name may carry its axes: ``probs_MNC``, ``votes_MN``.
"""

import math
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
Array: TypeAlias = npt.NDArray[Any]
"""An array of any dtype: probabilities in float16/32/64, votes in the smallest unsigned integer type, ids."""

ArrayLike: TypeAlias = Any
"""NumPy arrays, torch tensors on any device, nested lists, and objects with ``__array__``."""

ImageId: TypeAlias = int | str
"""The id of an image in its dataset: its index in the published file, or the SHA-256 of its file."""

Seed: TypeAlias = int | np.random.Generator | np.random.RandomState | None
"""What makes a random result reproducible; None draws a new seed."""

Vote: TypeAlias = Literal["soft", "hard"]
"""soft: the class with the largest sum of probabilities. hard: the class with the most votes."""


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite number. Booleans are not numbers.

    >>> is_number(0.5), is_number(2), is_number(True), is_number("2"), is_number(float("nan"))
    (True, True, False, False, False)
    """
    try:
        return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
    except OverflowError:  # an integer too large for a float
        return False


def is_count(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of at least 1. Booleans are not integers.

    >>> is_count(1), is_count(0), is_count(2.5), is_count(True)
    (True, False, False, False)
    """
    return not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= 1
