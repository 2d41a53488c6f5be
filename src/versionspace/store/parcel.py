"""A campaign's folder as plain data, to run a campaign on a machine that does not share the disk.

`pack` reads what changed since the last parcel, `unpack` writes it into a copy of the folder. The copy is a campaign's
folder at any moment: files are written before the events that list them, and deleted after the events that no longer
do. Events are appended, never replaced, so that other processes may read the copy meanwhile.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from versionspace.store.atomic import write_file
from versionspace.store.errors import as_store_errors
from versionspace.store.layout import CampaignFolder
from versionspace.store.ledger import Ledger, Row

Stamps: TypeAlias = dict[str, tuple[int, int]]
"""Size and modification time of each file of a folder, by its path in the folder."""


@dataclass(frozen=True)
class Parcel:
    """What changed in a folder since an earlier parcel. Plain data: it can be pickled."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """The content of new and changed files, by their path in the folder."""
    names: frozenset[str] = frozenset()
    """All files that the folder has now."""
    rows: tuple[Row, ...] = ()
    """The new events of the ledger, if the folder has one."""
    stamps: Stamps = field(default_factory=dict)
    """Of all files, for the next parcel."""

    @property
    def last_event(self) -> int:
        """The number of the newest event in this parcel; 0 if it has none."""
        return int(self.rows[-1][0]) if self.rows else 0


def pack(folder: Path, known: Mapping[str, tuple[int, int]] | None = None, after: int = 0) -> Parcel:
    """Return what is new in a folder: files that differ from ``known``, and events with a number above ``after``.

    The ledger is read first: every file that its events list was written before.
    """
    ledger, rows = CampaignFolder(folder).ledger, []
    if ledger.is_file():
        with Ledger.view(ledger) as opened:
            rows = opened.rows(after)
    files, stamps = {}, {}
    with as_store_errors(folder):
        for name, path in _files(folder).items():
            try:
                status = path.stat()
                stamps[name] = (status.st_size, status.st_mtime_ns)
                if (known or {}).get(name) != stamps[name]:
                    files[name] = path.read_bytes()
            except FileNotFoundError:  # deleted meanwhile
                stamps.pop(name, None)
    return Parcel(files, frozenset(stamps), tuple(rows), stamps)


def unpack(parcel: Parcel, folder: Path) -> None:
    """Write a parcel into a folder. Raises StoreError if its events do not continue those of the folder."""
    for name in sorted(parcel.files, key=lambda name: (-name.count("/"), name)):  # a note follows what it describes
        write_file(folder / name, parcel.files[name])
    if parcel.rows:
        with Ledger.open(CampaignFolder(folder).ledger) as ledger:
            ledger.append_rows(parcel.rows)
    with as_store_errors(folder):
        for name, path in _files(folder).items():
            if name not in parcel.names:
                path.unlink(missing_ok=True)
        for current, _, _ in os.walk(folder, topdown=False):
            if Path(current) != folder and not any(Path(current).iterdir()):
                Path(current).rmdir()


def _files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by their relative path, except the ledger, locks and hidden files."""
    found = {}
    for current, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith((".", "ledger.sqlite", "lock")):
                path = Path(current) / name
                found[path.relative_to(folder).as_posix()] = path
    return found
