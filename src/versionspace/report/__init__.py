"""Reports: the paper's tables and figures from any runs, with statistics that say what few seeds cannot show.

    load      campaigns from folders                     runs
    group     by dataset and config                      groups, compare
    assemble  chapters of sections, tables and figures   assemble, sections/, plots/, document
    write     the page, figures and tables               html, tables, write

`statistics` and `mds` are pure functions of arrays; `paper` holds the published results.
"""

from versionspace.report import statistics
from versionspace.report.api import build, make, save
from versionspace.report.document import Document, Table
from versionspace.report.errors import ReportError
from versionspace.report.paper import METHOD_GROUPS, PAPER
from versionspace.report.plots.lines import Curve, Panel, line_figure
from versionspace.report.plots.style import method_label, method_style
from versionspace.report.tables import format_value
from versionspace.report.write import check_output

__all__ = [
    "METHOD_GROUPS",
    "PAPER",
    "Curve",
    "Document",
    "Panel",
    "ReportError",
    "Table",
    "build",
    "check_output",
    "format_value",
    "line_figure",
    "make",
    "method_label",
    "method_style",
    "save",
    "statistics",
]
