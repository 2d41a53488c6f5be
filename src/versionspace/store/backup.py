"""A consistent copy of a campaign's folder, even while the campaign runs.

The ledger is copied first, as one snapshot: every file that it lists was written before. A round that is committed
meanwhile deletes the weights of the round before it; then ledger and files are copied once more.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from versionspace.errors import VersionspaceError
from versionspace.files import replacing_folder
from versionspace.store.atomic import reject_unnamed
from versionspace.store.errors import MALFORMED, StoreError, as_store_errors
from versionspace.store.layout import (
    GRID,
    SHARED,
    CampaignFolder,
    campaigns,
    is_campaign,
    read_stored_config,
    required_files,
)
from versionspace.store.ledger import Ledger
from versionspace.store.state import replay

_MAX_ATTEMPTS = 5
"""How often a running campaign is copied at most, until no round is committed meanwhile."""


def backup(source: Path | str, target: Path | str) -> list[Path]:
    """Copy a campaign or a grid to a new folder and return the copied campaigns.

    Raises StoreError if the target is not empty, or if rounds are committed faster than their files can be copied.
    """
    root, to = Path(source), Path(target)
    found = campaigns(root)
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise StoreError(
            str(to), expected="a folder that does not exist yet or is empty", got="one that is not empty",
            fix="A backup never overwrites anything: choose another name.",
        )  # fmt: skip
    reject_unnamed(to)
    with as_store_errors(to.parent), replacing_folder(to) as new:
        for folder in found:
            _copy(folder, new / folder.path.relative_to(root))
        if not is_campaign(root):
            if (root / GRID).exists():
                shutil.copy2(root / GRID, new / GRID)
            if (root / SHARED).exists():
                _copy_files(root / SHARED, new / SHARED)
    return [to / folder.path.relative_to(root) for folder in found]


def _copy(folder: CampaignFolder, to: Path) -> None:
    """Copy a campaign with every file that its ledger lists, except files that the campaign itself has lost."""
    for _ in range(_MAX_ATTEMPTS):
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir(parents=True)
        if folder.ledger.exists():
            with Ledger.view(folder.ledger) as ledger:
                ledger.copy_to(CampaignFolder(to).ledger)
        _copy_files(folder.path, to)
        lost = {path.relative_to(folder.path) for path in _missing_files(folder)}
        if {path.relative_to(to) for path in _missing_files(CampaignFolder(to))} <= lost:
            return
    raise StoreError(
        str(folder.path), expected="a campaign whose rounds take longer than copying its weights",
        got=f"a new round in each of {_MAX_ATTEMPTS} attempts", fix="Try again, or stop the campaign first.",
    )  # fmt: skip


def _missing_files(folder: CampaignFolder) -> list[Path]:
    """Return the files that a ledger lists and that do not exist; none if it cannot be read, which `verify` reports."""
    try:
        config = read_stored_config(folder.config)
        with Ledger.view(folder.ledger) as ledger:
            state = replay(ledger.events())
        return [path for path in required_files(folder, config, state) if not path.is_file()]
    except (VersionspaceError, *MALFORMED):
        return []


def _copy_files(source: Path, to: Path) -> None:
    """Copy everything but the ledger, locks, hidden files, and files that are deleted meanwhile."""
    for current, folders, files in os.walk(source, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        place = to / Path(current).relative_to(source)
        place.mkdir(parents=True, exist_ok=True)
        for name in files:
            if not name.startswith((".", "ledger.sqlite", "lock")):
                with suppress(FileNotFoundError):
                    shutil.copy2(Path(current) / name, place / name)
