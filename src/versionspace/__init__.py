"""versionspace: which images to label next, by shrinking the set of classifiers that still fit your labels.

>>> import numpy as np
>>> import versionspace as vs
>>> rng = np.random.default_rng(0)
>>> pool = rng.dirichlet(np.ones(3), size=(8, 100))        # your 8 models' probabilities on 100 images, 3 classes
>>> reference = rng.dirichlet(np.ones(3), size=(8, 50))    # and on 50 held-out images
>>> vs.query("gvd", 5, pool=pool, reference=reference, seed=0)
array([64, 41, 13,  6, 51])
"""

import importlib
from typing import TYPE_CHECKING, Any

from versionspace._version import __version__
from versionspace.errors import InputError, TrainingError, VersionspaceError
from versionspace.query import METHODS, Stream, query, utilities
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
    from versionspace.ensemble import Ensemble, Training
    from versionspace.label.create import label_folder

__all__ = [
    "METHODS",
    "Campaign",
    "Ensemble",
    "InputError",
    "ProjectionDistance",
    "Stream",
    "Training",
    "TrainingError",
    "VersionspaceError",
    "__version__",
    "agreement_region",
    "disagreement_matrix",
    "gibbs_error",
    "gibbs_vote_disagreement",
    "label_folder",
    "majority_vote",
    "pairwise_disagreement",
    "projection_distance",
    "query",
    "run",
    "utilities",
    "variation_ratio",
    "wrong_agreement",
]


_ELSEWHERE = {
    "Ensemble": "ensemble", "Training": "ensemble", "Campaign": "campaign", "run": "campaign",
    "label_folder": "label.create",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """What needs more than NumPy is imported when it is asked for."""
    if name not in _ELSEWHERE:
        raise AttributeError(f"module 'versionspace' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"versionspace.{_ELSEWHERE[name]}"), name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"versionspace.{name} needs {error.name}, which is not installed: pip install 'versionspace[run]'"
        ) from error
