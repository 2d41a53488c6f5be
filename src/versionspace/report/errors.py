"""What can go wrong with a report."""

from versionspace.errors import ExplainedError


class ReportError(ExplainedError):
    """A report that cannot be made, or not there.

    >>> raise ReportError("out", expected="an empty folder", got="photos", fix="Choose another with --out.")
    Traceback (most recent call last):
    versionspace.report.errors.ReportError: out: expected an empty folder, got photos. Choose another with --out.
    """
