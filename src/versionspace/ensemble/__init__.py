"""Ensembles: M networks trained from scratch, as samples of the version space."""

from versionspace.ensemble.ensemble import Ensemble
from versionspace.ensemble.fit import History
from versionspace.ensemble.normalise import Normalisation
from versionspace.ensemble.training import TRAININGS, Training

__all__ = ["TRAININGS", "Ensemble", "History", "Normalisation", "Training"]
