"""The version space on plain arrays: diameters, prior mass, agreement and bias."""

from versionspace.space.agreement import ProjectionDistance, agreement_region, projection_distance, wrong_agreement
from versionspace.space.beliefs import Beliefs, as_array, describe, read_beliefs, vote_dtype
from versionspace.space.diameter import (
    CachedDiameter,
    Diameter,
    disagreement_matrix,
    gibbs_vote_disagreement,
    gvd_over,
    majority_of,
    majority_vote,
    pairwise_disagreement,
    pwd_over,
    read_vote,
)
from versionspace.space.mass import (
    gibbs_error,
    gibbs_error_of,
    variation_ratio,
    variation_ratio_of,
    vote_entropy_of,
)
from versionspace.space.splits import Splits, split_members

__all__ = [
    "Beliefs",
    "CachedDiameter",
    "Diameter",
    "ProjectionDistance",
    "Splits",
    "agreement_region",
    "as_array",
    "describe",
    "disagreement_matrix",
    "gibbs_error",
    "gibbs_error_of",
    "gibbs_vote_disagreement",
    "gvd_over",
    "majority_of",
    "majority_vote",
    "pairwise_disagreement",
    "projection_distance",
    "pwd_over",
    "read_beliefs",
    "read_vote",
    "split_members",
    "variation_ratio",
    "variation_ratio_of",
    "vote_dtype",
    "vote_entropy_of",
    "wrong_agreement",
]
