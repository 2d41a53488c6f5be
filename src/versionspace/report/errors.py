"""What can go wrong with a report."""

import importlib
from typing import Any

from versionspace.errors import ExplainedError


class ReportError(ExplainedError):
    """A report that cannot be made, or not there.

    >>> raise ReportError("out", expected="an empty folder", got="photos", fix="Choose another with --out.")
    Traceback (most recent call last):
    versionspace.report.errors.ReportError: out: expected an empty folder, got photos. Choose another with --out.
    """


def needed(module: str) -> Any:
    """Imports a module of the optional extra ``report``, or says how to install it.

    >>> needed("statistics_of_tomorrow")
    Traceback (most recent call last):
    versionspace.report.errors.ReportError: statistics_of_tomorrow: expected this Python package to be installed,
    got No module named 'statistics_of_tomorrow'. Install what reports need: pip install 'versionspace[report]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ReportError(
            module.partition(".")[0],
            expected="this Python package to be installed",
            got=str(error),
            fix="Install what reports need: pip install 'versionspace[report]'",
        ) from error
