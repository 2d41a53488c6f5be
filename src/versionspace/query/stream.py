"""A pool that comes in chunks: the k best of any number of images, in memory that does not grow with it."""

from dataclasses import replace

import numpy as np

from versionspace import rng
from versionspace.errors import InputError
from versionspace.query import api
from versionspace.query.api import Arguments
from versionspace.query.inputs import Problem, joined_ids, read_ids, read_perturbations
from versionspace.query.methods import find
from versionspace.query.ranking import best
from versionspace.space.diameter import Diameter, read_vote
from versionspace.types import Array, ArrayLike, Floats, Ints, Vote, Words

_REMEMBERED = 1 << 18
"""Sub-spaces whose diameters are remembered from chunk to chunk."""


class Stream:
    """The k images to ask first among chunks of a pool: the same as `query` on the whole, for any chunking.

    For methods that score each image by itself. Memory is that of one chunk, plus k; so an id that comes again in
    another chunk is refused where both images are among the best, and not looked for among the others.

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
                expected="one that scores each image by itself",
                got=f"{method!r}, which chooses a set",
                fix="Use versionspace.query with the whole pool.",
            )
        self._k = api.read_k(k, np.iinfo(np.int64).max)
        self._given = Arguments(reference=reference, vote=vote, classes=classes)
        chunks_come = () if self._method.perturbations else None
        api.check_arguments(self._method, replace(self._given, perturbations=chunks_come), pool_later=True)
        self._reference = api.read_reference(self._method, self._given)
        self._seed = rng.root(seed)
        self._diameter: Diameter | None = None
        if self._method.diameter is not None and self._reference is not None:
            self._diameter = Remembered(self._method.diameter(self._reference, read_vote(vote)))
        self._images = 0
        self._members: int | None = None
        self._positions: Ints = np.zeros(0, np.int64)
        self._utilities: Floats = np.zeros(0)
        self._ids: Array | None = None

    @property
    def images(self) -> int:
        """How many images have been added."""
        return self._images

    def add(self, chunk: ArrayLike, ids: ArrayLike = None) -> None:
        """Takes the next images: what `query` takes as pool (as perturbations, for `dfal`), and their ids if any."""
        problem = self._read(chunk)
        if self._images and (self._ids is not None) != (ids is not None):
            raise InputError(
                "ids",
                expected="ids with every chunk, or with none",
                got="some chunks with and some without",
                fix="Pass ids each time.",
            )
        names = None if ids is None else read_ids(ids)
        if names is not None and len(names) != problem.images:
            raise InputError(
                "ids",
                expected=f"{problem.images} ids, as the chunk has images",
                got=f"{len(names)}",
                fix="Both must list the same images.",
            )
        scores = api.score(self._method, problem)
        positions = np.concatenate([self._positions, problem.positions()])
        utilities = np.concatenate([self._utilities, scores])
        kept = best(utilities, problem.ties(positions), min(self._k, len(positions)))
        if names is not None:
            self._ids = self._named(names, kept)
        self._images += problem.images
        self._members = problem.pool.members if problem.pool is not None else None
        self._positions, self._utilities = positions[kept], utilities[kept]

    def _named(self, names: Array, kept: Ints) -> Array:
        return read_ids((names if self._ids is None else joined_ids(self._ids, names))[kept])

    def _read(self, chunk: ArrayLike) -> Problem:
        if self._method.perturbations:
            sizes = read_perturbations(chunk)
            return Problem(len(sizes), self._seed, offset=self._images, perturbations=sizes)
        pool = api.read_pool(self._method, replace(self._given, pool=chunk), self._reference)
        assert pool is not None
        if self._members is not None and pool.members != self._members:
            raise InputError(
                "pool",
                expected=f"{self._members} members, as the first chunk had",
                got=f"{pool.members}",
                fix="Every chunk must come from the same members.",
            )
        return Problem(pool.images, self._seed, self._images, pool, self._reference, diameter=self._diameter)

    def result(self, return_utilities: bool = False) -> Array | tuple[Array, Floats]:
        """Positions, counted over all chunks, or ids of the k images to ask first; with their utilities on request."""
        api.read_k(self._k, self._images)
        answer = self._positions if self._ids is None else self._ids
        return (answer, self._utilities) if return_utilities else answer


class Remembered:
    """A diameter that is computed once for each sub-space, as far as memory allows."""

    def __init__(self, diameter: Diameter) -> None:
        self._diameter = diameter
        self._values: dict[bytes, float] = {}

    def __call__(self, masks_KW: Words, sizes: Ints) -> Floats:
        """Diameters (K,)."""
        if len(self._values) > _REMEMBERED:
            self._values.clear()
        names = [mask.tobytes() for mask in masks_KW]
        new = [k for k, name in enumerate(names) if name not in self._values]
        if new:
            for k, value in zip(new, self._diameter(masks_KW[new], sizes[new]).tolist(), strict=True):
                self._values[names[k]] = value
        return np.array([self._values[name] for name in names])
