"""TypiClust: the most typical image of each of the largest clusters without a label (Hacohen et al. 2022).

    typicality(x) = 1 / mean distance of x to its NEIGHBOURS nearest images of the same cluster

k-means divides pool and labelled images into L + k clusters, at most `CLUSTERS`. They are visited in order, those with
the fewest labelled images first and the largest of these first; clusters of fewer than `SMALLEST` images come last. Of
each cluster the most typical image is taken, among those of the pool that are not taken yet. After the last cluster the
visits begin again with the first. Features are scaled to length 1.
"""

from collections import deque

import numpy as np

from versionspace import rng
from versionspace.query.inputs import Problem
from versionspace.query.kmeans import fit_centres, nearest_centres
from versionspace.query.ranking import Selection
from versionspace.query.unit_rows import blocks, sample_rows, squared_distances, unit_rows
from versionspace.types import Floats, Ints

CLUSTERS, SMALLEST, NEIGHBOURS = 500, 5, 20
FITTED = 20_000
"""Largest number of pool images from which the centres of the clusters are computed."""
LARGEST = 5_000
"""Of a cluster with more images than this, a random sample is considered, so that the cost is linear in N."""
_ELEMENTS = 1 << 22
"""Approximate number of elements in a temporary array."""
_NONE = 1e-5
"""Added to mean distances, so that the typicality of copies is finite."""


def first_typicality(problem: Problem) -> Floats:
    """Return the utilities of typiclust in a query of one image: typicality in the first cluster, 0 elsewhere."""
    first = _visited_clusters(problem, 1)[0][0]
    scores = np.zeros(problem.images)
    scores[first] = _typicality(problem, first)
    return scores


def choose_typiclust(problem: Problem, k: int) -> Selection:
    """Choose k images by TypiClust. A larger k makes smaller clusters, so the choices for two k are not nested.

    Cost of `fit_centres`, N·clusters·F, and s²·F for each pick in a cluster of s images, s at most `LARGEST`.
    """
    ties = problem.tie_hashes()
    indices: list[int] = []
    utilities: list[float] = []
    for clusters in _visited_clusters(problem, k):
        waiting = deque(clusters)
        while waiting and len(indices) < k:
            images = waiting.popleft()
            typicality = _typicality(problem, images)
            tied = images[typicality == typicality.max()]
            chosen = int(tied[np.argmin(ties[tied])])
            indices.append(chosen)
            utilities.append(float(typicality.max()))
            if len(images) > 1:
                waiting.append(images[images != chosen])
    return Selection(np.array(indices), np.array(utilities))


def _visited_clusters(problem: Problem, k: int) -> list[list[Ints]]:
    """Return the pool images of each cluster that has any, in the order of visits: large clusters, then small ones."""
    assert problem.features is not None
    features, seed = problem.features, rng.key(problem.seed, "typiclust")
    labelled = features[:0] if problem.labelled is None else problem.labelled
    fitted = unit_rows(features, sample_rows(len(features), FITTED, seed))
    known = unit_rows(labelled, slice(None))
    centres = fit_centres(np.concatenate([fitted, known]), min(len(labelled) + k, CLUSTERS), seed)
    cluster = nearest_centres(features, centres)
    labels = np.bincount(nearest_centres(labelled, centres), minlength=len(centres))
    sizes = np.bincount(cluster, minlength=len(centres)) + labels
    visits: list[list[Ints]] = [[], []]
    for c in np.lexsort((-sizes, labels)):
        images = np.flatnonzero(cluster == c)
        if len(images):
            visits[int(sizes[c] < SMALLEST)].append(images)
    return [clusters for clusters in visits if clusters]


def _typicality(problem: Problem, images: Ints) -> Floats:
    """Return the typicality of these images of one cluster; 0 for those that are not considered, or if alone.

    A product finds the nearest neighbours; their distances are then computed from differences.
    """
    assert problem.features is not None
    considered = sample_rows(len(images), LARGEST, rng.key(problem.seed, "cluster"))
    points = unit_rows(problem.features, images[considered])
    neighbours = min(NEIGHBOURS, len(points) // 2)
    typicality = np.zeros(len(images))
    if neighbours == 0:
        return typicality
    for some in blocks(len(points), max(1, _ELEMENTS // max(len(points), neighbours * points.shape[1]))):
        squared = squared_distances(points[some], points)
        squared[np.arange(len(squared)), np.arange(some.start, some.stop)] = np.inf
        nearest = np.argpartition(squared, neighbours - 1, axis=1)[:, :neighbours]
        gap = points[nearest] - points[some, None]
        distances = np.sqrt(np.einsum("nkf,nkf->nk", gap, gap, dtype=np.float64))
        typicality[considered[some]] = 1.0 / (distances.mean(axis=1) + _NONE)
    return typicality
