"""Oracles answer a campaign's requests for labels: the `Oracle` protocol and `Simulated`, which implements it."""

from versionspace.oracle.base import Oracle
from versionspace.oracle.simulated import Answer, Simulated

__all__ = ["Answer", "Oracle", "Simulated"]
