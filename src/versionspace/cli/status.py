"""``versionspace status``: where campaigns stand, for people and as JSON."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A campaign, or a grid of them.")],
    as_json: Annotated[bool, typer.Option("--json", help="Every round: ids asked, labels, metrics.")] = False,
) -> None:
    """Show labels, accuracy, diameter, wrong agreement and the time left.

    Example: versionspace status runs/demo
    """
    from versionspace.cli.summaries import as_data, notes, order, row
    from versionspace.store.folder import campaigns
    from versionspace.store.record import read

    found = campaigns(folder)
    records = [read(f) for f in found if f.ledger.exists()]
    if as_json:
        typer.echo(json.dumps({"campaigns": [as_data(record) for record in records]}, indent=1, ensure_ascii=False))
        return
    console = Console(highlight=False)
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("method", style="cyan", no_wrap=True)
    for name in ("seed", "round", "labels", "accuracy", "vote", "diameter", "wrong agreement", "fit"):
        table.add_column(name, justify="right", min_width=max(len(name.split()[-1]), 6 if name == "fit" else 0))
    table.add_column("", no_wrap=True)
    for record in sorted(records, key=order):
        table.add_row(*row(record))
    console.print(table)
    for note in notes(records):
        console.print(f"[yellow]note[/] {escape(note)}", soft_wrap=True)
    for path in (f.path for f in found if f.lost()):
        console.print(f"[red]lost[/] the ledger of {escape(str(path))}: put it back from a backup", soft_wrap=True)
    if waiting := sum(not f.ledger.exists() and not f.lost() for f in found):
        console.print(f"[dim]{waiting} more {'has' if waiting == 1 else 'have'} not begun.[/]")
