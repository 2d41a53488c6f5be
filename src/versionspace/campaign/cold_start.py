"""Where no labels are known: images that are unlike each other, by k-centre on simple features."""

import numpy as np

from versionspace.query import query
from versionspace.types import Array, ArrayLike, Floats

_SIDE = 8
_AT_ONCE = 1024
"""Images read in one go."""


def simple_features(images: ArrayLike) -> Floats:
    """(N, F): each image as 8×8 mean colours, each feature with mean 0 and deviation 1 over the images. Cost N·H·W.

    >>> simple_features(np.zeros((3, 20, 30, 3), np.uint8)).shape
    (3, 192)
    """
    n, height, width, channels = images.shape
    rows = np.linspace(0, height, min(_SIDE, height) + 1).astype(int)
    columns = np.linspace(0, width, min(_SIDE, width) + 1).astype(int)
    out = np.empty((n, len(rows) - 1, len(columns) - 1, channels))
    for start in range(0, n, _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        pixels = images[some]
        for i in range(len(rows) - 1):
            for j in range(len(columns) - 1):
                out[some, i, j] = pixels[:, rows[i] : rows[i + 1], columns[j] : columns[j + 1]].mean(axis=(1, 2))
    flat = out.reshape(n, -1)
    deviation = flat.std(axis=0)
    return np.asarray((flat - flat.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), np.float64)


def diverse(features: Floats, ids: Array, asked: Array, k: int, seed: int) -> tuple[Array, Floats]:
    """Ids of the k images farthest from those asked so far and from each other, and their distances."""
    before = np.isin(ids, asked)
    return query(
        "coreset",
        k,
        features=features[~before],
        labelled_features=features[before] if before.any() else None,
        ids=ids[~before],
        seed=seed,
        return_utilities=True,
    )
