"""A safe copy of a folder, also while it is in use.

The ledger is copied first, as one consistent snapshot; the files that it names were there before it named them.
"""

import shutil
from pathlib import Path

from versionspace.store.errors import StoreError, explained
from versionspace.store.folder import GRID, SHARED, Folder, campaigns, is_campaign
from versionspace.store.ledger import Ledger


def backup(source: Path | str, target: Path | str) -> list[Path]:
    """Copies a campaign, or a grid of them, to a folder that does not exist yet; gives the copied campaigns."""
    root, to = Path(source), Path(target)
    found = campaigns(root)
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise StoreError(
            str(to), expected="a folder that does not exist yet, or an empty one", got="one with something in it",
            fix="A backup never writes over anything: choose another name.",
        )  # fmt: skip
    new = to.with_name(f".{to.name}.new")
    with explained(to.parent):
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(new, ignore_errors=True)
        try:
            for folder in found:
                _copy(folder, new / folder.path.relative_to(root))
            if not is_campaign(root):
                if (root / GRID).exists():
                    shutil.copy2(root / GRID, new / GRID)
                if (root / SHARED).exists():
                    shutil.copytree(root / SHARED, new / SHARED, ignore=shutil.ignore_patterns(".*", "lock"))
            if to.exists():
                to.rmdir()
            new.rename(to)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
    return [to / folder.path.relative_to(root) for folder in found]


def _copy(folder: Folder, to: Path) -> None:
    to.mkdir(parents=True, exist_ok=True)
    if folder.ledger.exists():
        with Ledger.view(folder.ledger) as ledger:
            ledger.copy_to(Folder(to).ledger)
    for path in sorted(folder.path.iterdir()):
        if path.name.startswith((".", "ledger.sqlite", "lock")):
            continue
        if path.is_dir():
            shutil.copytree(path, to / path.name, ignore=shutil.ignore_patterns(".*"))
        else:
            shutil.copy2(path, to / path.name)
