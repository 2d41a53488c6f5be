"""Ensembles: M networks trained from scratch, as samples of the version space.

Importing this package does not import torch, so that configs can be read without it.
"""

import importlib
from typing import TYPE_CHECKING, Any

from versionspace.ensemble.settings import (
    PRECOMPUTED,
    SIZES,
    TRAININGS,
    Sizes,
    Training,
    find_recipe,
    read_training,
    sizes,
)

if TYPE_CHECKING:
    from versionspace.ensemble.ensemble import Ensemble
    from versionspace.ensemble.heads import Heads
    from versionspace.ensemble.normalise import Normalisation
    from versionspace.ensemble.predict import Opinions
    from versionspace.ensemble.train import (
        FitJob,
        FittedMembers,
        GroupTrainer,
        Labelled,
        MemberHistory,
        fit_or_retry,
    )

__all__ = [
    "PRECOMPUTED",
    "SIZES",
    "TRAININGS",
    "Ensemble",
    "FitJob",
    "FittedMembers",
    "GroupTrainer",
    "Heads",
    "Labelled",
    "MemberHistory",
    "Normalisation",
    "Opinions",
    "Sizes",
    "Training",
    "find_recipe",
    "fit_or_retry",
    "read_training",
    "sizes",
]


_LAZY = {
    "Ensemble": "ensemble", "Heads": "heads", "MemberHistory": "train", "Normalisation": "normalise",
    "Opinions": "predict", "FitJob": "train", "FittedMembers": "train", "GroupTrainer": "train", "Labelled": "train",
    "fit_or_retry": "train",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what requires torch on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"versionspace.ensemble.{_LAZY[name]}"), name)
