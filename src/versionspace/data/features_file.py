"""Features that were computed elsewhere, of anything: text, sound, images, tables.

    .npz, .safetensors   arrays `features` (N, F) and, where known, `labels` (N,), `ids` (N,) and `classes`
    .parquet             columns of those names; `features` is a column of lists
    .npy                 the features alone

In Python also a NumPy array or a DataFrame. Features in a file stay on disk and are read in blocks: a file may be
larger than memory.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.data.dataset import Dataset, Subset
from versionspace.data.feature_formats import FORMATS, ID_ARRAY, Arrays, arrays_of_frame
from versionspace.errors import InputError
from versionspace.files import sha256
from versionspace.text import printable
from versionspace.types import Array, ArrayLike, Ints

BLOCK_BYTES = 16 << 20
"""Features read at a time."""


@dataclass(frozen=True)
class FeatureTable:
    """Validated features, and what is known about the item of each row."""

    features: Array
    """(N, F), numbers of any precision; memory-mapped and read-only if they come from a file."""
    labels: Ints | None
    """int64 (N,), -1 for an unlabelled item; None if no item is labelled."""
    ids: Array
    """(N,): integers or text; row numbers if none were given."""
    classes: tuple[str, ...]
    has_ids: bool
    """Whether ids were given."""
    name: str = "features"
    """The name of the file."""
    sha256: str = ""
    """Of the file; of an array in memory, empty."""

    def __len__(self) -> int:
        return len(self.features)

    def dataset(self) -> Dataset:
        """Return a dataset whose items are these vectors."""
        train = Subset(self.features, self.labels, self.ids)
        return Dataset(self.name, self.classes, train, source=f"file {self.name}", features_sha256=self.sha256)


def is_features_file(name: str | os.PathLike[str]) -> bool:
    """Return whether a name has the extension of a features file. The file need not exist.

    >>> is_features_file("emb.npz"), is_features_file("photos/")
    (True, False)
    """
    return Path(name).suffix.lower() in FORMATS


def read_features(
    source: ArrayLike,
    *,
    labels: ArrayLike = None,
    ids: ArrayLike = None,
    classes: Sequence[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> FeatureTable:
    """Return the features of a file, an array (N, F) or a DataFrame. Cost: one pass over the features.

    ``labels``, ``ids`` and ``classes`` replace those of the source. Labels are class names, or integers: numbers of
    ``classes``, which count from 0, or without ``classes`` any numbers, each of which is a class. -1 and an empty name
    mean unlabelled. A DataFrame has the columns of a Parquet file, or one column for each feature, and may have
    ``labels`` and ``ids``.

    Compressed files are unpacked, into the cache folder ``cache`` if they are large. Raises `InputError` if the source
    cannot be read, if shapes do not fit, if an id occurs twice, or if a number is not finite.

    >>> read_features(np.eye(3), labels=["cat", "", "dog"]).labels
    array([ 0, -1,  1])
    """
    given = _open(source, cache)
    name, arrays = given.name, given.arrays
    features = _check_features(arrays["features"], name)
    found = classes if classes is not None else arrays.get("classes")
    names = None if found is None else tuple(str(one) for one in np.asarray(found).tolist())
    known = _check_labels(_pick(labels, arrays, "labels"), len(features), names, name)
    own = _pick(ids, arrays, ID_ARRAY)
    return FeatureTable(
        features, known.labels, np.arange(len(features)) if own is None else check_ids(own, len(features), name),
        known.classes, own is not None, name, given.sha256,
    )  # fmt: skip


@dataclass(frozen=True)
class _Source:
    name: str
    arrays: Arrays
    sha256: str = ""


def _open(source: ArrayLike, cache: str | os.PathLike[str] | None) -> _Source:
    if not isinstance(source, str | os.PathLike):
        return _Source("features", arrays_of_frame(source) if hasattr(source, "columns") else {"features": source})
    path = Path(source).expanduser()
    name = printable(path.name)
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            printable(path), expected=f"a features file ({', '.join(FORMATS)})", got="another extension",
            fix="Save the features with numpy.save or numpy.savez.",
        )  # fmt: skip
    if not path.is_file():
        raise InputError(
            printable(path), expected="a features file", got="a folder" if path.is_dir() else "no file there",
            fix="Check the path.",
        )  # fmt: skip
    digest = sha256(path)
    arrays = FORMATS[path.suffix.lower()](path, digest, cache)
    if "features" not in arrays:
        raise InputError(
            name, expected="an array named features", got=", ".join(arrays) or "no array",
            fix="Save it as numpy.savez(file, features=…, labels=…, ids=…).",
        )  # fmt: skip
    return _Source(name, arrays, digest)


def _pick(given: ArrayLike, arrays: Arrays, name: str) -> Any:
    return arrays.get(name) if given is None else given


def _check_features(given: ArrayLike, name: str) -> Array:
    """Return features (N, F); raise `InputError` for another shape or type, or for a number that is not finite."""
    features = given if isinstance(given, np.ndarray) else _as_array(given, name)
    if features.ndim != 2 or 0 in features.shape or features.dtype.kind not in "fiu" or features.dtype.itemsize > 8:
        raise InputError(
            name, expected="features of shape (N, F), numbers, at least one row",
            got=f"{features.dtype} of shape {features.shape}", fix="Flatten the features of each item into one row.",
        )  # fmt: skip
    if features.dtype.kind == "f":
        step = max(1, BLOCK_BYTES // (features.shape[1] * features.dtype.itemsize))
        for start in range(0, len(features), step):
            check_finite(features[start : start + step], name, start)
    return features


def check_finite(block: Array, name: str, first: int) -> None:
    """Raise `InputError` if a number of these rows is not finite in float32; ``first``: the row number of the first."""
    with np.errstate(over="ignore"):
        finite = np.isfinite(block if block.dtype.itemsize <= 4 else block.astype(np.float32))
    if not finite.all():
        row, column = (int(place[0]) for place in np.nonzero(~finite))
        raise InputError(
            f"{name}, row {first + row}", expected="finite features", got=f"{block[row, column]} in column {column}",
            fix="Look for a division by zero or an overflow in the code that computes the features. Rows count from 0.",
        )  # fmt: skip


@dataclass(frozen=True)
class _Labels:
    labels: Ints | None
    classes: tuple[str, ...]


def _check_labels(given: Any, count: int, classes: tuple[str, ...] | None, name: str) -> _Labels:
    """Return labels as numbers of classes."""
    if classes is not None and (len(set(classes)) < len(classes) or any(not one.strip() for one in classes)):
        raise InputError(
            f"{name}, classes", expected="distinct names that are not empty", got=", ".join(map(repr, classes)),
            fix="Name each class once.",
        )  # fmt: skip
    if given is None:
        return _Labels(None, classes or ())
    labels = _as_array(given, f"{name}, labels")
    if labels.dtype.kind == "O":
        labels = _as_text(labels, f"{name}, labels", missing="")
    _check_length(labels, count, f"{name}, labels", "iuUb", "class names or integers")
    if labels.dtype.kind == "U":
        return _by_name(labels, classes, name)
    numbers = labels.astype(np.int64)
    if classes is not None:
        if numbers.min() < -1 or numbers.max() >= len(classes):
            raise InputError(
                f"{name}, labels", expected=f"-1 to {len(classes) - 1}, since there are {len(classes)} classes",
                got=f"{numbers.min()} to {numbers.max()}", fix="Classes count from 0; -1 means unlabelled.",
            )  # fmt: skip
        return _Labels(numbers if (numbers >= 0).any() else None, classes)
    distinct = np.unique(numbers)
    distinct = distinct[distinct != -1]
    codes = np.where(numbers == -1, -1, np.searchsorted(distinct, numbers))
    return _Labels(codes if len(distinct) else None, tuple(map(str, distinct.tolist())))


def _by_name(labels: Array, classes: tuple[str, ...] | None, name: str) -> _Labels:
    found, codes = np.unique(labels, return_inverse=True)
    names = [str(one) for one in found.tolist() if one]
    if classes is None:
        numeric = all(one.isdecimal() for one in names)
        classes = tuple(sorted(names, key=lambda one: (int(one) if numeric else 0, one)))
    if other := sorted(set(names) - set(classes)):
        raise InputError(
            f"{name}, classes", expected="every class of the labels",
            got=f"{', '.join(classes)}, but labels contain {', '.join(other)}", fix="Add the missing classes.",
        )  # fmt: skip
    places = {one: number for number, one in enumerate(classes)}
    numbers = np.array([places.get(str(one), -1) for one in found.tolist()], np.int64)[codes.reshape(-1)]
    return _Labels(numbers if names else None, classes)


def check_ids(given: ArrayLike, count: int, name: str) -> Array:
    """Return ids (N,), integers or text, all different. Raises `InputError` for anything else."""
    ids = np.array(_as_array(given, f"{name}, ids"))
    if ids.dtype.kind == "O":
        ids = _as_text(ids, f"{name}, ids", missing=None)
    _check_length(ids, count, f"{name}, ids", "iuU", "integers or text")
    order = np.argsort(ids, kind="stable")
    same = np.flatnonzero(ids[order[1:]] == ids[order[:-1]])
    if len(same):
        first, second = sorted(order[same[0] : same[0] + 2].tolist())
        raise InputError(
            f"{name}, ids", expected="a different id in each row", got=f"{ids[first].item()!r} in rows {first} and "
            f"{second}", fix="Give every item its own id, so that a label belongs to exactly one item.",
        )  # fmt: skip
    return ids


def _check_length(values: Array, count: int, name: str, kinds: str, what: str) -> None:
    if values.ndim != 1 or len(values) != count or values.dtype.kind not in kinds:
        raise InputError(
            name, expected=f"{what} of shape ({count},), one for each row of features",
            got=f"{values.dtype} of shape {values.shape}", fix="Save them in the order of the features.",
        )  # fmt: skip


def _as_text(values: Array, name: str, missing: str | None) -> Array:
    """Return an array of Python strings as a text array; None becomes ``missing``."""
    plain = [missing if one is None or one != one else one for one in values.tolist()]  # noqa: PLR0124 — NaN of a DataFrame
    if values.ndim == 1 and all(isinstance(one, str) for one in plain):
        return np.array(plain, np.str_)
    raise InputError(
        name, expected="one type: all text, or all integers", got="objects of several types, or missing values",
        fix="Convert them to text.",
    )  # fmt: skip


def _as_array(given: ArrayLike, name: str) -> Array:
    try:
        return np.asarray(given.detach().cpu() if hasattr(given, "detach") else given)
    except (TypeError, ValueError) as error:
        raise InputError(
            name,
            expected="an array",
            got=f"{type(given).__name__} ({error})",
            fix="All rows must have the same length.",
        ) from error


def combined_sha256(*digests: str) -> str:
    """Return one hash for several files; of a single file, its own.

    >>> combined_sha256("ab", "") == combined_sha256("ab")
    True
    """
    given = [one for one in digests if one]
    return given[0] if len(given) == 1 else hashlib.sha256("\n".join(given).encode()).hexdigest()
