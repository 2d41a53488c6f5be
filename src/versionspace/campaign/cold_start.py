"""The first images to label if no labels are known: k-centre on mean colours, so that they differ from each other."""

import numpy as np

from versionspace.query import query
from versionspace.types import Array, ArrayLike, Floats

_SIDE = 8
_BLOCK = 1024
"""Images read at a time: the pixels of a large folder do not fit into memory."""


def simple_features(images: ArrayLike) -> Floats:
    """Return (N, F) standardised mean colours, F = 8·8·channels. Cost N·H·W.

    >>> simple_features(np.zeros((3, 20, 30, 3), np.uint8)).shape
    (3, 192)
    """
    return standardise(mean_colours(images))


def mean_colours(images: ArrayLike) -> Floats:
    """Return (N, F) features: the mean of each channel in each cell of an 8×8 grid over the image.

    Images with fewer than 8 rows or columns have fewer cells.

    >>> mean_colours(np.full((1, 16, 16, 1), 7, np.uint8))[0, :3]
    array([7., 7., 7.])
    """
    n, height, width, channels = images.shape
    rows = np.linspace(0, height, min(_SIDE, height) + 1).astype(int)
    columns = np.linspace(0, width, min(_SIDE, width) + 1).astype(int)
    cells = np.empty((n, len(rows) - 1, len(columns) - 1, channels))
    for start in range(0, n, _BLOCK):
        block = slice(start, start + _BLOCK)
        pixels = images[block]
        for i in range(len(rows) - 1):
            for j in range(len(columns) - 1):
                cells[block, i, j] = pixels[:, rows[i] : rows[i + 1], columns[j] : columns[j + 1]].mean(axis=(1, 2))
    return cells.reshape(n, -1)


def standardise(features: Floats) -> Floats:
    """Return features with mean 0 and standard deviation 1 over the images; constant features become 0.

    >>> standardise(np.array([[1.0, 5.0], [3.0, 5.0]]))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    deviation = features.std(axis=0)
    centred: Floats = features - features.mean(axis=0)
    centred /= np.where(deviation > 0, deviation, 1.0)
    return centred


def select_diverse(features: Floats, ids: Array, asked: Array, k: int, seed: int) -> tuple[Array, Floats]:
    """Return the ids of the k images farthest from the images asked so far and from each other, and their distances."""
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
