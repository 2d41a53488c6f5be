"""The command line. Expected errors are printed as one sentence with an exit code, never as a traceback."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from versionspace._version import __version__
from versionspace.cli import campaigns
from versionspace.cli.campaigns import plan, status
from versionspace.cli.data import data
from versionspace.cli.features import features
from versionspace.cli.label import label
from versionspace.cli.methods import methods
from versionspace.cli.models import export, predict
from versionspace.cli.options import INTERRUPTED, REFUSED
from versionspace.cli.report import report
from versionspace.errors import VersionspaceError
from versionspace.extras import EXTRAS, missing_package

app = typer.Typer(
    help="Which images to label next: shrink the set of classifiers that still fit your labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(campaigns.run)
app.command()(label)
app.command()(plan)
app.command()(status)
app.command()(report)
app.command()(campaigns.resume)
app.command()(campaigns.verify)
app.command()(campaigns.backup)
app.command()(export)
app.command()(predict)
app.command()(features)
app.command()(campaigns.presets)
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
    """Run the command line."""
    try:
        app(prog_name="versionspace")
    except VersionspaceError as error:
        _say(str(error))
        sys.exit(REFUSED)
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in EXTRAS:
            raise
        extra = EXTRAS[package]
        _say(str(missing_package(package, error, "run" if extra in ("data", "train") else extra)))  # run has both
        sys.exit(REFUSED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _say(sentence: str) -> None:
    Console(stderr=True, highlight=False).print(f"[bold red]error[/] {escape(sentence)}", soft_wrap=True)
