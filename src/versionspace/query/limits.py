"""Limits of a query: which images may be chosen, what a label of each costs, how many of one class may be chosen.

They apply to every method. Candidates are chosen before the method sees the pool. Costs and balance are applied to its
ranking: images are taken in the order of utility per cost, each unless its predicted class has had its share. Of a
method that chooses a set, the ranking is the order in which it would choose `AHEAD` times as many images, or more if
these do not suffice.
"""

from dataclasses import dataclass, replace

import numpy as np

from versionspace.errors import InputError
from versionspace.query.ranking import top_k
from versionspace.space import Beliefs, as_array, describe, majority_of
from versionspace.types import Array, ArrayLike, Floats, Ints, is_count

AHEAD = 4
"""How many times as many images as asked for a method that chooses a set ranks first."""


@dataclass(frozen=True)
class Limits:
    """Validated costs and predicted classes of the images of a problem."""

    costs: Floats | None
    """(N,), positive."""
    cap: int | None
    """The largest number of chosen images of one predicted class."""
    predicted: Array | None
    """(N,): the class that the members vote for; with a cap."""

    @property
    def any(self) -> bool:
        """Whether there are limits."""
        return self.costs is not None or self.cap is not None

    def per_cost(self, utilities: Floats, images: Ints) -> Floats:
        """Return utilities per cost. If some are negative, they are measured from the lowest of them."""
        if self.costs is None:
            return utilities
        lowest = min(float(utilities.min()), 0.0)
        return (utilities - lowest) / self.costs[images]

    def take(self, values: Floats, images: Ints, ties: Array, k: int) -> Ints:
        """Return up to k positions in ``images``: those of highest value, no more of one class than the cap."""
        if self.cap is None or self.predicted is None:
            return top_k(values, ties, min(k, len(values)))
        order = top_k(values, ties, len(values))
        classes = self.predicted[images[order]]
        by_class = np.argsort(classes, kind="stable")
        starts = np.searchsorted(classes[by_class], classes[by_class])
        rank = np.empty(len(order), np.int64)
        rank[by_class] = np.arange(len(order)) - starts  # how many of its class come before an image
        return order[rank < self.cap][:k]

    def for_query(self, k: int) -> "Limits":
        """Return the limits with the cap raised, if necessary, to the smallest with which k images can be chosen."""
        if self.cap is None or self.predicted is None:
            return self
        sizes, cap = np.unique(self.predicted, return_counts=True)[1], self.cap
        while int(np.minimum(sizes, cap).sum()) < k:
            cap += 1
        return replace(self, cap=cap)


NO_LIMITS = Limits(None, None, None)


def read_candidates(given: ArrayLike, images: int) -> Ints | None:
    """Return the positions of the images that may be chosen, ascending; None if all may."""
    if given is None:
        return None
    array = as_array(given, "candidates")
    if array.dtype.kind == "b" and array.shape == (images,):
        positions = np.flatnonzero(array)
    elif array.dtype.kind in "iu" and array.ndim == 1:
        positions = np.unique(array).astype(np.int64)
    else:
        raise InputError(
            "candidates",
            expected=f"a mask of shape ({images},) or positions in the pool",
            got=describe(array),
            fix="Pass True for each image that may be chosen, or the positions of these images.",
        )
    if len(positions) == 0 or positions[0] < 0 or positions[-1] >= images:
        raise InputError(
            "candidates",
            expected=f"at least one position from 0 to {images - 1}",
            got="none" if len(positions) == 0 else f"{positions[0]} to {positions[-1]}",
            fix="Candidates are positions in the pool, not ids.",
        )
    return positions


def read_limits(costs: ArrayLike, balance: object, images: int, pool: Beliefs | None, kept: Ints | None) -> Limits:
    """Return the validated limits, for the images of the pool that are kept."""
    values = None
    if costs is not None:
        values = as_array(costs, "costs").astype(np.float64)
        if values.shape != (images,) or not (np.isfinite(values) & (values > 0)).all():
            raise InputError(
                "costs",
                expected=f"positive numbers of shape ({images},), one for each image of the pool",
                got=describe(values) if values.shape != (images,) else f"{values.min():g} to {values.max():g}",
                fix="Pass what a label of each image costs, for example seconds.",
            )
        values = values if kept is None else values[kept]
    if balance is None:
        return Limits(values, None, None)
    if not is_count(balance):
        raise InputError(
            "balance",
            expected="a whole number of at least 1, or None",
            got=repr(balance),
            fix="Pass the largest number of chosen images that may have the same predicted class.",
        )
    if pool is None:
        raise InputError(
            "balance",
            expected="a pool, which predicts the class of each image",
            got="no pool",
            fix="Pass the members' votes or probabilities as pool as well.",
        )
    return Limits(values, int(balance), majority_of(pool))
