"""k-means clusters of features scaled to length 1.

Centres start by greedy k-means++ seeding (Arthur and Vassilvitskii 2007) and move by Lloyd's algorithm.
"""

import numpy as np

from versionspace import rng
from versionspace.query.unit_rows import blocks, squared_distances, unit_rows
from versionspace.types import Array, Floats, Ints

ITERATIONS = 50
"""Largest number of times that the centres move."""
_ROWS = 2_048
"""Rows whose distances to all centres are computed at once."""
_COPY = 1e-6
"""Largest squared distance between rows that count as copies: the rounding error of distances."""


def fit_centres(points: Array, clusters: int, seed: int) -> Array:
    """Return the centres of clusters of the points (N, F), float32 of length 1: at most as many rows as clusters.

    There are fewer if fewer points are distinct. Cost N·clusters·F for each of up to `ITERATIONS` iterations.
    """
    centres = _seed_centres(points, clusters, rng.generator(seed, "kmeans++"))
    before: Ints | None = None
    for _ in range(ITERATIONS):
        nearest = nearest_centres(points, centres)
        if before is not None and np.array_equal(nearest, before):
            break
        centres, before = _means(points, nearest, centres), nearest
    return centres


def nearest_centres(features: Array, centres: Array) -> Ints:
    """Return the nearest centre of each row of features, scaled to length 1; int64 (N,). Cost N·clusters·F.

    Of several equally near, it is the first. Rows are read in blocks.
    """
    nearest = np.empty(len(features), np.int64)
    for some in blocks(len(features), _ROWS):
        nearest[some] = squared_distances(unit_rows(features, some), centres).argmin(axis=1)
    return nearest


def _seed_centres(points: Array, clusters: int, generator: np.random.Generator) -> Array:
    """Return up to ``clusters`` points: the first at random, each other the best of several drawn ∝ D².

    D² is the squared distance to the nearest centre before; the best of 2 + ln clusters points reduces its sum most.
    """
    chosen = [int(generator.integers(len(points)))]
    squared = _squared_gaps(points, points[chosen])[:, 0]
    trials = 2 + int(np.log(clusters))
    while len(chosen) < clusters and squared.any():
        cumulative = np.cumsum(squared)
        drawn = np.searchsorted(cumulative, generator.random(trials) * cumulative[-1], side="right")
        drawn = np.minimum(drawn, np.flatnonzero(squared)[-1])  # rounding may lead past the last point
        left = np.minimum(squared[:, None], _squared_gaps(points, points[drawn]))
        best = int(left.sum(axis=0).argmin())
        chosen.append(int(drawn[best]))
        squared = left[:, best]
    return points[chosen]


def _squared_gaps(points: Array, centres: Array) -> Floats:
    """Return squared distances (N, centres) in float64; those between copies are 0."""
    squared = squared_distances(points, centres).astype(np.float64)
    squared[squared <= _COPY] = 0.0
    return squared


def _means(points: Array, nearest: Ints, centres: Array) -> Array:
    """Return the mean of the rows of each cluster; a cluster without rows keeps its centre."""
    sizes = np.bincount(nearest, minlength=len(centres))
    order = np.argsort(nearest, kind="stable")
    used = np.flatnonzero(sizes)
    starts = np.concatenate([[0], np.cumsum(sizes[used])[:-1]])
    moved = centres.copy()
    moved[used] = np.add.reduceat(points[order], starts, axis=0) / sizes[used, None]
    return moved
