"""Set up the folders of campaigns and grids. Whatever cannot run is rejected before a folder is created.

A folder that recorded no work, because its config could not run or the process was killed early, may get another
config; any other folder keeps the config that it began with.

Imports torch only where `versionspace.campaign.validation` does.
"""

import contextlib
import operator
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from versionspace.campaign.datasets import Datasets, fetch_if_missing, with_absolute_images, with_known_images
from versionspace.campaign.validation import pool_labels, validate_campaign, validate_settings
from versionspace.config import Config, GridConfig, answered_by_person, as_input_errors, differences, to_toml
from versionspace.errors import InputError
from versionspace.query import find
from versionspace.store import (
    CONFIG,
    GRID,
    CampaignFolder,
    Ledger,
    Lock,
    as_store_errors,
    is_campaign,
    read_stored_config,
    write_file,
)
from versionspace.text import printable

_NO_WORK = {"begun", "resumed"}
"""Kinds of events that say only where and when a campaign was opened."""

_PER_CAMPAIGN = ("seed", "query.method")
"""Settings in which the campaigns of a grid differ."""


def prepare_grid(
    config: Config,
    folder: Path,
    methods: Sequence[str] | None,
    seeds: Iterable[int] | None,
    datasets: Datasets | None = None,
) -> list[Path]:
    """Create the folders of a grid's campaigns and return them in the order in which to run them.

    Raises InputError, before anything is created, if one of the campaigns cannot run or the folder holds another grid.
    """
    if is_campaign(folder):
        raise InputError(
            str(folder), expected="a folder for a grid of campaigns", got="one campaign",
            fix="Resume it with `versionspace resume`, or choose another folder with --out.",
        )  # fmt: skip
    if answered_by_person(config):
        raise InputError(
            "oracle.kind", expected="'labels', since nobody is there to answer", got="'person'",
            fix="A person labels with `versionspace label`.",
        )  # fmt: skip
    chosen_methods = tuple(methods) if methods is not None else config.grid.methods or (config.query.method,)
    chosen_seeds = _read_seeds(seeds) if seeds is not None else config.grid.seeds or (config.seed,)
    for method in chosen_methods:
        find(method)
    if not chosen_methods or not chosen_seeds:
        raise InputError(
            "grid", expected="at least one method and one seed", got="none", fix="Pass --methods and --seeds."
        )
    with as_input_errors("grid"):
        grid = GridConfig(methods=chosen_methods, seeds=chosen_seeds)
        config = Config.model_validate(config.model_dump() | {"grid": grid.model_dump()})
        # Seeds vary fastest: campaigns that run at the same time then rarely wait for the same first ensemble.
        campaigns = {
            folder / method / str(seed): config.campaign(method, seed)
            for method in dict.fromkeys(chosen_methods)
            for seed in chosen_seeds
        }
    merged = _merge_with_stored(with_absolute_images(config), folder)
    validate_campaigns(campaigns, datasets or Datasets())
    _write_grid_config(merged, folder)
    for path, own in campaigns.items():
        create_folder(path, own)
    return list(campaigns)


def validate_campaigns(campaigns: Mapping[Path, Config], datasets: Datasets) -> None:
    """Raise InputError if one of these campaigns cannot run. Those that have recorded work are not looked at.

    The dataset is opened once, and roles are drawn once for each seed: they do not depend on the method.
    """
    new = [config for path, config in campaigns.items() if has_no_work(CampaignFolder(path))]
    for config in new:
        validate_settings(config)
    for config in {to_toml(config.campaign("random", config.seed)): config for config in new}.values():
        fetch_if_missing(config.data.name)
        pool_labels(config, validate_campaign(config, datasets))


def create_folder(path: Path, config: Config) -> None:
    """Create a campaign's folder with its campaign.toml.

    Raises InputError if the folder has another config, unless it recorded no work. Device and threads may differ: the
    new ones are written.
    """
    folder = CampaignFolder(path)
    config = with_absolute_images(config)
    if folder.config.is_file():
        before = read_stored_config(folder.config)
        config = with_known_images(config, before)
        changed = differences(before, config)
        if before == config:
            return
        if changed and not (has_no_work(folder) and _delete_ledger(folder)):
            raise InputError(
                str(path), expected="the config that this campaign began with", got="; ".join(changed),
                fix="Choose another folder, or resume it as it began: `versionspace resume`, or `label --campaign`.",
            )  # fmt: skip
    write_config(folder, config)


def write_config(folder: CampaignFolder, config: Config) -> None:
    """Write campaign.toml. Raises InputError if a name in it cannot be encoded as UTF-8."""
    try:
        content = to_toml(config).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            printable(config.data.name), expected="a folder and classes whose names are UTF-8",
            got=printable(error.object[error.start]), fix="Rename it; the images in it may have any names.",
        ) from error  # fmt: skip
    write_file(folder.config, content)


def has_no_work(folder: CampaignFolder) -> bool:
    """Return whether nothing was asked, answered or trained: the images have no roles, and the config may change."""
    if not folder.ledger.exists():
        return not folder.lost_ledger()
    with Ledger.view(folder.ledger) as ledger:
        return ledger.kinds() <= _NO_WORK


def _delete_ledger(folder: CampaignFolder) -> bool:
    """Delete the ledger of a campaign that recorded no work; return False, and delete nothing, if it recorded some."""
    with Lock(folder.path):
        if not has_no_work(folder):
            return False
        with as_store_errors(folder.path):
            for suffix in ("-wal", "-shm", ""):  # the journal first: SQLite must not apply it to another ledger
                folder.ledger.with_name(folder.ledger.name + suffix).unlink(missing_ok=True)
            folder.split.unlink(missing_ok=True)  # written, but not committed
    return True


def _delete_without_work(folder: CampaignFolder) -> None:
    """Delete a campaign folder that recorded no work. Files of the user's in it are kept."""
    if has_no_work(folder) and _delete_ledger(folder):
        with as_store_errors(folder.path):
            for path in (folder.config, Lock(folder.path).path):
                path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # not empty
                folder.path.rmdir()
                folder.path.parent.rmdir()


def _read_seeds(seeds: Iterable[int]) -> tuple[int, ...]:
    """Return seeds as Python integers, from NumPy's too."""
    try:
        given = list(seeds)
        numbers = tuple(operator.index(seed) for seed in given)
    except TypeError:
        given, numbers = [], (-1,)
    if any(seed < 0 for seed in numbers) or any(isinstance(seed, bool) for seed in given):
        raise InputError("seeds", expected="whole numbers of at least 0", got=repr(seeds), fix="For example range(3).")
    return numbers


def _merge_with_stored(config: Config, folder: Path) -> Config:
    """Return the grid's config with the methods and seeds that its folder has already.

    Raises InputError if the folder holds a grid with another config, unless none of its campaigns recorded work.
    """
    path = folder / GRID
    if not path.is_file():
        return config
    before = read_stored_config(path)
    config = with_known_images(config, before)
    if changed := differences(before, config, ignore=_PER_CAMPAIGN):
        if all(has_no_work(CampaignFolder(campaign)) for campaign in _campaign_folders(folder)):
            return config
        only_images = not differences(before, config, ignore=(*_PER_CAMPAIGN, "data.name"))
        moved = f"If that folder was moved: `versionspace resume {folder} --images {config.data.name}`. Else c"
        raise InputError(
            str(folder), expected="the config that this grid began with", got="; ".join(changed),
            fix=f"{moved if only_images else 'C'}hoose another folder with --out, or use `versionspace resume`.",
        )  # fmt: skip
    methods = tuple(dict.fromkeys((*before.grid.methods, *config.grid.methods)))
    seeds = tuple(dict.fromkeys((*before.grid.seeds, *config.grid.seeds)))
    return Config.model_validate(config.model_dump() | {"grid": {"methods": methods, "seeds": seeds}})


def _write_grid_config(config: Config, folder: Path) -> None:
    """Write grid.toml. If it replaces another config, delete the campaigns of that one: none recorded work."""
    path = folder / GRID
    before = read_stored_config(path) if path.is_file() else None
    if config == before:
        return
    if before is not None and differences(before, config, ignore=_PER_CAMPAIGN):
        for campaign in _campaign_folders(folder):
            _delete_without_work(CampaignFolder(campaign))
    write_file(path, to_toml(config).encode())


def _campaign_folders(folder: Path) -> set[Path]:
    return {path.parent for path in folder.glob(f"*/*/{CONFIG}")}
