"""Features scaled to length 1, a block of rows at a time: a pool on disk is never copied to memory as a whole."""

from collections.abc import Iterator

import numpy as np

from versionspace import rng
from versionspace.types import Array, Ints


def unit_rows(features: Array, rows: Ints | slice) -> Array:
    """Return some rows of features (N, F) scaled to length 1, float32; rows that are all 0 stay so."""
    block = np.asarray(features[rows])
    if block.dtype != np.float64:
        block = block.astype(np.float32, copy=False)
    norms = np.sqrt(np.einsum("nf,nf->n", block, block))[:, None]
    return (block / np.where(norms > 0, norms, 1.0)).astype(np.float32, copy=False)


def blocks(count: int, size: int) -> Iterator[slice]:
    """Yield slices of ``size`` rows that cover ``count`` rows; the last one may be shorter."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def sample_rows(count: int, largest: int, seed: int) -> Ints:
    """Return the positions of at most ``largest`` of ``count`` rows, ascending; a function of seed and count."""
    if count <= largest:
        return np.arange(count)
    order = np.argpartition(rng.hashes(rng.key(seed, "sample"), np.arange(count)), largest)
    return np.sort(order[:largest])


def squared_distances(rows: Array, centres: Array) -> Array:
    """Return the squared distances (len(rows), len(centres)) of float32 rows, by one matrix product.

    Each has a rounding error of about 1e-6 for rows of length 1.
    """
    squared: Array = rows @ centres.T
    squared *= -2.0
    squared += np.einsum("nf,nf->n", rows, rows)[:, None]
    squared += np.einsum("nf,nf->n", centres, centres)
    return np.maximum(squared, 0.0, out=squared)
