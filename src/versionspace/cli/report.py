"""``versionspace report``: a page with tables, figures and statistics of any runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from versionspace.errors import InputError

if TYPE_CHECKING:
    from versionspace.report import Table as ReportTable

_PAGE_ONLY = ("vote accuracy", "Gibbs distance", "vote distance")
"""Columns that do not fit on a terminal of 80 characters."""


def report(
    dirs: Annotated[list[Path], typer.Argument(help="Folders of campaigns or grids.")],
    out: Annotated[Path, typer.Option(help="Output folder: new, empty or an earlier report.")] = Path("report"),
    target: Annotated[
        list[float] | None,
        typer.Option(help="Count the labels needed for this accuracy, in percent. Repeatable."),
    ] = None,
    at: Annotated[int | None, typer.Option(help="Compare at this many labels the runs that reached them.")] = None,
    embed: Annotated[
        list[str] | None,
        typer.Option(help="Also map the version space of this run, METHOD or METHOD/SEED. Repeatable."),
    ] = None,
    images: Annotated[
        bool, typer.Option(help="Draw contact sheets of queried images, which reads the dataset.")
    ] = True,
) -> None:
    """Write a page with tables, figures and statistics of any runs.

    Example: versionspace report runs/demo
    """
    from versionspace.report import build, check_output, save

    check_output(out)
    document = build(
        dirs, targets=[_as_share(value) for value in target or ()], at=at, embed=embed or (), images=images
    )
    page = save(document, out)
    console = Console(highlight=False)
    for summary in document.summaries:
        console.print(_terminal_table(summary))
    for note in [*document.notes, *(note for chapter in document.chapters for note in chapter.notes)]:
        console.print(f"[yellow]note[/] {escape(note)}", soft_wrap=True)
    counts = f"{len(document.figures())} figures and {len(document.tables())} tables"
    console.print(f"{counts}: {escape(str(page))}", soft_wrap=True)


def _as_share(percent: float) -> float:
    if not 1 < percent <= 100:
        raise InputError(
            "target", expected="a percentage above 1 and up to 100", got=f"{percent:g}",
            fix="For example --target 95.",
        )  # fmt: skip
    return percent / 100


def _terminal_table(summary: "ReportTable") -> Table:
    from versionspace.report import format_value

    table = Table(
        title=escape(summary.caption), title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="bold"
    )
    kept = [j for j, column in enumerate(summary.columns) if column.title not in _PAGE_ONLY]
    for j in kept:
        title = summary.columns[j].title
        longest = max(len(word) for word in title.split())
        table.add_column(escape(title), justify="right" if j else "left", no_wrap=j == 0, min_width=longest)
    for i, row in enumerate(summary.rows):
        cells = [escape(format_value(row[j], summary.columns[j])) for j in kept]
        table.add_row(*(f"[bold]{c}[/]" if (i, j) in summary.bold else c for j, c in zip(kept, cells, strict=True)))
    return table
