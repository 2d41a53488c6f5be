"""Errors of this package."""

from versionspace.errors import ExplainedError


class ReportError(ExplainedError):
    """No report can be made from these runs, or written to this folder.

    >>> raise ReportError("out", expected="an empty folder", got="photos", fix="Choose another with --out.")
    Traceback (most recent call last):
    versionspace.report.errors.ReportError: out: expected an empty folder, got photos. Choose another with --out.
    """
