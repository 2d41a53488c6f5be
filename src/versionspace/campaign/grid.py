"""Many campaigns: every method with every seed, one after another or several at a time.

    DIR/grid.toml           the config that they share
    DIR/METHOD/SEED/        one campaign each
    DIR/shared/SEED/        the first ensemble, the same for every method

Nothing here imports torch: what cannot be run is refused, and the folders are there, before the heavy work begins.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from versionspace.campaign.jobs import Executor, Job, Listener, Run
from versionspace.campaign.local_executor import LocalExecutor
from versionspace.campaign.progress import display
from versionspace.campaign.setup import bring, check, moved, prepare
from versionspace.config import Config, answered_by_person, changed, read, written
from versionspace.errors import InputError
from versionspace.machine import cores
from versionspace.store.layout import CONFIG, GRID, SHARED, Folder, campaigns, is_campaign, read_config, write
from versionspace.store.record import read as read_campaign


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
    executor: Executor | None = None,
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
        executor: what runs the campaigns, see `versionspace.campaign.Executor`; by default this machine, which runs
            ``jobs`` at a time.

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
        config = read(preset_or_config, changes)
    else:
        config = changed(preset_or_config, changes) if changes else preset_or_config
    folder = Path(out) if out is not None else Path("runs") / (config.preset or "campaign").replace("/", "-")
    chosen = prepare(config, folder, methods, seeds)
    return carry_on(chosen, folder, config, jobs, progress, accept_different, executor=executor)


def resume(
    folder: str | Path, *, jobs: int = 1, progress: bool | Listener | None = None, accept_different: bool = False,
    images: str | Path | None = None, executor: Executor | None = None,
) -> Run:  # fmt: skip
    """Goes on with every campaign of a folder; ``images``: where their folder of images lies now, if it was moved."""
    _refuse_negative(jobs)
    root, place = Path(folder), None if images is None else Path(images)
    found = {c.path: read_config(c.path / CONFIG) for c in campaigns(root)}
    if people := [path for path, config in found.items() if answered_by_person(config)]:
        raise InputError(
            str(people[0]), expected="a campaign with known labels", got="one that a person labels",
            fix=f"Go on with `versionspace label --campaign {people[0]}`.",
        )  # fmt: skip
    if place is not None:
        found = {path: moved(config, place) for path, config in found.items()}
    check(found)
    first = next(iter(found.values()))
    made = carry_on(list(found), root, first, jobs, progress, accept_different, place, executor)
    if place is not None and not made.failed:
        _moved(root, list(found), place)
    return made


def _moved(root: Path, folders: Sequence[Path], images: Path) -> None:
    """Campaigns that had ended look there, too, and so do those that are added to the grid."""
    from versionspace.campaign.campaign import Campaign

    for path in folders:
        if read_config(path / CONFIG) != moved(read_config(path / CONFIG), images):
            Campaign.open(path, images=images).close()
    if (root / GRID).is_file():
        write(root / GRID, written(moved(read_config(root / GRID), images)).encode())


def carry_on(
    folders: Sequence[Path], root: Path, config: Config, jobs: int, progress: bool | Listener | None,
    accept_different: bool, images: Path | None = None, executor: Executor | None = None,
) -> Run:  # fmt: skip
    """Runs campaigns whose folders are there."""
    executor = executor or LocalExecutor(min(jobs or cores(), len(folders)))
    single = is_campaign(root)
    todo = [
        Job(path, None if single else root / SHARED / path.name, config.machine.threads, accept_different, images)
        for path in folders
        if not _ended(path)
    ]
    if todo:
        bring(config.data.name)
    with display(folders, progress) as listen:
        outcome = executor.execute(todo, listen)
    return Run(root, outcome.failed, outcome.stopped)


def _ended(path: Path) -> bool:
    found = Folder(path)
    return found.ledger.exists() and bool(read_campaign(found).ended)


def _refuse_negative(jobs: int) -> None:
    if jobs < 0:
        raise InputError("jobs", expected="0 or more", got=repr(jobs), fix="0 takes as many as there are cores.")
