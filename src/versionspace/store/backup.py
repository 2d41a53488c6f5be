"""A safe copy of a folder, also while it is in use.

The ledger is copied first, as one consistent snapshot; the files that it names were there before it named them. A round
that is committed meanwhile lets the weights of the one before it go: then ledger and files are copied once more.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from versionspace.errors import VersionspaceError
from versionspace.files import replacing_folder
from versionspace.store.errors import MALFORMED, StoreError, explained
from versionspace.store.layout import GRID, SHARED, Folder, campaigns, is_campaign, named, read_config, refuse_nameless
from versionspace.store.ledger import Ledger
from versionspace.store.state import replay

_TRIES = 5
"""Rounds that may be committed while their weights are copied, before it is given up."""


def backup(source: Path | str, target: Path | str) -> list[Path]:
    """Copies a campaign, or a grid of them, to a folder that does not exist yet; gives the copied campaigns."""
    root, to = Path(source), Path(target)
    found = campaigns(root)
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise StoreError(
            str(to), expected="a folder that does not exist yet, or an empty one", got="one with something in it",
            fix="A backup never writes over anything: choose another name.",
        )  # fmt: skip
    refuse_nameless(to)
    with explained(to.parent), replacing_folder(to) as new:
        for folder in found:
            _copy(folder, new / folder.path.relative_to(root))
        if not is_campaign(root):
            if (root / GRID).exists():
                shutil.copy2(root / GRID, new / GRID)
            if (root / SHARED).exists():
                _copy_files(root / SHARED, new / SHARED)
    return [to / folder.path.relative_to(root) for folder in found]


def _copy(folder: Folder, to: Path) -> None:
    """A copy that holds every file that its ledger names; those that the campaign itself has lost are left out."""
    for _ in range(_TRIES):
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir(parents=True)
        if folder.ledger.exists():
            with Ledger.view(folder.ledger) as ledger:
                ledger.copy_to(Folder(to).ledger)
        _copy_files(folder.path, to)
        lost = {path.relative_to(folder.path) for path in _missing(folder)}
        if {path.relative_to(to) for path in _missing(Folder(to))} <= lost:
            return
    raise StoreError(
        str(folder.path), expected="a campaign whose rounds take longer than copying its weights",
        got=f"a new round in each of {_TRIES} tries", fix="Try again, or stop the campaign for the copy.",
    )  # fmt: skip


def _missing(folder: Folder) -> list[Path]:
    """Files that a ledger names and that are not there; none where it cannot be read, which `verify` tells."""
    try:
        config = read_config(folder.config)
        with Ledger.view(folder.ledger) as ledger:
            state = replay(ledger.events())
        return [path for path in named(folder, config, state) if not path.is_file()]
    except (VersionspaceError, *MALFORMED):
        return []


def _copy_files(source: Path, to: Path) -> None:
    """All but the ledger, locks and what is hidden; what goes away meanwhile is passed over."""
    for current, folders, files in os.walk(source, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        place = to / Path(current).relative_to(source)
        place.mkdir(parents=True, exist_ok=True)
        for name in files:
            if not name.startswith((".", "ledger.sqlite", "lock")):
                with suppress(FileNotFoundError):
                    shutil.copy2(Path(current) / name, place / name)
