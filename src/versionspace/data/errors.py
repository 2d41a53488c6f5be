"""Errors about datasets and image folders. `versionspace.errors` shows the whole hierarchy."""

from versionspace.errors import ExplainedError


class DataError(ExplainedError):
    """Base class of errors about datasets.

    >>> raise FormatError("t10k-labels", expected="10000 bytes", got="17 bytes", fix="Fetch the file again.")
    Traceback (most recent call last):
    versionspace.data.errors.FormatError: t10k-labels: expected 10000 bytes, got 17 bytes. Fetch the file again.
    """


class ChecksumError(DataError):
    """A file's checksum matches none of the known ones."""


class FormatError(DataError):
    """A file is truncated or not in the expected format."""


class SourceError(DataError):
    """A source could not deliver a dataset, or none of its sources could."""
