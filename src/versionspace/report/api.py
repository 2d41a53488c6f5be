"""The way in: folders of runs to a folder with a page."""

from collections.abc import Sequence
from pathlib import Path

from versionspace.report import write as writing
from versionspace.report.assemble import report
from versionspace.report.document import Report
from versionspace.report.options import Options
from versionspace.report.runs import find

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
    """Makes a report of all campaigns in these folders; gives its page, ``out/index.html``.

    targets: accuracies, as shares, to which labels are counted; by default the accuracy that every run of random
    reached. at: compare at so many labels. embed: runs to embed beside the first of random, ``METHOD`` or
    ``METHOD/SEED``. images: whether contact sheets are drawn.

    A report that is there is made anew; a folder that holds anything else is refused.
    """
    place = Path(out)
    writing.check(place)
    return save(build(dirs, targets=targets, at=at, embed=embed, images=images), place)


def build(
    dirs: PathLike | Sequence[PathLike],
    *,
    targets: Sequence[float] = (),
    at: int | None = None,
    embed: Sequence[str] = (),
    images: bool = True,
) -> Report:
    """The report itself, not yet written: sections, tables and figures."""
    options = Options(tuple(targets), at, tuple(embed), images)
    listed = [dirs] if isinstance(dirs, Path | str) else list(dirs)
    return report(find(listed), options)


def save(made: Report, out: PathLike) -> Path:
    """Writes a report into a folder; gives its page."""
    return writing.write(writing.files(made), Path(out))
