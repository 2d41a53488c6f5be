"""``versionspace plan``: time, memory and disk, before they are spent."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from versionspace.cli.words import read_names, read_seeds


def plan(
    config: Annotated[str, typer.Argument(metavar="PRESET|CONFIG.toml", help="See versionspace presets.")],
    methods: Annotated[str | None, typer.Option(help="For example gvd,pwd,random.", show_default=False)] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds, e.g. 0-3 or 0,2,5.", show_default=False)] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated.")
    ] = None,
) -> None:
    """Measure short fits on this machine, and say what the whole run would take.

    Example: versionspace plan demo
    """
    from versionspace.campaign.planning import free_disk
    from versionspace.campaign.planning import plan as measure
    from versionspace.campaign.showing import duration
    from versionspace.config import read

    known = read(config, changes or ())
    found = measure(
        known,
        None if methods is None else read_names(methods),
        None if seeds is None else read_seeds(seeds),
    )
    out = Console(highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    free = free_disk(Path("runs"))
    room = "" if free is None else f", {size(free)} are free"
    table.add_row("campaigns", f"{found.campaigns}, each {found.rounds} rounds of fitting all members")
    if found.labels < known.budget.total:
        table.add_row("labels", f"{found.labels}, all that the pool has; the budget would be {known.budget.total}")
    table.add_row(
        "time",
        f"{duration(found.seconds)} if members stop after {found.likely_epochs:.0f} epochs, as they did elsewhere; "
        f"{duration(found.most_seconds)} if all need {found.most_epochs}",
    )
    for method, seconds in found.by_method.items():
        table.add_row(f"  {method}", f"{duration(seconds)} for one campaign")
    table.add_row("memory", f"{size(found.memory)} for each campaign at a time")
    table.add_row("disk", f"{size(found.disk)}{room}")
    out.print(table)
    out.print(f"[dim]Measured here in {duration(found.measured)}, on all cores; other work on the machine counts.[/]")


def size(number: float) -> str:
    """Bytes as people read them.

    >>> size(2_500_000)
    '2.5 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"
