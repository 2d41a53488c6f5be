"""Ensembles: M networks trained from scratch, as samples of the version space."""

from typing import TYPE_CHECKING, Any

from versionspace.ensemble.training import TRAININGS, Training

if TYPE_CHECKING:
    from versionspace.ensemble.ensemble import Ensemble
    from versionspace.ensemble.fit import History
    from versionspace.ensemble.normalise import Normalisation

__all__ = ["TRAININGS", "Ensemble", "History", "Normalisation", "Training"]


def __getattr__(name: str) -> Any:
    """What needs torch is imported when it is asked for: settings can be read without."""
    match name:
        case "Ensemble":
            from versionspace.ensemble.ensemble import Ensemble as found
        case "History":
            from versionspace.ensemble.fit import History as found  # type: ignore[assignment]
        case "Normalisation":
            from versionspace.ensemble.normalise import Normalisation as found  # type: ignore[assignment]
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
