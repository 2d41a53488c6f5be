"""The version space on plain arrays: diameters, prior mass, agreement and bias."""

from versionspace.space.agreement import ProjectionDistance, agreement_region, projection_distance, wrong_agreement
from versionspace.space.diameter import (
    disagreement_matrix,
    gibbs_vote_disagreement,
    majority_vote,
    pairwise_disagreement,
)
from versionspace.space.mass import gibbs_error, variation_ratio

__all__ = [
    "ProjectionDistance",
    "agreement_region",
    "disagreement_matrix",
    "gibbs_error",
    "gibbs_vote_disagreement",
    "majority_vote",
    "pairwise_disagreement",
    "projection_distance",
    "variation_ratio",
    "wrong_agreement",
]
