"""Commands about campaigns: ``run``, ``resume``, ``plan``, ``status``, ``verify``, ``backup`` and ``presets``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from versionspace.cli.options import (
    FAILED,
    INTERRUPTED,
    ClusterAddress,
    ClusterSettings,
    read_cluster,
    read_names,
    read_seeds,
)

if TYPE_CHECKING:
    from versionspace.campaign import Run

Jobs = Annotated[
    int,
    typer.Option(
        min=0, help="Campaigns to run in parallel, each in its own process; 0: one per core. Results are the same."
    ),
]
AcceptDifferent = Annotated[
    bool,
    typer.Option("--accept-different", help="Resume even if torch, NumPy or the CPU changed."),
]


def run(
    config: Annotated[str, typer.Argument(metavar="PRESET|CONFIG.toml", help="See versionspace presets.")],
    methods: Annotated[
        str | None,
        typer.Option(help="For example gvd,pwd,random; see versionspace methods.", show_default=False),
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds, e.g. 0-3 or 0,2,5.", show_default=False)] = None,
    jobs: Jobs = 0,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Output folder (default: runs/PRESET).")] = None,
    accept_different: AcceptDifferent = False,
    cluster: ClusterAddress = None,
    cluster_settings: ClusterSettings = None,
) -> None:
    """Run campaigns: every method with every seed. Run the same command again to resume.

    Example: versionspace run demo --methods gvd,random --seeds 0 --set budget.total=40 --out runs/first
    """
    from versionspace.campaign import grid

    made = grid.run(
        config,
        methods=None if methods is None else read_names(methods),
        seeds=None if seeds is None else read_seeds(seeds),
        out=out,
        jobs=jobs,
        changes=changes or (),
        accept_different=accept_different,
        executor=read_cluster(cluster, cluster_settings, jobs),
    )
    _conclude(made)


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A campaign, or a grid of them.")],
    jobs: Jobs = 0,
    accept_different: AcceptDifferent = False,
    images: Annotated[
        Path | None, typer.Option(help="New location of the folder of images, if it was moved.", show_default=False)
    ] = None,
    cluster: ClusterAddress = None,
    cluster_settings: ClusterSettings = None,
) -> None:
    """Resume campaigns that were stopped or killed, or that ran out of disk space. Finished ones are left unchanged.

    Example: versionspace resume runs/first
    """
    from versionspace.campaign import grid

    executor = read_cluster(cluster, cluster_settings, jobs)
    _conclude(grid.resume(folder, jobs=jobs, accept_different=accept_different, images=images, executor=executor))


def _conclude(made: "Run") -> None:
    from versionspace.cli.summary import notes, summary, unfinished

    out, err = Console(highlight=False), Console(stderr=True, highlight=False, soft_wrap=True)
    records = made.campaigns()
    if any(record.ended for record in records):
        out.print(summary(records))
    if records:
        for note in filter(None, [unfinished(records), *notes(records)]):
            out.print(f"[yellow]note[/] {escape(note)}", soft_wrap=True)
    for folder, why in made.failed.items():
        err.print(f"[bold red]failed[/] {escape(str(folder))}: {escape(why)}")
    if made.stopped:
        err.print(f"Stopped; nothing is lost. Resume with: versionspace resume {escape(str(made.folder))}")
        raise typer.Exit(INTERRUPTED)
    out.print(
        f"\nResults are in {escape(str(made.folder))}. Show them again: versionspace status {escape(str(made.folder))}"
    )
    if made.failed:
        err.print(f"After fixing the problem, resume with: versionspace resume {escape(str(made.folder))}")
        raise typer.Exit(FAILED)


def plan(
    config: Annotated[str, typer.Argument(metavar="PRESET|CONFIG.toml", help="See versionspace presets.")],
    methods: Annotated[str | None, typer.Option(help="For example gvd,pwd,random.", show_default=False)] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds, e.g. 0-3 or 0,2,5.", show_default=False)] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated.")
    ] = None,
) -> None:
    """Estimate time, memory and disk of a run from short fits on this machine.

    Example: versionspace plan demo
    """
    from versionspace.campaign import free_disk
    from versionspace.campaign import plan as measure
    from versionspace.config import read_config
    from versionspace.text import duration

    known = read_config(config, changes or ())
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
    room = "" if free is None else f" of {size(free)} free"
    table.add_row("campaigns", f"{found.campaigns}, each with {found.rounds} rounds")
    if found.labels < known.budget.total:
        table.add_row("labels", f"{found.labels}: the pool has no more (the budget is {known.budget.total})")
    table.add_row(
        "time",
        f"{duration(found.seconds)} if members stop after {found.likely_epochs:.0f} epochs, which is typical; "
        f"{duration(found.most_seconds)} if all of them need {found.most_epochs}",
    )
    for method, seconds in found.by_method.items():
        table.add_row(f"  {method}", f"{duration(seconds)} per campaign")
    table.add_row("memory", f"{size(found.memory)} per campaign that runs in parallel")
    table.add_row("disk", f"{size(found.disk)}{room}")
    out.print(table)
    out.print(
        f"[dim]Measured in {duration(found.measured)} on all cores; other load on this machine affects the estimate.[/]"
    )


def size(number: float) -> str:
    """Return a number of bytes as text.

    >>> size(2_500_000)
    '2.5 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A campaign, or a grid of them.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print every round as JSON.")] = False,
) -> None:
    """Show labels, accuracy, diameter, wrong agreement and remaining time of each campaign.

    Example: versionspace status runs/demo
    """
    from versionspace.cli.summary import as_data, notes, order, row
    from versionspace.store import campaigns, read_campaign

    found = campaigns(folder)
    records = [read_campaign(f) for f in found if f.ledger.exists()]
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
    for path in (f.path for f in found if f.lost_ledger()):
        console.print(f"[red]missing[/] the ledger of {escape(str(path))}: restore it from a backup", soft_wrap=True)
    if waiting := sum(not f.ledger.exists() and not f.lost_ledger() for f in found):
        console.print(f"[dim]{waiting} more {'has' if waiting == 1 else 'have'} not started.[/]")


Dir = Annotated[Path, typer.Argument(metavar="DIR", help="A campaign, or a grid of them.")]


def verify(folder: Dir) -> None:
    """Check that a folder is intact: replay the ledger and verify every file. Changes nothing.

    Example: versionspace verify runs/demo
    """
    from versionspace.store import verify as check

    found = check(folder)
    out = Console(highlight=False, soft_wrap=True)
    bad = {path: problems for path, problems in found.items() if problems}
    for path, problems in bad.items():
        for problem in problems:
            out.print(f"[red]{escape(str(path))}[/]: {escape(problem)}")
    if bad:
        out.print(f"{len(bad)} of {len(found)} campaigns are damaged. Restore them from a backup.")
        raise typer.Exit(FAILED)
    out.print(f"intact: {len(found)} campaign{'s' if len(found) > 1 else ''}")


def backup(folder: Dir, to: Annotated[Path, typer.Argument(metavar="TO", help="A new folder.")]) -> None:
    """Copy a campaign or a grid; safe while it is in use.

    Example: versionspace backup runs/demo backups/demo
    """
    from versionspace.store import backup as copy

    copied = copy(folder, to)
    typer.echo(f"{len(copied)} campaign{'s' if len(copied) > 1 else ''} copied to {to}")


def presets(
    name: Annotated[str | None, typer.Argument(help="Print this preset.", show_default=False)] = None,
) -> None:
    """List the presets, or print one as a starting point for your own config.

    Example: versionspace presets small/mnist > mine.toml
    """
    from versionspace.config import PRESETS, preset_text

    if name is None:
        for preset in PRESETS:
            typer.echo(f"{preset:22}{preset_text(preset).splitlines()[0].lstrip('# ')}")
    else:
        typer.echo(preset_text(name), nl=False)
