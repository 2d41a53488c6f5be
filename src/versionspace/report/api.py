"""The public functions: from campaign folders to a report on disk."""

from collections.abc import Sequence
from pathlib import Path

from versionspace.report.assemble import assemble
from versionspace.report.document import Document
from versionspace.report.options import ReportOptions
from versionspace.report.runs import load_runs
from versionspace.report.write import check_output, render_files, write_files

PathLike = Path | str


def make(
    dirs: PathLike | Sequence[PathLike],
    out: PathLike = "report",
    *,
    targets: Sequence[float] = (),
    at: int | None = None,
    embed: Sequence[str] = (),
    images: bool = True,
) -> Path:
    """Write a report on all campaigns in these folders and return the path of its page, ``out/index.html``.

    targets: accuracies, as shares, to which labels are counted; by default the accuracy that every run of random
    reached. at: compare the runs that reached this many labels, there. embed: runs to map in addition to the first run
    of random, ``METHOD`` or ``METHOD/SEED``. images: whether to draw contact sheets.

    An existing report in ``out`` is replaced. Raises `ReportError` if the folder contains anything else.
    """
    check_output(out)
    return save(build(dirs, targets=targets, at=at, embed=embed, images=images), out)


def build(
    dirs: PathLike | Sequence[PathLike],
    *,
    targets: Sequence[float] = (),
    at: int | None = None,
    embed: Sequence[str] = (),
    images: bool = True,
) -> Document:
    """Return the report without writing it: chapters, tables and figures. Takes the options of `make`."""
    options = ReportOptions(tuple(targets), at, tuple(embed), images)
    listed = [dirs] if isinstance(dirs, Path | str) else list(dirs)
    return assemble(load_runs(listed), options)


def save(document: Document, out: PathLike) -> Path:
    """Write a report to a folder and return the path of its page. Raises `ReportError` as `make` does."""
    return write_files(render_files(document), out)
