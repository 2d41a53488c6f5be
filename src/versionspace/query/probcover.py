"""ProbCover: the images whose balls contain most images that no labelled image's ball contains (Yehuda et al. 2022).

    u(x̃) = share of the images x with ‖x − x̃‖ < r that are not within r of a labelled or chosen image

Features are scaled to length 1. The radius r is the largest for which at least `PURITY` of the balls contain images of
one class only, with the clusters of k-means in place of classes: as many as the problem has classes.

This is maxherding with a kernel of 1 within the radius and 0 outside, and computed in the same way: the share is over
at most `versionspace.query.coverage.SAMPLE` images of the pool, and the graph of balls is never stored.
"""

import numpy as np

from versionspace import rng
from versionspace.query import coverage
from versionspace.query.cover import Ball, Cover
from versionspace.query.greedy_cover import choose_greedily
from versionspace.query.inputs import Problem
from versionspace.query.kmeans import fit_centres, nearest_centres
from versionspace.query.ranking import Selection
from versionspace.query.unit_rows import blocks, sample_rows, squared_distances, unit_rows
from versionspace.types import Array, Floats, Ints

PURITY = 0.95
CLASSES = 10
"""Number of clusters if the number of classes is unknown."""
_ROWS = 1_024
"""Images of the sample whose distances to the whole sample are computed at once."""
_BELOW = 0.9999
"""Keeps the image at the distance of the radius outside, whatever the rounding error of its distance."""


def ball_share(problem: Problem) -> Floats:
    """Return the utilities of probcover at the first step. Cost N·(T + L)·F and that of `purity_radius`."""
    return _cover(problem).gains(np.arange(problem.images))


def choose_probcover(problem: Problem, k: int) -> Selection:
    """Choose k images by ProbCover. Cost N·(T + L)·F, then about N·T·ln k; see `choose_greedily`."""
    return choose_greedily(_cover(problem), problem.images, k, problem.tie_hashes())


def purity_radius(sample: Array, classes: Ints) -> float:
    """Return the largest radius at which the balls around `PURITY` of the sample contain images of one class only.

    A ball becomes impure at the distance of the nearest image of another class, so the radius is just below a quantile
    of these distances; infinite if all images are of one class. Cost T²·F.

    Args:
        sample: (T, F), float32 of length 1.
        classes: of the sample, (T,).
    """
    nearest = np.empty(len(sample))
    for some in blocks(len(sample), _ROWS):
        squared = squared_distances(sample[some], sample)
        squared[classes[some, None] == classes] = np.inf
        nearest[some] = squared.min(axis=1)
    impure = min(int((1.0 - PURITY) * len(sample) + 1e-9), len(sample) - 1)
    return float(np.sqrt(np.partition(nearest, impure)[impure])) * _BELOW


def _cover(problem: Problem) -> Cover:
    assert problem.features is not None
    features, seed = problem.features, rng.key(problem.seed, "coverage")
    labelled = features[:0] if problem.labelled is None else problem.labelled
    positions = sample_rows(len(features), coverage.SAMPLE, seed)
    sample = unit_rows(features, positions)
    clusters = nearest_centres(sample, fit_centres(sample, problem.classes or CLASSES, seed))
    kernel = Ball(purity_radius(sample, clusters))
    return Cover(features, labelled, positions, np.ones(len(positions)), kernel)
