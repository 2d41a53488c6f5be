"""``versionspace report``: a page with the tables and figures of any runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from versionspace.errors import InputError

if TYPE_CHECKING:
    from versionspace.report.document import Table as Made


_ON_THE_PAGE_ONLY = ("vote's accuracy", "Gibbs distance", "vote distance")
"""A terminal of 80 columns has no room for all of the table."""


def report(
    dirs: Annotated[list[Path], typer.Argument(help="Folders of campaigns, or of grids of them.")],
    out: Annotated[Path, typer.Option(help="The folder to write: new, empty, or an earlier report.")] = Path("report"),
    target: Annotated[
        list[float] | None,
        typer.Option(help="Count the labels to this accuracy, in percent; may be given several times."),
    ] = None,
    at: Annotated[int | None, typer.Option(help="Compare at so many labels the runs that reached them.")] = None,
    embed: Annotated[
        list[str] | None, typer.Option(help="Embed this run too, METHOD or METHOD/SEED; may be given several times.")
    ] = None,
    images: Annotated[bool, typer.Option(help="Draw contact sheets, for which the dataset is read.")] = True,
) -> None:
    """Make a page with the tables, figures and statistics of any runs.

    Example: versionspace report runs/demo
    """
    from versionspace.report import build, save
    from versionspace.report import write as writing

    writing.check(out)
    made = build(dirs, targets=[_share(value) for value in target or ()], at=at, embed=embed or (), images=images)
    page = save(made, out)
    console = Console(highlight=False)
    for summary in made.summaries:
        console.print(_printed(summary))
    for note in [*made.notes, *(note for section in made.sections for note in section.notes)]:
        console.print(f"[yellow]note[/] {escape(note)}", soft_wrap=True)
    console.print(f"{len(made.figures())} figures and {len(made.tables())} tables: {escape(str(page))}", soft_wrap=True)


def _share(percent: float) -> float:
    if not 1 < percent <= 100:
        raise InputError(
            "target", expected="a percentage above 1 and up to 100", got=f"{percent:g}",
            fix="For example --target 95.",
        )  # fmt: skip
    return percent / 100


def _printed(summary: "Made") -> Table:
    from versionspace.report.tables import shown

    table = Table(
        title=escape(summary.caption), title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="bold"
    )
    kept = [j for j, column in enumerate(summary.columns) if column.title not in _ON_THE_PAGE_ONLY]
    for j in kept:
        title = summary.columns[j].title
        longest = max(len(word) for word in title.split())
        table.add_column(escape(title), justify="right" if j else "left", no_wrap=j == 0, min_width=longest)
    for i, row in enumerate(summary.rows):
        cells = [escape(shown(row[j], summary.columns[j])) for j in kept]
        table.add_row(*(f"[bold]{c}[/]" if (i, j) in summary.bold else c for j, c in zip(kept, cells, strict=True)))
    return table
