"""The version, in one place: the changelog is held to it by a test."""

__version__ = "0.1.0"
