"""Active learning: choose the images to label next by shrinking the set of classifiers that fit the labels.

>>> import numpy as np
>>> import versionspace as vs
>>> rng = np.random.default_rng(0)
>>> pool = rng.dirichlet(np.ones(3), size=(8, 100))        # probabilities of 8 models on 100 images, 3 classes
>>> reference = rng.dirichlet(np.ones(3), size=(8, 50))    # the same models on 50 held-out images
>>> vs.query("gvd", 5, pool=pool, reference=reference, seed=0)
array([64, 41, 13,  6, 51])
"""

from typing import TYPE_CHECKING, Any

from versionspace import stop
from versionspace._version import __version__
from versionspace.classifiers import bootstrap_committee, committee
from versionspace.cluster import cluster
from versionspace.errors import InputError, TieWarning, TrainingError, VersionspaceError
from versionspace.extras import require
from versionspace.query import METHODS, Chosen, Method, Stream, query, register, utilities
from versionspace.space import (
    ProjectionDistance,
    agreement_region,
    disagreement_matrix,
    gibbs_error,
    gibbs_vote_disagreement,
    majority_vote,
    pairwise_disagreement,
    projection_distance,
    variation_ratio,
    wrong_agreement,
)

if TYPE_CHECKING:
    from versionspace.campaign import Campaign, run
    from versionspace.ensemble import Ensemble, Heads, Training
    from versionspace.label import label_folder

__all__ = [
    "METHODS",
    "Campaign",
    "Chosen",
    "Ensemble",
    "Heads",
    "InputError",
    "Method",
    "ProjectionDistance",
    "Stream",
    "TieWarning",
    "Training",
    "TrainingError",
    "VersionspaceError",
    "__version__",
    "agreement_region",
    "bootstrap_committee",
    "cluster",
    "committee",
    "disagreement_matrix",
    "gibbs_error",
    "gibbs_vote_disagreement",
    "label_folder",
    "majority_vote",
    "pairwise_disagreement",
    "projection_distance",
    "query",
    "register",
    "run",
    "stop",
    "utilities",
    "variation_ratio",
    "wrong_agreement",
]


_LAZY = {
    "Ensemble": ("ensemble", "run"), "Heads": ("ensemble", "run"), "Training": ("ensemble", "run"),
    "Campaign": ("campaign", "run"), "run": ("campaign", "run"),
    "label_folder": ("label", "label"),
}  # fmt: skip
"""Public names that need more than NumPy: the module that defines each, and the extra that it requires."""


def __getattr__(name: str) -> Any:
    """Import a public name on first access. Raises `MissingPackageError` if its extra is not installed."""
    if name not in _LAZY:
        raise AttributeError(f"module 'versionspace' has no attribute {name!r}")
    module, extra = _LAZY[name]
    return require(f"versionspace.{module}", extra, attribute=name)
