"""A pool that arrives in chunks: the k best of any number of images, in memory that does not grow with the pool."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from versionspace import rng
from versionspace.errors import InputError
from versionspace.query.api import score_images
from versionspace.query.arguments import Arguments, check_arguments, read_k, read_pool, read_reference
from versionspace.query.inputs import Problem, concatenate_ids, read_ids, read_perturbations
from versionspace.query.methods import find
from versionspace.query.ranking import top_k
from versionspace.space import CachedDiameter, Diameter, read_vote
from versionspace.types import Array, ArrayLike, Floats, Ints, Seed, Vote, Words, is_count

_CACHE_SIZE = 1 << 18
"""Number of sub-spaces whose diameters are cached across chunks."""


@dataclass(frozen=True)
class BestImages:
    """The best images of a part of a pool: all that a merge of several parts needs. Plain data: it can be pickled."""

    positions: Ints
    """(n,): in the whole pool."""
    utilities: Floats
    """(n,)."""
    hashes: Words
    """(n,): they order images of equal utility."""
    ids: Array | None
    """(n,), if there are any."""


def merge_best(parts: Iterable[BestImages], k: int) -> BestImages:
    """Return the k best of several parts of a pool, or all if there are fewer; the order of the parts is irrelevant.

    If each part has its own k best with the same seed, this is what `query` returns for the whole pool.
    """
    found = [part for part in parts if len(part.positions)]
    if not found:
        return BestImages(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.uint64), None)
    positions = np.concatenate([part.positions for part in found])
    utilities = np.concatenate([part.utilities for part in found])
    hashes = np.concatenate([part.hashes for part in found])
    kept = top_k(utilities, hashes, min(k, len(positions)))
    ids = found[0].ids
    for part in found[1:]:
        ids = None if ids is None or part.ids is None else concatenate_ids(ids, part.ids)
    return BestImages(positions[kept], utilities[kept], hashes[kept], None if ids is None else read_ids(ids[kept]))


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
        seed: Seed = None,
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
            self._diameter = CachedDiameter(self._method.diameter(self._reference, read_vote(vote)), _CACHE_SIZE)
        self._images = 0
        self._skipped = 0
        self._members: int | None = None
        self._positions: Ints = np.zeros(0, np.int64)
        self._utilities: Floats = np.zeros(0)
        self._hashes: Words = np.zeros(0, np.uint64)
        self._ids: Array | None = None

    @property
    def images(self) -> int:
        """The number of images added so far."""
        return self._images

    def skip(self, images: int) -> None:
        """Leave out the next images of the pool, whose positions remain unused: they are unreadable, or elsewhere."""
        if images != 0 and not is_count(images):
            raise InputError("images", expected="0 or more", got=repr(images), fix="Pass the number to leave out.")
        self._skipped += images

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
        problem = replace(problem, keys=chunk_ids)
        scores = score_images(self._method, problem)
        positions = np.concatenate([self._positions, problem.positions()])
        utilities = np.concatenate([self._utilities, scores])
        hashes = np.concatenate([self._hashes, problem.tie_hashes()])
        kept = top_k(utilities, hashes, min(self._k, len(positions)))
        if chunk_ids is not None:
            all_ids = chunk_ids if self._ids is None else concatenate_ids(self._ids, chunk_ids)
            self._ids = read_ids(all_ids[kept])
        self._images += problem.images
        self._members = problem.pool.members if problem.pool is not None else None
        self._positions, self._utilities, self._hashes = positions[kept], utilities[kept], hashes[kept]

    def _read_chunk(self, chunk: ArrayLike) -> Problem:
        if chunk is None:
            name = "perturbations" if self._method.perturbations else "pool"
            raise InputError(
                "chunk",
                expected=f"the next images, in the form of {name} in versionspace.query",
                got="None",
                fix="Pass the members' predictions on the next images; leave out chunks that are empty.",
            )
        if self._method.perturbations:
            sizes = read_perturbations(chunk)
            return Problem(len(sizes), self._seed, offset=self._images + self._skipped, perturbations=sizes)
        pool = read_pool(self._method, replace(self._given, pool=chunk), self._reference)
        assert pool is not None
        if self._members is not None and pool.members != self._members:
            raise InputError(
                "pool",
                expected=f"{self._members} members, as the first chunk had",
                got=f"{pool.members}",
                fix="All chunks must come from the same members.",
            )
        offset = self._images + self._skipped
        return Problem(pool.images, self._seed, offset, pool, self._reference, diameter=self._diameter)

    def best(self) -> BestImages:
        """Return the k best images so far, or all if there are fewer, for `merge_best`."""
        ids = None if self._ids is None else self._ids.copy()
        return BestImages(self._positions.copy(), self._utilities.copy(), self._hashes.copy(), ids)

    def result(self, return_utilities: bool = False) -> Array | tuple[Array, Floats]:
        """Return the positions in the whole pool, or the ids, of the k images to label next; optionally utilities."""
        read_k(self._k, self._images)
        answer = (self._positions if self._ids is None else self._ids).copy()
        return (answer, self._utilities.copy()) if return_utilities else answer
