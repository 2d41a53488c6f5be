"""Splitting of a dataset into pool, validation, test and initially labelled images.

Images are ordered by a hash of (seed, purpose, id) instead of by a random number generator: the same seed yields the
same split on every machine, with every version of NumPy and for any order of the files, and a folder that grows keeps
most of its split.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from versionspace import rng
from versionspace.data.dataset import Dataset, Subset
from versionspace.errors import InputError
from versionspace.types import Array, Ints


@dataclass(frozen=True)
class SplitSizes:
    """Numbers of images. ``initial`` images of the pool are labelled from the start."""

    pool: int
    validation: int
    test: int
    initial: int


SPLIT_SIZES: Mapping[str, SplitSizes] = {
    "mnist": SplitSizes(45_000, 5_000, 10_000, 10),
    "fashion-mnist": SplitSizes(55_000, 5_000, 10_000, 10),
    "svhn": SplitSizes(40_000, 5_000, 15_000, 100),
    "stl10": SplitSizes(4_000, 1_000, 8_000, 100),
    "cifar10": SplitSizes(45_000, 5_000, 10_000, 100),
    "digits": SplitSizes(1_000, 297, 500, 10),
}
"""The sizes in the paper's table "Settings"; those of cifar10 and digits are ours."""


@dataclass(frozen=True)
class Split:
    """Ids of images, in ascending order. Pool, validation and test are disjoint within a subset of the dataset."""

    pool: Array
    validation: Array
    test: Array
    initial: Array
    """A part of the pool."""
    seed: int


def split(
    dataset: Dataset,
    *,
    pool: int | None = None,
    validation: int | None = None,
    test: int | None = None,
    initial: int | None = None,
    seed: int | None,
    balanced: bool = True,
) -> Split:
    """Split a dataset. Sizes default to the paper's for its datasets, and to everything available for others.

    Test images come from the dataset's test subset and validation images from its validation subset; without such a
    subset they come from train, like the pool. If only some images are labelled, the initial, validation and test
    images are drawn from those; by default, all labelled images of a validation or test subset are used.

    ``balanced``: a set that is smaller than the set it is drawn from has its classes in equal numbers, plus or minus
    one; a set that is taken whole keeps its class frequencies. (This reproduces the paper: a balanced 50,000 of MNIST's
    training images, and all 10,000 test images.) Pass ``balanced=False`` for unlabelled images.

    ``seed``: None draws one, recorded in the result. Raises `InputError` if the dataset is too small.

    >>> from versionspace.data import load
    >>> cut = split(load("digits"), pool=600, validation=100, test=100, initial=10, seed=0)
    >>> len(cut.pool), len(cut.validation), len(cut.test), len(cut.initial)
    (600, 100, 100, 10)
    """
    root = rng.root(seed)
    preset = SPLIT_SIZES.get(dataset.name) if dataset.report is None else None
    own_test, own_validation = dataset.test, dataset.validation
    n_test = _size("test", test, preset.test if preset else _usable(own_test))
    n_validation = _size("validation", validation, preset.validation if preset else _usable(own_validation))
    n_initial = _size("initial", initial, preset.initial if preset else 0)

    train = _Draw(dataset, dataset.train, root, balanced)
    test_ids = _draw_subset(dataset, own_test, train, n_test, "test", root, balanced)
    validation_ids = None
    if own_validation is not None:
        validation_ids = _draw_subset(dataset, own_validation, train, n_validation, "validation", root, balanced)
    inside = n_validation if own_validation is None else 0
    left = len(train.rows) - inside
    n_pool = _size("pool", pool, preset.pool if preset else max(0, left))
    if n_pool + inside > len(train.rows):
        _raise_too_small(dataset, "pool and validation" if inside else "pool", n_pool + inside, len(train.rows))
    if n_pool + inside < len(train.rows):
        train = train.narrowed(n_pool + inside, "pool")
    if validation_ids is None:
        validation_ids = train.take(inside, "validation", labelled=True)
    pool_ids = dataset.train.ids[train.rows]
    first = _Draw(dataset, dataset.train, root, balanced, train.rows).take(n_initial, "initial", labelled=True)
    return Split(np.sort(pool_ids), np.sort(validation_ids), np.sort(test_ids), np.sort(first), root)


def draw(dataset: Dataset, ids: Array, count: int, purpose: str, *, seed: int, balanced: bool) -> Array:
    """Draw ``count`` of these images of ``dataset.train``; return their ids in ascending order.

    The same arguments draw the same images on every machine.

    >>> from versionspace.data import load
    >>> draw(load("digits"), np.arange(100), 3, "audit", seed=0, balanced=False).shape
    (3,)
    """
    rows = np.sort(dataset.train.rows(ids))
    return np.sort(_Draw(dataset, dataset.train, seed, balanced, rows).take(count, purpose, labelled=False))


class _Draw:
    """The rows of a subset that have not been drawn yet."""

    def __init__(self, dataset: Dataset, subset: Subset, seed: int, balanced: bool, rows: Ints | None = None) -> None:
        self.dataset, self.subset, self.seed, self.balanced = dataset, subset, seed, balanced
        self.rows: Ints = np.arange(len(subset)) if rows is None else rows

    def take(self, count: int, purpose: str, *, labelled: bool) -> Array:
        """Remove ``count`` images and return their ids; ``labelled`` takes only labelled images if there are any."""
        rows = self._choose(count, purpose, labelled=labelled)
        self.rows = np.setdiff1d(self.rows, rows)
        return self.subset.ids[rows]

    def narrowed(self, count: int, purpose: str) -> "_Draw":
        """Return a draw from ``count`` of these images."""
        rows = np.sort(self._choose(count, purpose, labelled=False))
        return _Draw(self.dataset, self.subset, self.seed, self.balanced, rows)

    def _choose(self, count: int, purpose: str, *, labelled: bool) -> Ints:
        rows, labels = self.rows, self.subset.labels
        if labelled and labels is not None and (labels[rows] >= 0).any():
            rows = rows[labels[rows] >= 0]
        if count > len(rows):
            _raise_too_small(self.dataset, purpose, count, len(rows))
        order = rows[
            np.argsort(rng.id_hashes(rng.key(self.seed, "split", purpose), self.subset.ids[rows]), kind="stable")
        ]
        if not self.balanced or count in (0, len(rows)):
            return order[:count]
        if labels is None or (labels[order] < 0).any():
            raise InputError(
                "balanced",
                expected=f"labels for all images from which {purpose} is drawn",
                got="none" if labels is None else f"{(labels[order] < 0).sum()} unlabelled images",
                fix="Pass balanced=False to draw images regardless of their classes.",
            )
        return _choose_balanced(self.dataset, order, labels[order], count, purpose, self.seed)


def _draw_subset(
    dataset: Dataset, own: Subset | None, train: _Draw, count: int, purpose: str, seed: int, balanced: bool
) -> Array:
    """Return the ids of ``count`` images of the dataset's own subset, or of train if there is none."""
    source = train if own is None else _Draw(dataset, own, seed, balanced)
    return source.take(count, purpose, labelled=True)


def _choose_balanced(dataset: Dataset, order: Ints, labels: Ints, count: int, purpose: str, seed: int) -> Ints:
    """Return the first rows of each class in equal numbers; which classes get one more is decided by a hash."""
    present = np.unique(labels)
    quota = np.full(len(present), count // len(present))
    extra = np.argsort(rng.hashes(rng.key(seed, "split", purpose, "extra"), present), kind="stable")
    quota[extra[: count % len(present)]] += 1
    chosen = []
    for label, wanted in zip(present, quota, strict=True):
        mine = order[labels == label]
        if len(mine) < wanted:
            fits = int(np.bincount(labels)[present].min()) * len(present)
            raise InputError(
                purpose,
                expected=f"{wanted} images of each of {len(present)} classes ({count} in total)",
                got=f"{len(mine)} of class {dataset.classes[label]!r} in {dataset.name}, {wanted - len(mine)} too few",
                fix=f"Request at most {fits} images{' for pool and validation together' if purpose == 'pool' else ''}, "
                "or pass balanced=False.",
            )
        chosen.append(mine[:wanted])
    return np.concatenate(chosen)


def _usable(subset: Subset | None) -> int:
    """Return the number of labelled images of a subset, or of all images if none is labelled."""
    if subset is None:
        return 0
    labelled = 0 if subset.labels is None else int((subset.labels >= 0).sum())
    return labelled or len(subset)


def _size(name: str, given: int | None, default: int) -> int:
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
        raise InputError(name, expected="a number of images, 0 or more", got=repr(given), fix="Pass an integer.")
    return int(given)


def _raise_too_small(dataset: Dataset, what: str, wanted: int, available: int) -> NoReturn:
    raise InputError(
        what,
        expected=f"{wanted} images",
        got=f"{available} available in {dataset.name}, {wanted - available} too few",
        fix=f"Pass {what} that add up to at most {available}."
        if " and " in what
        else f"Pass {what}={available} or less.",
    )
