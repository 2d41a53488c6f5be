"""The ledger: an SQLite table of events that is only appended to, in WAL mode with full synchronisation."""

import contextlib
import json
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from versionspace.files import replacing
from versionspace.store.errors import StoreError, as_store_errors, unexpected_content
from versionspace.store.events import Event, canonical_json, chain_hash

FORMAT = 1
"""The format of ledgers that this version reads and writes, stored as SQLite's user_version."""

Row: TypeAlias = tuple[Any, ...]
"""One event as SQLite stores it, in the order of `_COLUMNS`."""

_COLUMNS = ("number", "kind", "round", "body", "who", "environment", "uid", "at", "chain")
_TABLE = """
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    round INTEGER NOT NULL,
    body TEXT NOT NULL,
    who TEXT NOT NULL,
    environment TEXT NOT NULL,
    uid TEXT UNIQUE,
    at REAL NOT NULL,
    chain TEXT NOT NULL
);
CREATE TRIGGER never_changed BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER never_deleted BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
"""


class Ledger:
    """A ledger that is open: one writer at a time, any number of readers.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Ledger.open(Path(folder) / "ledger.sqlite") as ledger:
    ...     numbers = ledger.append([Event("begun"), Event("ended", body={"why": "budget"})])
    ...     [event.kind for event in ledger.events()]
    ['begun', 'ended']
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, *, writes: bool = False, temporary: Path | None = None
    ) -> None:
        self.path = path
        self._writes = writes
        self._connection = connection
        self._temporary = temporary

    @classmethod
    def open(cls, path: Path) -> "Ledger":
        """Open a ledger for writing, and create it if it does not exist. Raises StoreError for another format."""
        with as_store_errors(path):
            if not path.exists():
                _create(path)
            connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            try:
                _require_format(connection, path)
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
            except BaseException:
                connection.close()
                raise
        return cls(path, connection, writes=True)

    @classmethod
    def view(cls, path: Path) -> "Ledger":
        """Open a ledger for reading: on a read-only medium, from a copy, or while another process writes."""
        if not path.is_file():
            raise StoreError(
                str(path.parent), expected="a campaign's folder, which contains ledger.sqlite", got="none",
                fix="Pass a folder that `versionspace run` or `versionspace label` created.",
            )  # fmt: skip
        with as_store_errors(path):
            try:
                return cls(path, _connect_read_only(path))
            except sqlite3.OperationalError:
                # SQLite creates an index beside the WAL, which it cannot do in a read-only folder.
                return cls._view_copy(path)

    @classmethod
    def _view_copy(cls, path: Path) -> "Ledger":
        temporary = Path(tempfile.mkdtemp(prefix="versionspace-"))
        try:
            for suffix in ("", "-wal"):
                source = path.with_name(path.name + suffix)
                if source.exists():
                    shutil.copyfile(source, temporary / source.name)
            return cls(path, _connect_read_only(temporary / path.name), temporary=temporary)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise

    def append(self, events: Sequence[Event]) -> list[int]:
        """Commit all of these events or none, durably, and return their numbers.

        An event whose uid is already stored is not stored again: its number is that of the stored event.
        """
        numbers = []
        with as_store_errors(self.path), self._transaction():
            row = self._connection.execute("SELECT chain FROM events ORDER BY number DESC LIMIT 1").fetchone()
            chain = row[0] if row else ""
            for event in events:
                if event.uid is not None:
                    known = self._connection.execute("SELECT number FROM events WHERE uid = ?", (event.uid,)).fetchone()
                    if known:
                        numbers.append(int(known[0]))
                        continue
                at = time.time()
                chain = chain_hash(chain, event, at)
                body, environment = canonical_json(event.body), canonical_json(event.environment)
                cursor = self._connection.execute(
                    "INSERT INTO events (kind, round, body, who, environment, uid, at, chain) VALUES (?,?,?,?,?,?,?,?)",
                    (event.kind, event.round, body, event.who, environment, event.uid, at, chain),
                )
                numbers.append(int(cursor.lastrowid or 0))
        return numbers

    def events(self, after: int = 0) -> list[Event]:
        """Return the events with a number greater than ``after``, in order."""
        with as_store_errors(self.path):
            rows = self._connection.execute(
                "SELECT number, kind, round, body, who, environment, uid, at FROM events WHERE number > ? "
                "ORDER BY number", (after,),
            ).fetchall()  # fmt: skip
        return [self._event(*row) for row in rows]

    def kinds(self) -> set[str]:
        """Return the kinds of events that the ledger contains."""
        with as_store_errors(self.path):
            return {row[0] for row in self._connection.execute("SELECT DISTINCT kind FROM events")}

    def damage(self) -> list[str]:
        """Return what is wrong with the file itself, by SQLite's integrity check and the chain of hashes."""
        with as_store_errors(self.path):
            problems = [row[0] for row in self._connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
            chains = [row[0] for row in self._connection.execute("SELECT chain FROM events ORDER BY number")]
        previous = ""
        for event, chain in zip(self.events(), chains, strict=False):  # more events may have been appended since
            if not _is_link(previous, event, chain):
                return [*problems, f"event {event.number} ({event.kind}) was changed after it was written"]
            previous = chain
        return problems

    def rows(self, after: int = 0) -> list[Row]:
        """Return the stored rows with a number greater than ``after``, for `append_rows` of a copy of this ledger."""
        with as_store_errors(self.path):
            query = f"SELECT {', '.join(_COLUMNS)} FROM events WHERE number > ? ORDER BY number"
            return self._connection.execute(query, (after,)).fetchall()

    def append_rows(self, rows: Sequence[Row]) -> None:
        """Commit rows of another copy of this ledger, all or none, with their numbers, times and hashes.

        Raises StoreError if they do not continue this ledger: if a number is missing, or a hash does not follow from
        the last event.
        """
        with as_store_errors(self.path), self._transaction():
            newest = self._connection.execute(
                "SELECT number, chain FROM events ORDER BY number DESC LIMIT 1"
            ).fetchone()
            number, chain = newest or (0, "")
            for row in rows:
                if row[0] != number + 1 or not _is_link(chain, self._event(*row[:-1]), row[-1]):
                    raise StoreError(
                        str(self.path), expected=f"event {number + 1} of the same campaign",
                        got=f"event {row[0]} of another copy, which does not continue this one",
                        fix="Two processes ran this campaign. Run `versionspace verify` on the folder, then resume it.",
                    )  # fmt: skip
                number, chain = row[0], row[-1]
                marks = ",".join("?" * len(_COLUMNS))
                self._connection.execute(f"INSERT INTO events ({', '.join(_COLUMNS)}) VALUES ({marks})", row)

    def copy_to(self, path: Path) -> None:
        """Write a consistent copy, even while another process writes."""
        with as_store_errors(path):
            target = sqlite3.connect(path)
            try:
                self._connection.backup(target)
            finally:
                target.close()

    def close(self) -> None:
        """Close the connection. A writer leaves a single file, unless a reader still uses the WAL."""
        if self._writes:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _event(
        self, number: int, kind: str, round_: int, body: str, who: str, environment: str, uid: str | None, at: float
    ) -> Event:
        try:
            return Event(kind, round_, json.loads(body), who, json.loads(environment), uid, at, number)
        except (TypeError, ValueError) as error:
            raise unexpected_content(self.path, f"JSON in event {number} ({kind})", error) from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_link(previous: str, event: Event, chain: str) -> bool:
    """Return whether this hash was computed for this event."""
    try:
        return chain_hash(previous, replace(event, at=0.0, number=0), event.at) == chain
    except (TypeError, ValueError):  # bytes, or a number that is not finite: `append` never writes these
        return False


def _create(path: Path) -> None:
    """Create an empty ledger. A process that is killed meanwhile leaves no file of this name."""
    with replacing(path) as new, contextlib.closing(sqlite3.connect(new, isolation_level=None)) as connection:
        connection.executescript(f"BEGIN; {_TABLE} PRAGMA user_version = {FORMAT}; COMMIT;")


def _connect_read_only(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=30, check_same_thread=False)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        _require_format(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _require_format(connection: sqlite3.Connection, path: Path) -> None:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version != FORMAT:
        raise StoreError(
            str(path), expected=f"a ledger of format {FORMAT}", got=f"format {version}",
            fix="Use the version of versionspace that wrote it, or restore a backup if the file is damaged.",
        )  # fmt: skip
