"""Oracles: who answers when a label is asked for."""

from versionspace.oracle.simulated import Answer, Simulated

__all__ = ["Answer", "Simulated"]
