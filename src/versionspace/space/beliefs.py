"""The members' predictions on a set of images: validate the caller's arrays once and derive votes from them.

Probabilities are ``(M, N, C)`` floats whose rows sum to 1, or ``(N, C)`` of a single model; votes are ``(M, N)``
integers. All input errors are raised here, with the name of the argument, before any kernel runs.
"""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from versionspace.errors import InputError
from versionspace.space import kernels
from versionspace.types import Array, ArrayLike, Floats
from versionspace.views import ImageView

TOLERANCE = 1e-3
"""Largest allowed difference between 1 and the sum of a row of probabilities, and largest allowed number below 0, which
counts as 0."""
BFLOAT16_TOLERANCE = 1e-2
"""The same for numbers that bfloat16 holds, in which each is rounded to 8 bits."""
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
    negative: bool = False
    """Whether some probabilities are below 0, by less than the tolerance; they count as 0."""

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

    def exact_at(self, images: Array | slice) -> Array:
        """Return the probabilities of some images in the precision of the caller, at least 0."""
        probs = self.probabilities()[:, images]
        return np.maximum(probs, 0) if self.negative else probs

    def probs_at(self, images: Array | slice) -> Floats:
        """Return the probabilities of some images, contiguous and in float64."""
        return np.ascontiguousarray(self.exact_at(images), np.float64)

    def mean_at(self, images: slice) -> Floats:
        """Return the mean of the members' probabilities of some images, float64 (n, C), summed in member order."""
        if self.negative:
            total = kernels.member_sums(self.probs_at(images), slice(0, images.stop - images.start))
        else:
            total = kernels.member_sums(self.probabilities(), images)
        total /= self.members
        return total

    def take(self, images: Array) -> "Beliefs":
        """Return the predictions on some images only."""
        probs = None if self.probs is None else self.probs[:, images]
        return replace(self, votes=np.ascontiguousarray(self.votes[:, images]), probs=probs)

    def chunks(self) -> list[slice]:
        """Return slices that cover all images, each small enough to be copied to float64."""
        step = max(1, _ELEMENTS // max(1, self.members * self.classes))
        return [slice(i, min(i + step, self.images)) for i in range(0, self.images, step)]


def as_array(given: ArrayLike, name: str) -> Array:
    """Convert anything array-like to a NumPy array; tensors are detached and moved to the CPU.

    An `ImageView` is returned as it is: its rows are read when they are selected.
    """
    if isinstance(given, np.ma.MaskedArray):
        return _unmasked(given, name)
    if isinstance(given, ImageView) or (isinstance(given, np.ndarray) and given.dtype.name != "bfloat16"):
        return given  # type: ignore[return-value]
    value: Any = given
    try:
        if hasattr(value, "detach"):
            value = value.detach().cpu()
            if str(value.dtype) == "torch.bfloat16":  # NumPy has no such type
                value = value.float()
        array = np.asarray(value)
        return array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    except Exception as error:
        raise InputError(
            name,
            expected="an array, a tensor or a nested list of numbers",
            got=f"{type(given).__name__} ({error})",
            fix="Pass something that numpy.asarray can convert.",
        ) from error


def _unmasked(given: "np.ma.MaskedArray[Any, Any]", name: str) -> Array:
    """Return the data of a masked array in which nothing is masked. Raises `InputError` if anything is."""
    masked = np.ma.getmaskarray(given)
    if masked.any():
        raise InputError(
            name,
            expected="an array without masked elements",
            got=f"{int(masked.sum())} masked elements of {given.size}",
            fix="Leave out the images or members that they belong to, and pass what remains as a plain array.",
        )
    return np.asarray(given.data)


def read_beliefs(given: ArrayLike, name: str, classes: int | None = None) -> Beliefs:
    """Convert and validate probabilities ``(M, N, C)`` or votes ``(M, N)``. Cost M·N·C.

    Probabilities ``(N, C)`` are those of one member.
    """
    array = as_array(given, name)
    if array.dtype == object:
        array = _integers(array, name)
    if array.ndim == 2 and array.dtype.kind == "f":
        array = _single_model(array, name)
    if array.ndim == 3:
        return _from_probs(array, name, classes)
    if array.ndim == 2 and array.dtype.kind in "iub":
        return _from_votes(array, name, classes)
    fix = "The axes are members, images, classes: M comes first."
    if array.dtype.kind in "USOM":
        fix = "Encode class names as numbers first: names, votes = numpy.unique(votes, return_inverse=True)."
    raise InputError(name, expected="probabilities (M, N, C) or integer votes (M, N)", got=describe(array), fix=fix)


def _integers(array: Array, name: str) -> Array:
    """Return votes in an array of objects, as those of nullable columns, as integers; as they are if they are not."""
    missing = np.array([value is None or str(value) in ("nan", "<NA>", "NaT") for value in array.ravel().tolist()])
    if missing.any():
        raise InputError(
            name,
            expected="a vote of every member on every image",
            got=f"{int(missing.sum())} missing values of {array.size}",
            fix="Leave out the images or members that they belong to.",
        )
    if all(isinstance(value, Integral) for value in array.ravel().tolist()):
        return array.astype(np.int64)
    return array


def _single_model(array: Array, name: str) -> Array:
    """Return probabilities (N, C) with the axis of members. Raises `InputError` for votes stored as floats."""
    with np.errstate(invalid="ignore"):
        sums = array[:1].sum(axis=1, dtype=np.float64)
        whole = array.size > 0 and bool((array == np.floor(array)).all())
    if whole and not (np.abs(sums - 1.0) <= BFLOAT16_TOLERANCE).all():
        raise InputError(
            name,
            expected="probabilities (M, N, C), or (N, C) of one model, or integer votes (M, N)",
            got=f"{describe(array)} that holds whole numbers",
            fix="If these are votes, convert them: votes.astype(int).",
        )
    return array[None]


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


def _from_probs(array: Array, name: str, classes: int | None) -> Beliefs:
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

    def fill_votes(span: tuple[int, int]) -> bool:
        m, i = span
        rows = np.ascontiguousarray(array[m, i : i + step])
        if rows.dtype not in (np.float32, np.float64) or not rows.dtype.isnative:
            rows = rows.astype(np.float32 if rows.dtype.itemsize < 8 else np.float64)
        tolerance = TOLERANCE
        result = kernels.votes(rows, tolerance)
        if result.bad_row >= 0 and _fits_bfloat16(rows):
            tolerance = BFLOAT16_TOLERANCE
            result = kernels.votes(rows, tolerance)
        if result.bad_row >= 0:
            raise _bad_row_error(rows[result.bad_row], name, m, i + result.bad_row, tolerance)
        votes[m, i : i + step] = result.votes
        return result.negative

    negative = kernels.map_threads(fill_votes, [(m, i) for m in range(M) for i in range(0, N, step)])
    return Beliefs(name, votes, C, array, any(negative))


def _fits_bfloat16(rows: Array) -> bool:
    """Return whether bfloat16 holds all of these numbers: of a float32, the upper half of the bits."""
    single = rows.astype(np.float32)
    return bool((single == rows).all() and not (single.view(np.uint32) & 0xFFFF).any())


def _bad_row_error(row: Array, name: str, member: int, image: int, tolerance: float) -> InputError:
    if not np.isfinite(row).all():
        got, fix = "a number that is not finite", "Look for a division by zero or a diverged member, and drop it."
    elif (row < -tolerance).any():
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
