"""The members' predictions on a set of images: validate the caller's arrays once and derive votes from them.

Probabilities are ``(M, N, C)`` floats whose rows sum to 1; votes are ``(M, N)`` integers. All input errors are raised
here, with the name of the argument, before any kernel runs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from versionspace.errors import InputError
from versionspace.space import kernels
from versionspace.types import Array, ArrayLike, Floats

TOLERANCE = 1e-3
"""Largest allowed difference between 1 and the sum of a row of probabilities."""
BFLOAT16_TOLERANCE = 1e-2
"""The same for bfloat16, which rounds each number to 8 bits."""
_ELEMENTS = 4_000_000
"""Approximate number of probabilities processed at once, which bounds the size of temporary copies."""


@dataclass(frozen=True)
class Beliefs:
    """The votes of M members on N images, and the probabilities behind them if they are known."""

    name: str
    """The argument that these came from, for error messages."""
    votes: Array
    """(M, N), contiguous, in the smallest unsigned integer type that holds ``classes``."""
    classes: int
    probs: Array | None
    """(M, N, C) as passed by the caller: float16, float32 or float64, any strides."""

    @property
    def members(self) -> int:
        """M."""
        return int(self.votes.shape[0])

    @property
    def images(self) -> int:
        """N, or T for a reference set."""
        return int(self.votes.shape[1])

    def probabilities(self) -> Array:
        """Return the probabilities. Raises `InputError` if only votes are known."""
        if self.probs is None:
            raise InputError(
                self.name,
                expected="probabilities (M, N, C)",
                got=f"votes {self.votes.shape}",
                fix="Votes do not say how sure a member is: pass the probabilities.",
            )
        return self.probs

    def probs_at(self, images: Array | slice) -> Floats:
        """Return the probabilities of some images, contiguous and in float64."""
        return np.ascontiguousarray(self.probabilities()[:, images], np.float64)

    def chunks(self) -> list[slice]:
        """Return slices that cover all images, each small enough to be copied to float64."""
        step = max(1, _ELEMENTS // max(1, self.members * self.classes))
        return [slice(i, min(i + step, self.images)) for i in range(0, self.images, step)]


def as_array(given: ArrayLike, name: str) -> Array:
    """Convert anything array-like to a NumPy array; tensors are detached and moved to the CPU."""
    if isinstance(given, np.ndarray):
        return given
    value: Any = given
    try:
        if hasattr(value, "detach"):
            value = value.detach().cpu()
            if str(value.dtype) == "torch.bfloat16":  # NumPy has no such type
                value = value.float()
        return np.asarray(value)
    except Exception as error:
        raise InputError(
            name,
            expected="an array, a tensor or a nested list of numbers",
            got=f"{type(given).__name__} ({error})",
            fix="Pass something that numpy.asarray can convert.",
        ) from error


def read_beliefs(given: ArrayLike, name: str, classes: int | None = None) -> Beliefs:
    """Convert and validate probabilities ``(M, N, C)`` or votes ``(M, N)``. Cost M·N·C."""
    array = as_array(given, name)
    if array.ndim == 3:
        is_bfloat16 = str(getattr(given, "dtype", "")) == "torch.bfloat16"
        return _from_probs(array, name, classes, BFLOAT16_TOLERANCE if is_bfloat16 else TOLERANCE)
    if array.ndim == 2 and array.dtype.kind in "iub":
        return _from_votes(array, name, classes)
    fix = "The axes are members, images, classes: M comes first."
    if array.ndim == 2:
        fix = "If these are the probabilities of a single model, add the axis of members: array[None]."
    raise InputError(name, expected="probabilities (M, N, C) or integer votes (M, N)", got=describe(array), fix=fix)


def describe(array: Array) -> str:
    """Return dtype and shape as text, for error messages."""
    return f"{array.dtype} of shape {array.shape}"


def _check_not_empty(array: Array, name: str) -> None:
    if 0 in array.shape:
        raise InputError(
            name,
            expected="at least one member, one image and one class",
            got=describe(array),
            fix="There is nothing to compute on: check how these images were selected.",
        )


def _from_probs(array: Array, name: str, classes: int | None, tolerance: float) -> Beliefs:
    if array.dtype.kind != "f":
        raise InputError(
            name,
            expected="float16, float32 or float64 probabilities for an array with 3 axes",
            got=describe(array),
            fix="Pass class probabilities (softmax outputs), or votes with 2 axes.",
        )
    _check_not_empty(array, name)
    M, N, C = array.shape
    if classes is not None and classes != C:
        raise InputError(
            "classes",
            expected=f"{C}, the last axis of {name} {array.shape}",
            got=str(classes),
            fix="Omit classes when you pass probabilities.",
        )
    votes = np.empty((M, N), vote_dtype(C))
    step = max(1, _ELEMENTS // C)

    def fill_votes(span: tuple[int, int]) -> None:
        m, i = span
        rows = np.ascontiguousarray(array[m, i : i + step])
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float32 if rows.dtype == np.float16 else np.float64)
        result = kernels.votes(rows, tolerance)
        if result.bad_row >= 0:
            raise _bad_row_error(rows[result.bad_row], name, m, i + result.bad_row, tolerance)
        votes[m, i : i + step] = result.votes

    kernels.map_threads(fill_votes, [(m, i) for m in range(M) for i in range(0, N, step)])
    return Beliefs(name, votes, C, array)


def _bad_row_error(row: Array, name: str, member: int, image: int, tolerance: float) -> InputError:
    if not np.isfinite(row).all():
        got, fix = "a number that is not finite", "Look for a division by zero or a diverged member, and drop it."
    elif (row < 0).any():
        got, fix = f"{row.min():.6g}", "Pass softmax outputs: logits and log-probabilities are not probabilities."
    else:
        got = f"a row that sums to {row.sum(dtype=np.float64):.6g}"
        fix = "Pass softmax outputs, each row divided by its sum."
    return InputError(
        f"{name}[{member}, {image}]",
        expected=f"probabilities of at least 0 that sum to 1 within {tolerance:g}",
        got=got,
        fix=fix,
    )


def _from_votes(array: Array, name: str, classes: int | None) -> Beliefs:
    _check_not_empty(array, name)
    lowest, highest = int(array.min()), int(array.max())
    limit = min(classes or 2**32, 2**32)
    if lowest < 0 or highest >= limit:
        raise InputError(
            name,
            expected=f"votes from 0 to {limit - 1}",
            got=f"{lowest if lowest < 0 else highest}",
            fix="Votes are class indices that start at 0: check the label encoding, and classes if you pass it.",
        )
    count = classes if classes is not None else highest + 1
    return Beliefs(name, np.ascontiguousarray(array, vote_dtype(count)), count, None)


def vote_dtype(classes: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest unsigned integer type that holds class indices below ``classes``."""
    if classes <= 2**8:
        return np.uint8
    return np.uint16 if classes <= 2**16 else np.uint32


def read_truth(given: ArrayLike, beliefs: Beliefs) -> Array:
    """Convert and validate the true classes ``(N,)`` of the images that the beliefs are about."""
    truth = as_array(given, "truth")
    if truth.ndim != 1 or truth.dtype.kind not in "iub" or len(truth) != beliefs.images:
        raise InputError(
            "truth",
            expected=f"integer classes of shape ({beliefs.images},), one for each image",
            got=describe(truth),
            fix="Pass the true class of each image, in the order of the votes.",
        )
    if int(truth.min()) < 0 or (beliefs.probs is not None and int(truth.max()) >= beliefs.classes):
        raise InputError(
            "truth",
            expected=f"classes from 0 to {beliefs.classes - 1}",
            got=f"{truth.min()} to {truth.max()}",
            fix="Remove unlabelled images from both arrays.",
        )
    return truth
