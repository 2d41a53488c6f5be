"""``versionspace run`` and ``versionspace resume``: campaigns to their end, and what they found."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from versionspace.cli.words import FAILED, INTERRUPTED, read_names, read_seeds

if TYPE_CHECKING:
    from versionspace.campaign.grid import Run

Jobs = Annotated[
    int, typer.Option(min=0, help="Campaigns at a time, each in its own process; 0: a core each. Changes no result.")
]
AcceptDifferent = Annotated[
    bool,
    typer.Option("--accept-different", help="Go on though torch, numpy or the processor are others than at the start."),
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
    out: Annotated[Path | None, typer.Option(help="The folder; by default runs/ and the preset's name.")] = None,
    accept_different: AcceptDifferent = False,
) -> None:
    """Run campaigns: every method with every seed. The same command again goes on where it was stopped.

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
    )
    _conclude(made)


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A campaign, or a grid of them.")],
    jobs: Jobs = 0,
    accept_different: AcceptDifferent = False,
    images: Annotated[
        Path | None, typer.Option(help="Where the folder of images lies now, if it was moved.", show_default=False)
    ] = None,
) -> None:
    """Go on with campaigns that were stopped, killed, or ran out of disk. A finished one is left as it is.

    Example: versionspace resume runs/first
    """
    from versionspace.campaign import grid

    _conclude(grid.resume(folder, jobs=jobs, accept_different=accept_different, images=images))


def _conclude(made: "Run") -> None:
    from versionspace.cli.summaries import notes, summary, unended

    out, err = Console(highlight=False), Console(stderr=True, highlight=False, soft_wrap=True)
    records = made.campaigns()
    if any(record.ended for record in records):
        out.print(summary(records))
    if records:
        for note in filter(None, [unended(records), *notes(records)]):
            out.print(f"[yellow]note[/] {escape(note)}", soft_wrap=True)
    for folder, why in made.failed.items():
        err.print(f"[bold red]failed[/] {escape(str(folder))}: {escape(why)}")
    if made.stopped:
        err.print(f"Stopped; nothing is lost. Go on with: versionspace resume {escape(str(made.folder))}")
        raise typer.Exit(INTERRUPTED)
    out.print(
        f"\nResults lie in {escape(str(made.folder))}; versionspace status {escape(str(made.folder))} shows them again."
    )
    if made.failed:
        err.print(f"When mended, go on with: versionspace resume {escape(str(made.folder))}")
        raise typer.Exit(FAILED)
