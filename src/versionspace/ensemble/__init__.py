"""Ensembles: M networks trained from scratch, as samples of the version space."""

import importlib
from typing import TYPE_CHECKING, Any

from versionspace.ensemble.settings import TRAININGS, Training

if TYPE_CHECKING:
    from versionspace.ensemble.ensemble import Ensemble
    from versionspace.ensemble.heads import Heads
    from versionspace.ensemble.normalise import Normalisation
    from versionspace.ensemble.train import History

__all__ = ["TRAININGS", "Ensemble", "Heads", "History", "Normalisation", "Training"]


_PLACES = {"Ensemble": "ensemble", "Heads": "heads", "History": "fit", "Normalisation": "normalise"}


def __getattr__(name: str) -> Any:
    """What needs torch is imported when it is asked for: settings can be read without."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"versionspace.ensemble.{_PLACES[name]}"), name)
