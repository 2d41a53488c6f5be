"""A pool that arrives in chunks: the k best of any number of images, in memory that does not grow with the pool."""

from dataclasses import replace

import numpy as np

from versionspace import rng
from versionspace.errors import InputError
from versionspace.query.api import score_images
from versionspace.query.arguments import Arguments, check_arguments, read_k, read_pool, read_reference
from versionspace.query.inputs import Problem, concatenate_ids, read_ids, read_perturbations
from versionspace.query.methods import find
from versionspace.query.ranking import top_k
from versionspace.space import Diameter, read_vote
from versionspace.types import Array, ArrayLike, Floats, Ints, Vote, Words

_CACHE_SIZE = 1 << 18
"""Number of sub-spaces whose diameters are cached across chunks."""


class Stream:
    """The k images to label next from a pool that arrives in chunks; equal to `query` on the whole pool.

    Supports the methods that score each image independently. Memory is that of one chunk plus k images. An id that
    occurs in two chunks is therefore rejected only if both images are among the best.

    >>> import versionspace as vs
    >>> stream = vs.Stream("ge", 1, seed=0)
    >>> stream.add([[0, 0], [0, 1]], ids=["a.png", "b.png"])
    >>> stream.add([[1], [1]], ids=["c.png"])
    >>> stream.result().tolist()
    ['b.png']
    """

    def __init__(
        self,
        method: str,
        k: int,
        *,
        reference: ArrayLike = None,
        vote: Vote = "soft",
        classes: int | None = None,
        seed: int | None = None,
    ) -> None:
        self._method = find(method)
        if not self._method.pointwise:
            raise InputError(
                "method",
                expected="one that scores each image independently",
                got=f"{method!r}, which chooses a set",
                fix="Use versionspace.query with the whole pool.",
            )
        self._k = read_k(k, np.iinfo(np.int64).max)
        self._given = Arguments(reference=reference, vote=vote, classes=classes)
        arrive_later = () if self._method.perturbations else None
        check_arguments(self._method, replace(self._given, perturbations=arrive_later), pool_optional=True)
        self._reference = read_reference(self._method, self._given)
        self._seed = rng.root(seed)
        self._diameter: Diameter | None = None
        if self._method.diameter is not None and self._reference is not None:
            self._diameter = CachedDiameter(self._method.diameter(self._reference, read_vote(vote)))
        self._images = 0
        self._members: int | None = None
        self._positions: Ints = np.zeros(0, np.int64)
        self._utilities: Floats = np.zeros(0)
        self._ids: Array | None = None

    @property
    def images(self) -> int:
        """The number of images added so far."""
        return self._images

    def add(self, chunk: ArrayLike, ids: ArrayLike = None) -> None:
        """Add the next images, in the form of ``pool`` in `query` (of ``perturbations`` for `dfal`), and their ids.

        Raises `InputError` and leaves the stream unchanged if the chunk is invalid.
        """
        problem = self._read_chunk(chunk)
        if self._images and (self._ids is not None) != (ids is not None):
            raise InputError(
                "ids",
                expected="ids with every chunk, or with none",
                got="some chunks with and some without",
                fix="Pass ids with every chunk.",
            )
        chunk_ids = None if ids is None else read_ids(ids)
        if chunk_ids is not None and len(chunk_ids) != problem.images:
            raise InputError(
                "ids",
                expected=f"{problem.images} ids, as the chunk has images",
                got=f"{len(chunk_ids)}",
                fix="Both must list the same images.",
            )
        scores = score_images(self._method, problem)
        positions = np.concatenate([self._positions, problem.positions()])
        utilities = np.concatenate([self._utilities, scores])
        kept = top_k(utilities, problem.tie_hashes(positions), min(self._k, len(positions)))
        if chunk_ids is not None:
            all_ids = chunk_ids if self._ids is None else concatenate_ids(self._ids, chunk_ids)
            self._ids = read_ids(all_ids[kept])
        self._images += problem.images
        self._members = problem.pool.members if problem.pool is not None else None
        self._positions, self._utilities = positions[kept], utilities[kept]

    def _read_chunk(self, chunk: ArrayLike) -> Problem:
        if self._method.perturbations:
            sizes = read_perturbations(chunk)
            return Problem(len(sizes), self._seed, offset=self._images, perturbations=sizes)
        pool = read_pool(self._method, replace(self._given, pool=chunk), self._reference)
        assert pool is not None
        if self._members is not None and pool.members != self._members:
            raise InputError(
                "pool",
                expected=f"{self._members} members, as the first chunk had",
                got=f"{pool.members}",
                fix="All chunks must come from the same members.",
            )
        return Problem(pool.images, self._seed, self._images, pool, self._reference, diameter=self._diameter)

    def result(self, return_utilities: bool = False) -> Array | tuple[Array, Floats]:
        """Return the positions in the whole pool, or the ids, of the k images to label next; optionally utilities."""
        read_k(self._k, self._images)
        answer = self._positions if self._ids is None else self._ids
        return (answer, self._utilities) if return_utilities else answer


class CachedDiameter:
    """A `Diameter` that remembers the values of up to `_CACHE_SIZE` sub-spaces."""

    def __init__(self, diameter: Diameter) -> None:
        self._diameter = diameter
        self._values: dict[bytes, float] = {}

    def __call__(self, masks_KW: Words, sizes: Ints) -> Floats:
        """Return the diameters (K,)."""
        if len(self._values) > _CACHE_SIZE:
            self._values.clear()
        keys = [mask.tobytes() for mask in masks_KW]
        new = [k for k, key in enumerate(keys) if key not in self._values]
        if new:
            for k, value in zip(new, self._diameter(masks_KW[new], sizes[new]).tolist(), strict=True):
                self._values[keys[k]] = value
        return np.array([self._values[key] for key in keys])
