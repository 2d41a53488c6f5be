"""Grids of campaigns: every method with every seed, one after another or several at a time.

    DIR/grid.toml           the config that they share
    DIR/METHOD/SEED/        one campaign each
    DIR/shared/SEED/        the first ensemble, the same for every method

Imports no torch: whatever cannot run is rejected, and the folders are created, before the heavy work begins.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from versionspace.campaign.datasets import Datasets, fetch_if_missing, with_images
from versionspace.campaign.jobs import Executor, Job, Listener, Run
from versionspace.campaign.local_executor import LocalExecutor
from versionspace.campaign.progress import display
from versionspace.campaign.setup import prepare_grid, validate_campaigns
from versionspace.config import Config, answered_by_person, read_config, to_toml, with_changes
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
    """Run campaigns to their end. Called again with the same folder, it resumes those that have not ended.

    Args:
        preset_or_config: the name of a preset, a TOML file, or a `Config`.
        methods: names of query methods; by default the config's.
        seeds: whole numbers; by default the config's.
        out: the folder; by default ``runs/`` and the name of the preset.
        jobs: campaigns to run at the same time, in worker processes if more than one; 0: one for each core. Changes no
            result.
        changes: changes to the config, such as ``"budget.total=200"``.
        progress: whether to show progress, or a function to call with each `News`; by default shown.
        accept_different: resume even if torch, NumPy or the CPU changed.
        executor: runs the campaigns, see `versionspace.campaign.Executor`; by default this machine, ``jobs`` at a time.

    Raises InputError, before anything is created, if a campaign cannot run. Campaigns that fail later are listed in the
    result, and do not stop the others.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = run("demo", methods=["gvd"], seeds=[0], out=folder, progress=False,
    ...                  changes=["ensemble.members=2", "training.epochs=1", "budget.total=20"])
    ...     len(result.campaigns())
    1
    """
    _reject_negative(jobs)
    changes = list(changes)
    if not isinstance(preset_or_config, Config):
        config = read_config(preset_or_config, changes)
    else:
        config = with_changes(preset_or_config, changes) if changes else preset_or_config
    root = Path(out) if out is not None else Path("runs") / (config.preset or "campaign").replace("/", "-")
    datasets = Datasets()
    folders = prepare_grid(config, root, methods, seeds, datasets)
    executor = executor or _local_executor(jobs, len(folders), datasets)
    return _execute(root, dict.fromkeys(folders, config), executor, progress, accept_different)


def resume(
    folder: str | Path,
    *,
    jobs: int = 1,
    progress: bool | Listener | None = None,
    accept_different: bool = False,
    images: str | Path | None = None,
    executor: Executor | None = None,
) -> Run:
    """Resume every campaign of a folder: one campaign, or a grid. Those that have ended are left as they are.

    ``images``: the campaigns' folder of images, if it was moved; the other options are those of `run`. Raises
    InputError if a person labels a campaign, or if one that has not begun cannot run.
    """
    _reject_negative(jobs)
    root, moved = Path(folder), None if images is None else Path(images)
    configs = {campaign.path: read_stored_config(campaign.config) for campaign in campaigns(root)}
    for path, config in configs.items():
        if answered_by_person(config):
            raise InputError(
                str(path), expected="a campaign with known labels", got="one that a person labels",
                fix=f"Continue with `versionspace label --campaign {path}`.",
            )  # fmt: skip
    if moved is not None:
        configs = {path: with_images(config, moved) for path, config in configs.items()}
    datasets = Datasets()
    validate_campaigns(configs, datasets)
    executor = executor or _local_executor(jobs, len(configs), datasets)
    result = _execute(root, configs, executor, progress, accept_different, moved)
    if moved is not None and not result.failed:
        _write_new_location(root, configs, datasets, moved)
    return result


def _local_executor(jobs: int, count: int, datasets: Datasets) -> LocalExecutor:
    """Count all campaigns, ended ones too, so that each gets the same number of threads on resume."""
    return LocalExecutor(min(jobs or cores(), count), datasets)


def _execute(
    root: Path,
    configs: Mapping[Path, Config],
    executor: Executor,
    progress: bool | Listener | None,
    accept_different: bool,
    images: Path | None = None,
) -> Run:
    """Run the campaigns that have not ended. Their folders exist."""
    records = {path: _read(path) for path in configs}
    single = is_campaign(root)
    jobs = [
        Job(
            path,
            shared=None if single else root / SHARED / path.name,
            threads=configs[path].machine.threads,
            accept_different=accept_different,
            images=images,
        )
        for path, record in records.items()
        if record is None or not record.ended
    ]
    for name in {configs[job.folder].data.name for job in jobs}:
        fetch_if_missing(name)
    with display(records, progress) as listener:
        outcome = executor.execute(jobs, listener)
    return Run(root, outcome.failed, outcome.stopped)


def _read(path: Path) -> Record | None:
    folder = CampaignFolder(path)
    return read_campaign(folder) if folder.ledger.exists() else None


def _write_new_location(root: Path, configs: Mapping[Path, Config], datasets: Datasets, images: Path) -> None:
    """Write the new path of the images to campaigns that had ended, and to the grid's config."""
    from versionspace.campaign.campaign import Campaign  # imports torch

    for path in configs:
        stored = read_stored_config(path / CONFIG)
        if stored != with_images(stored, images):
            Campaign.open(path, images=images, datasets=datasets).close()
    if (root / GRID).is_file():
        write_file(root / GRID, to_toml(with_images(read_stored_config(root / GRID), images)).encode())


def _reject_negative(jobs: int) -> None:
    if jobs < 0:
        raise InputError("jobs", expected="0 or more", got=repr(jobs), fix="0 runs one campaign for each core.")
