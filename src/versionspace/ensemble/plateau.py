"""When a member's learning rate falls, and when it stops."""

from dataclasses import dataclass, replace

from versionspace.ensemble.training import Training

_LEAST_FALL = 1e-3
"""A training loss must fall by this share of itself to count as better."""
_ROUNDING = 1e-9
"""1e-2 · 0.1 · 0.1 is not quite 1e-4 in floating point; it is not below it either."""


@dataclass(frozen=True)
class Plateau:
    """One member's state."""

    rate: float
    best: float | None = None
    """Fewest validation mistakes, or lowest training loss, so far: lower is better."""
    waited: int = 0
    """Epochs since it improved, or since the rate last fell."""
    stopped: bool = False

    def after(self, value: float, training: Training) -> "Plateau":
        """The state after an epoch that ended with this many mistakes, or this loss."""
        least = _LEAST_FALL if training.watch == "training loss" else 0.0
        if self.best is None or value < self.best * (1.0 - least):
            return replace(self, best=value, waited=0)
        if self.waited + 1 < training.patience:
            return replace(self, waited=self.waited + 1)
        rate = self.rate * training.decay
        return replace(self, rate=rate, waited=0, stopped=rate < training.floor * (1.0 - _ROUNDING))
