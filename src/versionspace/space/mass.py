"""Prior mass: how much of the version space a label would remove.

With s_y the number of members that vote y on an image:

    Gibbs error      ge(x) = Σ_y (s_y/M)(1 − s_y/M)      the expected share removed
    variation ratio  vr(x) = 1 − max_y s_y/M             the share removed at worst
    vote entropy     −Σ_y (s_y/M) ln(s_y/M)              nats

Liu et al. 2020, section 4 (Gibbs error: Cuong et al. 2013; vote entropy: Dagan and Engelson 1995).
"""

import numpy as np

from versionspace.space.beliefs import read
from versionspace.space.splits import Splits, split
from versionspace.types import ArrayLike, Floats

_FIXED = 2.0**40
"""s·ln s is rounded to this fraction: whole numbers add up the same in any order, so that equal splits tie exactly."""


def gibbs_error_of(splits: Splits) -> Floats:
    """(N,): (M² − Σ s²) / M²."""
    return (splits.members**2 - splits.total(splits.sizes**2)) / splits.members**2


def variation_ratio_of(splits: Splits) -> Floats:
    """(N,): (M − max s) / M."""
    return (splits.members - splits.worst(splits.sizes.astype(np.float64))) / splits.members


def vote_entropy_of(splits: Splits) -> Floats:
    """(N,): (M ln M − Σ s ln s) / M."""
    fixed = np.rint(np.arange(splits.members + 1) * np.log(np.maximum(np.arange(splits.members + 1), 1)) * _FIXED)
    table = fixed.astype(np.int64)
    missing: Floats = (table[-1] - splits.total(table[splits.sizes])) / (_FIXED * splits.members)
    return missing


def gibbs_error(votes: ArrayLike) -> Floats:
    """Gibbs error of each image: Σ_y (s_y/M)(1 − s_y/M). Votes (M, N), or probabilities (M, N, C). Cost M·N.

    >>> gibbs_error([[0, 0], [0, 1]])
    array([0. , 0.5])
    """
    return gibbs_error_of(split(read(votes, "votes")))


def variation_ratio(votes: ArrayLike) -> Floats:
    """Variation ratio of each image: 1 − max_y s_y/M. Votes (M, N), or probabilities (M, N, C). Cost M·N.

    >>> variation_ratio([[0, 0], [0, 1], [0, 1], [0, 1]])
    array([0.  , 0.25])
    """
    return variation_ratio_of(split(read(votes, "votes")))
