"""What the members believe about a set of images: arrays in, checked once, votes out.

Probabilities are ``(M, N, C)`` floats whose rows sum to 1; votes are ``(M, N)`` integers. Whatever is wrong is said
here, with the argument's name, before any kernel runs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from versionspace.errors import InputError
from versionspace.space import kernels
from versionspace.types import Array, ArrayLike, Floats

TOLERANCE = 1e-3
"""How far from 1 a row of probabilities may sum."""
COARSE = 1e-2
"""The same for bfloat16, of which each number is rounded to 8 bits."""
_ELEMENTS = 4_000_000
"""Probabilities looked at in one go, about: float16 and strided arrays are copied no faster than that."""


@dataclass(frozen=True)
class Beliefs:
    """Votes of M members on N images, and the probabilities behind them where they were given."""

    name: str
    votes: Array
    """(M, N), contiguous, in the smallest unsigned integer that holds ``classes``."""
    classes: int
    probs: Array | None
    """(M, N, C) as they came: float16, float32 or float64, any strides."""

    @property
    def members(self) -> int:
        """M."""
        return int(self.votes.shape[0])

    @property
    def images(self) -> int:
        """N, or T for a reference set."""
        return int(self.votes.shape[1])

    def probabilities(self) -> Array:
        """The probabilities, or a sentence that asks for them."""
        if self.probs is None:
            raise InputError(
                self.name,
                expected="probabilities (M, N, C)",
                got=f"votes {self.votes.shape}",
                fix="Votes do not tell how sure a member is: pass the probabilities.",
            )
        return self.probs

    def probs_at(self, images: Array | slice) -> Floats:
        """Probabilities of some images, float64 and contiguous."""
        return np.ascontiguousarray(self.probabilities()[:, images], np.float64)

    def chunks(self) -> list[slice]:
        """Slices of images small enough to compute on in float64, whatever N is."""
        step = max(1, _ELEMENTS // max(1, self.members * self.classes))
        return [slice(i, min(i + step, self.images)) for i in range(0, self.images, step)]


def as_array(given: ArrayLike, name: str) -> Array:
    """Anything array-like as a NumPy array: tensors leave their device and their graph behind."""
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
            fix="Pass something that numpy.asarray understands.",
        ) from error


def read(given: ArrayLike, name: str, classes: int | None = None) -> Beliefs:
    """Beliefs from probabilities ``(M, N, C)`` or votes ``(M, N)``, checked. Cost M·N·C."""
    array = as_array(given, name)
    if array.ndim == 3:
        coarse = str(getattr(given, "dtype", "")) == "torch.bfloat16"
        return _from_probs(array, name, classes, COARSE if coarse else TOLERANCE)
    if array.ndim == 2 and array.dtype.kind in "iub":
        return _from_votes(array, name, classes)
    fix = "Axes are members, images, classes: M comes first."
    if array.ndim == 2:
        fix = "For the probabilities of a single model add the axis of members: array[None]."
    raise InputError(name, expected="probabilities (M, N, C) or integer votes (M, N)", got=described(array), fix=fix)


def described(array: Array) -> str:
    """Dtype and shape, for messages."""
    return f"{array.dtype} of shape {array.shape}"


def _not_empty(array: Array, name: str) -> None:
    if 0 in array.shape:
        raise InputError(
            name,
            expected="at least one member, one image and one class",
            got=described(array),
            fix="There is nothing to compute on: check what was selected before this call.",
        )


def _from_probs(array: Array, name: str, classes: int | None, tolerance: float) -> Beliefs:
    if array.dtype.kind != "f":
        raise InputError(
            name,
            expected="float16, float32 or float64 probabilities for an array of 3 axes",
            got=described(array),
            fix="Pass class probabilities (softmax outputs), or votes with 2 axes.",
        )
    _not_empty(array, name)
    M, N, C = array.shape
    if classes is not None and classes != C:
        raise InputError(
            "classes",
            expected=f"{C}, the last axis of {name} {array.shape}",
            got=str(classes),
            fix="Leave classes out where probabilities are given.",
        )
    votes = np.empty((M, N), smallest(C))
    step = max(1, _ELEMENTS // C)
    spans = [(m, i) for m in range(M) for i in range(0, N, step)]

    def check(span: tuple[int, int]) -> None:
        m, i = span
        rows = np.ascontiguousarray(array[m, i : i + step])
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float32 if rows.dtype == np.float16 else np.float64)
        found = kernels.votes(rows, tolerance)
        if found.bad >= 0:
            _refuse_row(rows[found.bad], name, m, i + found.bad, tolerance)
        votes[m, i : i + step] = found.votes

    kernels.in_threads(check, spans)
    return Beliefs(name, votes, C, array)


def _refuse_row(row: Array, name: str, member: int, image: int, tolerance: float) -> None:
    if not np.isfinite(row).all():
        what, fix = "a number that is not finite", "Look for a division by zero or a diverged member, and drop it."
    elif (row < 0).any():
        what, fix = f"{row.min():.6g}", "Pass softmax outputs: logits and log-probabilities are not probabilities."
    else:
        what = f"a row that sums to {row.sum(dtype=np.float64):.6g}"
        fix = "Pass softmax outputs, each divided by its sum."
    raise InputError(
        f"{name}[{member}, {image}]",
        expected=f"probabilities of at least 0 that sum to 1 within {tolerance:g}",
        got=what,
        fix=fix,
    )


def _from_votes(array: Array, name: str, classes: int | None) -> Beliefs:
    _not_empty(array, name)
    lowest, highest = int(array.min()), int(array.max())
    limit = min(classes or 2**32, 2**32)
    if lowest < 0 or highest >= limit:
        raise InputError(
            name,
            expected=f"votes from 0 to {limit - 1}",
            got=f"{lowest if lowest < 0 else highest}",
            fix="Votes are class numbers from 0 on: check the labels' encoding, and classes where it is given.",
        )
    count = classes if classes is not None else highest + 1
    return Beliefs(name, np.ascontiguousarray(array, smallest(count)), count, None)


def smallest(classes: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned integer type that holds class numbers below ``classes``."""
    if classes <= 2**8:
        return np.uint8
    return np.uint16 if classes <= 2**16 else np.uint32


def read_truth(given: ArrayLike, beliefs: Beliefs) -> Array:
    """True classes ``(N,)`` of the images that the beliefs are about."""
    truth = as_array(given, "truth")
    if truth.ndim != 1 or truth.dtype.kind not in "iub" or len(truth) != beliefs.images:
        raise InputError(
            "truth",
            expected=f"integer classes of shape ({beliefs.images},), one for each image",
            got=described(truth),
            fix="Pass the true class of each image, in the order of the votes.",
        )
    if int(truth.min()) < 0 or (beliefs.probs is not None and int(truth.max()) >= beliefs.classes):
        raise InputError(
            "truth",
            expected=f"classes from 0 to {beliefs.classes - 1}",
            got=f"{truth.min()} to {truth.max()}",
            fix="Leave images without a label out of both arrays.",
        )
    return truth
