"""The first images to label if no labels are known: those that cover the pool best, since there is no model to ask."""

import math

import numpy as np

from versionspace.campaign.image_features import ImageFeatures
from versionspace.campaign.query_threads import one_blas_thread
from versionspace.config import Config
from versionspace.query import TABLE, query
from versionspace.types import Array, ArrayLike, Floats

SHARE = 0.15
"""The largest share of the budget that a cold start takes by default."""


def cold_start_size(config: Config, classes: int, budget: int) -> int:
    """Return the number of labels before the first model: the config's, or two for each class if the budget allows.

    >>> from versionspace.config import read_config
    >>> config = read_config("demo")
    >>> cold_start_size(config, 10, 1000), cold_start_size(config, 10, 40)
    (20, 6)
    """
    return config.cold_start.size or max(2, min(2 * classes, math.ceil(SHARE * budget)))


def choose_first(
    config: Config, features: ImageFeatures, ids: Array, asked: Array, k: int, seed: int
) -> tuple[Array, Floats]:
    """Return the ids of k images to label first, and their utilities, given the images that were asked before."""
    method = TABLE[config.cold_start.method]
    inputs: dict[str, ArrayLike] = {}
    if method.features:
        inputs["features"] = features.of(ids)
        if method.labelled and len(asked):
            inputs["labelled_features"] = features.of(asked)
    with one_blas_thread():
        # Positions as ids: ties are ordered by the position among these images.
        chosen = query(method.name, k, ids=np.arange(len(ids)), seed=seed, return_record=True, **inputs)
    return ids[chosen.positions], chosen.utilities
