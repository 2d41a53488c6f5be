"""The commands, and how their errors reach a person: a sentence and an exit code of 2, never a traceback."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from versionspace._version import __version__
from versionspace.cli.data import data
from versionspace.cli.methods import methods
from versionspace.errors import VersionspaceError

app = typer.Typer(
    help="Which images to label next: shrink the set of classifiers that still fit your labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(methods)
app.add_typer(data, name="data")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"versionspace {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Which images to label next: shrink the set of classifiers that still fit your labels."""


def main() -> None:
    """Runs the command line."""
    try:
        app(prog_name="versionspace")
    except VersionspaceError as error:
        Console(stderr=True, highlight=False).print(f"[bold red]error[/] {escape(str(error))}", soft_wrap=True)
        sys.exit(2)
