"""Reports: the paper's tables and figures from any run, and statistics that say what few seeds cannot show.

find     campaigns of folders            runs.py
group    by dataset and config           groups.py, compared.py
parts    one question each               parts/, on statistics.py and embedding.py, which are pure
draw     figures                         draw/
write    page, figures, tables           page.py, formats.py, writing.py
"""

from versionspace.report.api import build, make, save
from versionspace.report.errors import ReportError

__all__ = ["ReportError", "build", "make", "save"]
