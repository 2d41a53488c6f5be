"""Prior mass: the share of the version space that a label removes.

With s_y the number of members that vote for y on an image:

    Gibbs error      ge(x) = Σ_y (s_y/M)(1 − s_y/M)      the expected share removed
    variation ratio  vr(x) = 1 − max_y s_y/M             the share removed in the worst case
    vote entropy     −Σ_y (s_y/M) ln(s_y/M)              nats

Liu et al. 2020, section 4 (Gibbs error: Cuong et al. 2013; vote entropy: Dagan and Engelson 1995).
"""

import numpy as np

from versionspace.space.beliefs import read_beliefs
from versionspace.space.splits import Splits, split_members
from versionspace.types import ArrayLike, Floats

_FIXED_POINT = 2.0**40
"""Scale at which s·ln s is rounded to an integer. Sums of integers do not depend on their order: equal splits tie."""


def gibbs_error_of(splits: Splits) -> Floats:
    """Return (N,): (M² − Σ s²) / M²."""
    return (splits.members**2 - splits.total(splits.sizes**2)) / splits.members**2


def variation_ratio_of(splits: Splits) -> Floats:
    """Return (N,): (M − max s) / M."""
    return (splits.members - splits.worst(splits.sizes.astype(np.float64))) / splits.members


def vote_entropy_of(splits: Splits) -> Floats:
    """Return (N,): (M ln M − Σ s ln s) / M."""
    s = np.arange(splits.members + 1)
    s_ln_s = np.rint(s * np.log(np.maximum(s, 1)) * _FIXED_POINT).astype(np.int64)
    entropy: Floats = (s_ln_s[-1] - splits.total(s_ln_s[splits.sizes])) / (_FIXED_POINT * splits.members)
    return entropy


def gibbs_error(votes: ArrayLike) -> Floats:
    """Return the Gibbs error of each image, (N,): Σ_y (s_y/M)(1 − s_y/M).

    Votes (M, N) or probabilities (M, N, C). Cost M·N.

    >>> gibbs_error([[0, 0], [0, 1]])
    array([0. , 0.5])
    """
    return gibbs_error_of(split_members(read_beliefs(votes, "votes")))


def variation_ratio(votes: ArrayLike) -> Floats:
    """Return the variation ratio of each image, (N,): 1 − max_y s_y/M.

    Votes (M, N) or probabilities (M, N, C). Cost M·N.

    >>> variation_ratio([[0, 0], [0, 1], [0, 1], [0, 1]])
    array([0.  , 0.25])
    """
    return variation_ratio_of(split_members(read_beliefs(votes, "votes")))
