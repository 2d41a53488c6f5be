"""A campaign's folder, made before anything heavy is imported."""

import contextlib
import os
from pathlib import Path

from versionspace.config import Config, differences, written
from versionspace.data.catalogue import DATASETS
from versionspace.data.naming import shown
from versionspace.errors import InputError
from versionspace.store.config import read_config
from versionspace.store.errors import explained
from versionspace.store.folder import Folder, write
from versionspace.store.ledger import Ledger
from versionspace.store.lock import Lock

_BEFORE = {"begun", "resumed"}
"""Events that say where and when, and nothing that would be lost."""


def place(path: Path, config: Config) -> None:
    """Makes the folder and writes campaign.toml; one that is there must say the same, unless nothing came of it.

    Device and threads may change: those that are wanted now are written down.
    """
    found = Folder(path)
    config = located(config)
    if found.config.is_file():
        before = read_config(found.config)
        config = as_before(config, before)
        changed = differences(before, config)
        if before == config:
            return
        if changed and not (untouched(found) and _emptied(found)):
            raise InputError(
                str(path), expected="the config that this campaign began with", got="; ".join(changed),
                fix="Choose another folder, or go on as it began: `versionspace resume`, or `label --campaign`.",
            )  # fmt: skip
    keep(found, config)


def moved(config: Config, images: Path) -> Config:
    """A config whose folder of images lies elsewhere now; the same one where that is only another way to name it."""
    if config.data.name in DATASETS:
        raise InputError(
            "images", expected=f"none for a campaign on {config.data.name}", got=shown(images), fix="Leave it out."
        )
    now = absolute(images)
    return config if _same(config.data.name, now) else _renamed(config, str(now))


def located(config: Config) -> Config:
    """A config whose folder of images is found from wherever one stands."""
    return config if config.data.name in DATASETS else _renamed(config, str(absolute(Path(config.data.name))))


def as_before(config: Config, before: Config) -> Config:
    """With the folder of images named as it was, where it is the same one."""
    names = (config.data.name, before.data.name)
    same = not any(name in DATASETS for name in names) and _same(before.data.name, Path(config.data.name))
    return _renamed(config, before.data.name) if same else config


def absolute(path: Path) -> Path:
    """Where it lies, from wherever one stands, and never a bare name that could be a dataset's."""
    return Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 — a link stays the link that was typed


def _same(before: str, now: Path) -> bool:
    then = Path(before).expanduser()
    return absolute(then) == now or (now.exists() and then.exists() and now.samefile(then))


def _renamed(config: Config, name: str) -> Config:
    return config.model_copy(update={"data": config.data.model_copy(update={"name": name})})


def keep(found: Folder, config: Config) -> None:
    """Writes campaign.toml."""
    try:
        content = written(config).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            shown(config.data.name), expected="a folder and classes whose names are UTF-8",
            got=shown(error.object[error.start]), fix="Rename it; the images in it may have any names.",
        ) from error  # fmt: skip
    write(found.config, content)


def untouched(found: Folder) -> bool:
    """Whether the images have no roles yet: nothing was asked, answered or trained, and the config may change."""
    if not found.ledger.exists():
        return not found.lost()
    with Ledger.view(found.ledger) as ledger:
        return ledger.kinds() <= _BEFORE


def withdraw(found: Folder) -> None:
    """Takes a campaign back of which nothing came."""
    if untouched(found) and _emptied(found):
        with explained(found.path):
            for path in (found.config, Lock(found.path).path):
                path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # something of the user's is there too
                found.path.rmdir()
                found.path.parent.rmdir()


def _emptied(found: Folder) -> bool:
    """Removes the ledger of an untouched campaign; False, and nothing is removed, where it is not."""
    with Lock(found.path):
        if not untouched(found):
            return False
        with explained(found.path):
            for suffix in ("-wal", "-shm", ""):  # the journal first: it must not meet another ledger
                found.ledger.with_name(found.ledger.name + suffix).unlink(missing_ok=True)
            found.split.unlink(missing_ok=True)  # written, and not yet told of
    return True
