"""Many campaigns: every method with every seed, one after another or several at a time.

    DIR/grid.toml           the config that they share
    DIR/METHOD/SEED/        one campaign each
    DIR/shared/SEED/        the first ensemble, the same for every method

Nothing here imports torch: what cannot be run is refused, and the folders are there, before the heavy work begins.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from versionspace.campaign.setup import bring, check, moved, prepare
from versionspace.config import Config, read_config, to_toml, with_changes
from versionspace.errors import InputError
from versionspace.machine import cores
from versionspace.store import (
    CONFIG,
    GRID,
    SHARED,
    CampaignFolder,
    Record,
    campaigns,
    is_campaign,
    read_campaign,
    read_stored_config,
    write_file,
)


@dataclass(frozen=True)
class Job:
    """One campaign to be run."""

    folder: Path
    shared: Path | None
    threads: int
    accept_different: bool = False
    images: Path | None = None


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
        changes: such as ``"budget.total=200"``, to a preset, a file or a `Config`.
        progress: whether to show it, or a function that hears of it.
        accept_different: go on though torch, numpy or the processor are others than when a campaign began.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = run("demo", methods=["gvd"], seeds=[0], out=folder, progress=False,
    ...                changes=["ensemble.members=2", "training.epochs=1", "budget.total=20"])
    ...     len(made.campaigns())
    1
    """
    _refuse_negative(jobs)
    changes = list(changes)
    if not isinstance(preset_or_config, Config):
        config = read_config(preset_or_config, changes)
    else:
        config = with_changes(preset_or_config, changes) if changes else preset_or_config
    folder = Path(out) if out is not None else Path("runs") / (config.preset or "campaign").replace("/", "-")
    chosen = prepare(config, folder, methods, seeds)
    return carry_on(chosen, folder, config, jobs, progress, accept_different)


def resume(
    folder: str | Path, *, jobs: int = 1, progress: bool | Listener | None = None, accept_different: bool = False,
    images: str | Path | None = None,
) -> Run:  # fmt: skip
    """Goes on with every campaign of a folder; ``images``: where their folder of images lies now, if it was moved."""
    _refuse_negative(jobs)
    root, place = Path(folder), None if images is None else Path(images)
    found = {c.path: read_stored_config(c.path / CONFIG) for c in campaigns(root)}
    if people := [path for path, config in found.items() if config.oracle.kind == "person"]:
        raise InputError(
            str(people[0]), expected="a campaign with known labels", got="one that a person labels",
            fix=f"Go on with `versionspace label --campaign {people[0]}`.",
        )  # fmt: skip
    if place is not None:
        found = {path: moved(config, place) for path, config in found.items()}
    check(found)
    made = carry_on(list(found), root, next(iter(found.values())), jobs, progress, accept_different, place)
    if place is not None and not made.failed:
        _moved(root, list(found), place)
    return made


def _moved(root: Path, folders: Sequence[Path], images: Path) -> None:
    """Campaigns that had ended look there, too, and so do those that are added to the grid."""
    from versionspace.campaign.campaign import Campaign

    for path in folders:
        if read_stored_config(path / CONFIG) != moved(read_stored_config(path / CONFIG), images):
            Campaign.open(path, images=images).close()
    if (root / GRID).is_file():
        write_file(root / GRID, to_toml(moved(read_stored_config(root / GRID), images)).encode())


def carry_on(
    folders: Sequence[Path], root: Path, config: Config, jobs: int, progress: bool | Listener | None,
    accept_different: bool, images: Path | None = None,
) -> Run:  # fmt: skip
    """Runs campaigns whose folders are there."""
    from versionspace.campaign import local_executor
    from versionspace.campaign.progress import display

    side_by_side = min(jobs or cores(), len(folders))
    threads = config.machine.threads or max(1, cores() // side_by_side)
    single = is_campaign(root)
    todo = [
        Job(path, None if single else root / SHARED / path.name, threads, accept_different, images)
        for path in folders
        if not _ended(path)
    ]
    if todo:
        bring(config.data.name)
    with display(folders, progress) as listen:
        return local_executor.execute(todo, root, side_by_side, listen)


def _ended(path: Path) -> bool:
    found = CampaignFolder(path)
    return found.ledger.exists() and bool(read_campaign(found).ended)


def _refuse_negative(jobs: int) -> None:
    if jobs < 0:
        raise InputError("jobs", expected="0 or more", got=repr(jobs), fix="0 takes as many as there are cores.")
