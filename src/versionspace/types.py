"""Names for the arrays that cross seams, and the letters of their axes.

M  hypotheses (members of the ensemble)      N  images of the pool      T  images of the reference set
C  classes                                   K  distinct sub-spaces     F  features

Arrays are ordered M, N, C, and a name may carry its axes: ``probs_MNC``, ``votes_MN``.
"""

from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
Array: TypeAlias = npt.NDArray[Any]
"""Any dtype: float16/32/64 probabilities, votes in the smallest unsigned integer that holds them, ids."""

ArrayLike: TypeAlias = Any
"""NumPy arrays, torch tensors on any device, nested lists, anything with ``__array__``."""

Vote: TypeAlias = Literal["soft", "hard"]
"""soft: the class with the largest summed probability. hard: the class with the most votes."""
