"""Cutting a dataset into pool, validation, test and initial labels: the same cut on any machine for the same seed.

Images are ordered by a hash of (seed, purpose, id), not by a generator's stream: neither NumPy's version nor the order
of the files matters, and a folder that grows keeps most of its cut.
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
class Sizes:
    """Numbers of images; ``initial`` of the pool have labels from the start."""

    pool: int
    validation: int
    test: int
    initial: int


SIZES: Mapping[str, Sizes] = {
    "mnist": Sizes(45_000, 5_000, 10_000, 10),
    "fashion-mnist": Sizes(55_000, 5_000, 10_000, 10),
    "svhn": Sizes(40_000, 5_000, 15_000, 100),
    "stl10": Sizes(4_000, 1_000, 8_000, 100),
    "cifar10": Sizes(45_000, 5_000, 10_000, 100),
    "digits": Sizes(1_000, 297, 500, 10),
}
"""The paper's, table "Settings"; those of cifar10 and digits are ours."""


@dataclass(frozen=True)
class Split:
    """Ids of images, ascending. Those of pool, validation and test are disjoint within their part of the dataset."""

    pool: Array
    validation: Array
    test: Array
    initial: Array
    """Part of the pool."""
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
    """Cuts a dataset. Sizes left out are the paper's for its datasets; for others, what there is.

    test comes from the dataset's own test part, validation from its own validation part; where there is none, from
    train, as the pool does. balanced: whatever is a true subset of what it is drawn from has the classes in equal
    numbers, give or take one; all of something is taken as it is. (So the paper's: a balanced 50,000 of MNIST's
    training images, and its 10,000 test images as they are.) Without labels pass ``balanced=False``. Where only some
    images have labels, first labels, validation and test are drawn from those; validation and test that are parts of
    their own are by default all of those. seed: None draws one, which ``Split`` keeps.

    >>> from versionspace.data import load
    >>> cut = split(load("digits"), pool=600, validation=100, test=100, initial=10, seed=0)
    >>> len(cut.pool), len(cut.validation), len(cut.test), len(cut.initial)
    (600, 100, 100, 10)
    """
    root = rng.root(seed)
    preset = SIZES.get(dataset.name) if dataset.report is None else None
    own_test, own_validation = dataset.test, dataset.validation
    n_test = _size("test", test, preset.test if preset else _usable(own_test))
    n_validation = _size("validation", validation, preset.validation if preset else _usable(own_validation))
    n_initial = _size("initial", initial, preset.initial if preset else 0)

    train = _Draw(dataset, dataset.train, root, balanced)
    test_ids = _drawn(dataset, own_test, train, n_test, "test", root, balanced)
    validation_ids = None
    if own_validation is not None:
        validation_ids = _drawn(dataset, own_validation, train, n_validation, "validation", root, balanced)
    inside = n_validation if own_validation is None else 0
    left = len(train.rows) - inside
    n_pool = _size("pool", pool, preset.pool if preset else max(0, left))
    if n_pool + inside > len(train.rows):
        _too_small(dataset, "pool and validation" if inside else "pool", n_pool + inside, len(train.rows))
    if n_pool + inside < len(train.rows):
        train = train.narrowed(n_pool + inside, "pool")
    if validation_ids is None:
        validation_ids = train.take(inside, "validation", labelled=True)
    pool_ids = dataset.train.ids[train.rows]
    first = _Draw(dataset, dataset.train, root, balanced, train.rows).take(n_initial, "initial", labelled=True)
    return Split(np.sort(pool_ids), np.sort(validation_ids), np.sort(test_ids), np.sort(first), root)


def draw(dataset: Dataset, ids: Array, count: int, purpose: str, *, seed: int, balanced: bool) -> Array:
    """So many of these images of ``dataset.train``, ascending: the same for the same seed and purpose.

    >>> from versionspace.data import load
    >>> draw(load("digits"), np.arange(100), 3, "audit", seed=0, balanced=False).shape
    (3,)
    """
    rows = np.sort(dataset.train.rows(ids))
    return np.sort(_Draw(dataset, dataset.train, seed, balanced, rows).take(count, purpose, labelled=False))


class _Draw:
    """Rows of a part that can still be drawn."""

    def __init__(self, dataset: Dataset, part: Subset, seed: int, balanced: bool, rows: Ints | None = None) -> None:
        self.dataset, self.part, self.seed, self.balanced = dataset, part, seed, balanced
        self.rows: Ints = np.arange(len(part)) if rows is None else rows

    def take(self, count: int, purpose: str, *, labelled: bool) -> Array:
        """Ids of ``count`` images, which are then no longer there; with labels, where some have them."""
        rows = self._chosen(count, purpose, labelled=labelled)
        self.rows = np.setdiff1d(self.rows, rows)
        return self.part.ids[rows]

    def narrowed(self, count: int, purpose: str) -> "_Draw":
        """A draw from so many of these images."""
        rows = np.sort(self._chosen(count, purpose, labelled=False))
        return _Draw(self.dataset, self.part, self.seed, self.balanced, rows)

    def _chosen(self, count: int, purpose: str, *, labelled: bool) -> Ints:
        rows, labels = self.rows, self.part.labels
        if labelled and labels is not None and (labels[rows] >= 0).any():
            rows = rows[labels[rows] >= 0]
        if count > len(rows):
            _too_small(self.dataset, purpose, count, len(rows))
        order = rows[
            np.argsort(rng.id_hashes(rng.key(self.seed, "split", purpose), self.part.ids[rows]), kind="stable")
        ]
        if not self.balanced or count in (0, len(rows)):
            return order[:count]
        if labels is None or (labels[order] < 0).any():
            raise InputError(
                "balanced",
                expected=f"a label for every image that {purpose} is drawn from",
                got="none" if labels is None else f"{(labels[order] < 0).sum()} images without",
                fix="Pass balanced=False: images are then drawn without regard to class.",
            )
        return _balanced(self.dataset, order, labels[order], count, purpose, self.seed)


def _drawn(
    dataset: Dataset, own: Subset | None, train: _Draw, count: int, purpose: str, seed: int, balanced: bool
) -> Array:
    source = train if own is None else _Draw(dataset, own, seed, balanced)
    return source.take(count, purpose, labelled=True)


def _balanced(dataset: Dataset, order: Ints, labels: Ints, count: int, purpose: str, seed: int) -> Ints:
    """The first of each class, in equal numbers; who gets one more where it does not divide is drawn too."""
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
                expected=f"{wanted} images of each of {len(present)} classes ({count} in all)",
                got=f"{len(mine)} of class {dataset.classes[label]!r} in {dataset.name}, {wanted - len(mine)} too few",
                fix=f"Ask for at most {fits} images{' of pool and validation' if purpose == 'pool' else ''}, "
                "or pass balanced=False.",
            )
        chosen.append(mine[:wanted])
    return np.concatenate(chosen)


def _usable(part: Subset | None) -> int:
    """Images of a part that can be measured on: those with a label, or all where none has one."""
    if part is None:
        return 0
    labelled = 0 if part.labels is None else int((part.labels >= 0).sum())
    return labelled or len(part)


def _size(name: str, given: int | None, default: int) -> int:
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
        raise InputError(name, expected="a number of images, 0 or more", got=repr(given), fix="Pass a whole number.")
    return int(given)


def _too_small(dataset: Dataset, what: str, wanted: int, there: int) -> NoReturn:
    raise InputError(
        what,
        expected=f"{wanted} images",
        got=f"{there} to draw from in {dataset.name}, {wanted - there} too few",
        fix=f"Pass {what} that add up to at most {there}." if " and " in what else f"Pass {what}={there} or less.",
    )
