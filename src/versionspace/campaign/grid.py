"""Many campaigns: every method with every seed, one after another or several at a time.

    DIR/grid.toml           the config that they share
    DIR/METHOD/SEED/        one campaign each
    DIR/shared/SEED/        the first ensemble, the same for every method

Nothing here imports torch: the folders are there before the heavy work begins.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from versionspace.campaign.stopping import parse
from versionspace.config import Config, Grid, differences, read, read_text, written
from versionspace.errors import InputError
from versionspace.query.entry import find
from versionspace.store.folder import CONFIG, GRID, SHARED, Folder, campaigns, is_campaign, write
from versionspace.store.record import Record
from versionspace.store.record import read as read_campaign


@dataclass(frozen=True)
class Job:
    """One campaign to be run."""

    folder: Path
    shared: Path | None
    threads: int
    accept_different: bool = False


@dataclass(frozen=True)
class News:
    """What a running campaign tells: rounds as they end, and the stages between."""

    folder: Path
    kind: str
    """"step", "round", "done", "failed" or "stopped"."""
    round: int = 0
    stage: str = ""
    share: float = 0.0
    labels: int = 0
    text: str = ""
    """The error, of a failed one."""


Listener = Callable[[News], None]


@dataclass(frozen=True)
class Run:
    """What `run` made.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = run("demo", methods=["random"], seeds=[0], out=folder, progress=False,
    ...                changes=["ensemble.members=2", "training.epochs=1", "budget.total=20"])
    ...     made.campaigns()[0].ended
    'budget'
    """

    folder: Path
    failed: dict[Path, str]
    """Campaigns that could not go on, and why."""
    stopped: bool = False
    """Whether somebody pressed Ctrl-C."""

    def campaigns(self) -> list[Record]:
        """Every campaign of the folder, as far as it is."""
        return [read_campaign(folder) for folder in campaigns(self.folder) if folder.ledger.exists()]


def run(
    preset_or_config: str | Path | Config,
    *,
    methods: Sequence[str] | None = None,
    seeds: Iterable[int] | None = None,
    out: str | Path | None = None,
    jobs: int = 1,
    changes: Iterable[str] = (),
    progress: bool | Listener | None = None,
    accept_different: bool = False,
) -> Run:
    """Runs campaigns to their end; called again with the same folder, goes on where they are.

    Args:
        preset_or_config: a preset's name, a TOML file, or a `Config`.
        methods: names of query methods; by default those of the config.
        seeds: whole numbers; by default those of the config.
        out: the folder; by default ``runs/`` and the preset's name.
        jobs: campaigns at a time, each in a process of its own from 2 on; 0: one a core. Changes no result.
        changes: such as ``"budget.total=200"``.
        progress: whether to show it, or a function that hears of it.
        accept_different: go on though torch or numpy are of another version than when a campaign began.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = run("demo", methods=["gvd"], seeds=[0], out=folder, progress=False,
    ...                changes=["ensemble.members=2", "training.epochs=1", "budget.total=20"])
    ...     len(made.campaigns())
    1
    """
    config = preset_or_config if isinstance(preset_or_config, Config) else read(preset_or_config, changes)
    folder = Path(out) if out is not None else Path("runs") / (config.preset or "campaign").replace("/", "-")
    chosen = prepare(config, folder, methods, seeds)
    return carry_on(chosen, folder, config, jobs, progress, accept_different)


def resume(
    folder: str | Path, *, jobs: int = 1, progress: bool | Listener | None = None, accept_different: bool = False
) -> Run:
    """Goes on with every campaign of a folder."""
    root = Path(folder)
    found = [c.path for c in campaigns(root)]
    config = read_text((found[0] / CONFIG).read_text(encoding="utf-8"), str(found[0] / CONFIG))
    return carry_on(found, root, config, jobs, progress, accept_different)


def prepare(config: Config, folder: Path, methods: Sequence[str] | None, seeds: Iterable[int] | None) -> list[Path]:
    """Makes the folders of the campaigns; gives them in the order in which they are to be run."""
    from versionspace.campaign.placing import place

    if is_campaign(folder):
        raise InputError(
            str(folder), expected="a folder for a grid of campaigns", got="one campaign",
            fix="Go on with it by `versionspace resume`, or choose another folder with --out.",
        )  # fmt: skip
    if config.oracle.kind == "person":
        raise InputError(
            "oracle.kind", expected="'labels', since nobody is there to answer", got="'person'",
            fix="A person labels with `versionspace label`.",
        )  # fmt: skip
    parse(config.stop.when)
    wanted = tuple(methods) if methods is not None else config.grid.methods or (config.query.method,)
    numbers = tuple(seeds) if seeds is not None else config.grid.seeds or (config.seed,)
    for method in wanted:
        find(method)
    if not wanted or not numbers:
        raise InputError("grid", expected="a method and a seed at least", got="none", fix="Pass --methods and --seeds.")
    known = Config.model_validate(config.model_dump() | {"grid": Grid(methods=wanted, seeds=numbers).model_dump()})
    _place_grid(known, folder)
    # Seeds vary fastest: campaigns that run side by side then rarely wait for the same first ensemble.
    found = []
    for method in dict.fromkeys(wanted):
        for seed in dict.fromkeys(numbers):
            path = folder / method / str(seed)
            place(path, known.campaign(method, seed))
            found.append(path)
    return found


def carry_on(
    folders: Sequence[Path], root: Path, config: Config, jobs: int, progress: bool | Listener | None,
    accept_different: bool,
) -> Run:  # fmt: skip
    """Runs campaigns whose folders are there."""
    from versionspace.campaign import processes, showing

    if jobs < 0:
        raise InputError("jobs", expected="0 or more", got=repr(jobs), fix="0 takes as many as there are cores.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    side_by_side = min(jobs or cores, len(folders))
    threads = config.machine.threads or max(1, cores // side_by_side)
    single = is_campaign(root)
    todo = [
        Job(path, None if single else root / SHARED / path.name, threads, accept_different)
        for path in folders
        if not _ended(path)
    ]
    if todo:
        _bring(config.data.name)
    with showing.shown(folders, progress) as listen:
        return processes.execute(todo, root, side_by_side, listen)


def _bring(name: str) -> None:
    """Fetches a dataset that is not here yet once, before several processes want it."""
    from versionspace.data import DATASETS, fetch, info

    if name in DATASETS and not info(name).cached:
        fetch(name)


def _ended(path: Path) -> bool:
    found = Folder(path)
    return found.ledger.exists() and bool(read_campaign(found).ended)


def _place_grid(config: Config, folder: Path) -> None:
    """grid.toml says what the campaigns share, and which there are; more may come later."""
    path = folder / GRID
    if path.is_file():
        before = read_text(path.read_text(encoding="utf-8"), str(path))
        if changed := differences(before, config, but=("seed", "query.method")):
            raise InputError(
                str(folder), expected="the config that this grid began with", got="; ".join(changed),
                fix="Choose another folder with --out, or go on with `versionspace resume`.",
            )  # fmt: skip
        methods = tuple(dict.fromkeys((*before.grid.methods, *config.grid.methods)))
        seeds = tuple(dict.fromkeys((*before.grid.seeds, *config.grid.seeds)))
        grown = config.model_dump() | {"grid": {"methods": methods, "seeds": seeds}}
        config = Config.model_validate(grown)
        if config == before:
            return
    write(path, written(config).encode())
