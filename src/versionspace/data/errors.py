"""What can go wrong with data, as errors with names.

The tree is drawn in versionspace.errors.
"""

from versionspace.errors import ExplainedError


class DataError(ExplainedError):
    """The root of the errors about data.

    >>> raise FormatError("t10k-labels", expected="10000 bytes", got="17 bytes", fix="Fetch the file again.")
    Traceback (most recent call last):
    versionspace.data.errors.FormatError: t10k-labels: expected 10000 bytes, got 17 bytes. Fetch the file again.
    """


class ChecksumError(DataError):
    """A file whose checksum is none of those known for it."""


class FormatError(DataError):
    """A file that is truncated, or is something other than its name says."""


class SourceError(DataError):
    """A source that did not deliver; or, when all were tried, what each of them said."""
