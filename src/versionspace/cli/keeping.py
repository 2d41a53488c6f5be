"""``versionspace verify``, ``backup`` and ``presets``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from versionspace.cli.words import FAILED

Dir = Annotated[Path, typer.Argument(metavar="DIR", help="A campaign, or a grid of them.")]


def verify(folder: Dir) -> None:
    """Replay the ledger and check every file: say whether the folder is whole. Changes nothing.

    Example: versionspace verify runs/demo
    """
    from versionspace.store.verify import verify as check

    found = check(folder)
    out = Console(highlight=False, soft_wrap=True)
    bad = {path: problems for path, problems in found.items() if problems}
    for path, problems in bad.items():
        for problem in problems:
            out.print(f"[red]{escape(str(path))}[/]: {escape(problem)}")
    if bad:
        out.print(f"{len(bad)} of {len(found)} campaigns are not whole. Go back to a backup of these.")
        raise typer.Exit(FAILED)
    out.print(f"whole: {len(found)} campaign{'s' if len(found) > 1 else ''}")


def backup(folder: Dir, to: Annotated[Path, typer.Argument(metavar="TO", help="A new folder.")]) -> None:
    """Copy a campaign, or a grid, safely while it is in use.

    Example: versionspace backup runs/demo backups/demo
    """
    from versionspace.store.backup import backup as copy

    copied = copy(folder, to)
    typer.echo(f"{len(copied)} campaign{'s' if len(copied) > 1 else ''} copied to {to}")


def presets(
    name: Annotated[str | None, typer.Argument(help="Show this one.", show_default=False)] = None,
) -> None:
    """List the configs that come with versionspace, or print one to start your own from.

    Example: versionspace presets small/mnist > mine.toml
    """
    from versionspace.config import PRESETS, preset_text

    if name is None:
        for preset in PRESETS:
            typer.echo(f"{preset:22}{preset_text(preset).splitlines()[0].lstrip('# ')}")
    else:
        typer.echo(preset_text(name), nl=False)
