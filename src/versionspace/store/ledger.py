"""The ledger: an SQLite table that is only ever appended to, in WAL mode with full sync.

Events: what a ledger holds. A label is never changed; a new answer to the same image is a new event.

kind        body
begun       settings, seed, classes, sizes of groups and chunks, checksums of the dataset
split       checksum of split.npz, numbers of images; with known labels a hash of them
class       a class that was added later
proposed    part, purpose ("audit", "initial", "cold start", "query"), ids best first, utilities
answered    id, class (None: skipped), part and rank of the proposal, and how it was shown
closed      the round is over though answers are missing
measured    labels, metrics, checksums of the votes and weights
ended       why
reopened    total: goes on after its end, or with another budget; rules: "past" where a stop rule no longer counts
resumed     nothing: only where and when, and for a person's campaign what is not as it was when it began
"""

import contextlib
import hashlib
import json
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from versionspace.files import replacing
from versionspace.store.errors import StoreError, explained, unlike

KINDS = ("begun", "split", "class", "proposed", "answered", "closed", "measured", "ended", "reopened", "resumed")


@dataclass(frozen=True)
class Event:
    """One line of the ledger."""

    kind: str
    round: int = 0
    body: Mapping[str, Any] = field(default_factory=dict)
    """What is the same in every run with this config and these answers."""
    who: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """What depends on the clock or the machine: seconds, versions, threads."""
    uid: str | None = None
    """Made by whoever sends it; the same one twice is one event."""
    at: float = 0.0
    """Seconds since 1970; set when committed."""
    number: int = 0
    """Set when committed."""


def encoded(value: Mapping[str, Any]) -> str:
    """JSON with sorted keys; numbers that are not finite are refused."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def chained(before: str, event: Event, at: float) -> str:
    """A hash of this event and of all before it: a line that was changed later is found by `verify`."""
    parts = [before, event.kind, event.round, encoded(event.body), event.who, encoded(event.environment), event.uid, at]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


FORMAT = 1
"""The format of ledgers that this version reads and writes, stored as SQLite's user_version."""

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
    """Append and read. One writer at a time; any number of readers.

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
        with explained(path):
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
        """For reading; works on a read-only medium, on a copy, and while another process writes."""
        if not path.is_file():
            raise StoreError(
                str(path.parent), expected="a campaign's folder, with ledger.sqlite in it", got="none",
                fix="Pass the folder that `versionspace run` or `versionspace label` made.",
            )  # fmt: skip
        try:
            connection = _reader(path)
            return cls(path, connection)
        except sqlite3.OperationalError:
            # A WAL needs its index beside it, which a read-only folder cannot give: read a copy.
            temporary = Path(tempfile.mkdtemp(prefix="versionspace-"))
            with explained(path):
                for suffix in ("", "-wal"):
                    source = path.with_name(path.name + suffix)
                    if source.exists():
                        shutil.copyfile(source, temporary / source.name)
                return cls(path, _reader(temporary / path.name), temporary=temporary)
        except sqlite3.Error:
            with explained(path):
                raise
            raise

    def append(self, events: Sequence[Event]) -> list[int]:
        """Commits all of these or none; durable once it returns. An event whose uid is there already is left out."""
        numbers = []
        with explained(self.path), self._transaction():
            row = self._connection.execute("SELECT chain FROM events ORDER BY number DESC LIMIT 1").fetchone()
            chain = row[0] if row else ""
            for event in events:
                if event.uid is not None:
                    there = self._connection.execute("SELECT number FROM events WHERE uid = ?", (event.uid,)).fetchone()
                    if there:
                        numbers.append(int(there[0]))
                        continue
                at = time.time()
                chain = chained(chain, event, at)
                cursor = self._connection.execute(
                    "INSERT INTO events (kind, round, body, who, environment, uid, at, chain) VALUES (?,?,?,?,?,?,?,?)",
                    (event.kind, event.round, encoded(event.body), event.who, encoded(event.environment), event.uid, at,
                     chain),
                )  # fmt: skip
                numbers.append(int(cursor.lastrowid or 0))
        return numbers

    def events(self, after: int = 0) -> list[Event]:
        """Return all events after this number, in order."""
        with explained(self.path):
            rows = self._connection.execute(
                "SELECT number, kind, round, body, who, environment, uid, at FROM events WHERE number > ? "
                "ORDER BY number", (after,),
            ).fetchall()  # fmt: skip
        return [self._event(*row) for row in rows]

    def kinds(self) -> set[str]:
        """The kinds of events there are."""
        with explained(self.path):
            return {row[0] for row in self._connection.execute("SELECT DISTINCT kind FROM events")}

    def damage(self) -> list[str]:
        """What is wrong with the file itself: SQLite's own check, and the chain of hashes."""
        with explained(self.path):
            found = [row[0] for row in self._connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
            chains = [row[0] for row in self._connection.execute("SELECT chain FROM events ORDER BY number")]
        before = ""
        for event, chain in zip(self.events(), chains, strict=False):  # more may have been written since
            if not _follows(before, event, chain):
                return [*found, f"event {event.number} ({event.kind}) was changed after it was written"]
            before = chain
        return found

    def copy_to(self, path: Path) -> None:
        """A consistent copy, also while another process writes."""
        with explained(path):
            target = sqlite3.connect(path)
            try:
                self._connection.backup(target)
            finally:
                target.close()

    def close(self) -> None:
        """Ends the connection; a writer leaves one file, where no reader holds on to the others."""
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
            raise unlike(self.path, f"JSON in event {number} ({kind})", error) from error

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


def _follows(before: str, event: Event, chain: str) -> bool:
    """Whether an event is the one that this link of the chain was made for."""
    try:
        return chained(before, replace(event, at=0.0, number=0), event.at) == chain
    except (TypeError, ValueError):  # bytes, or a number that is not finite: never written by us
        return False


def _create(path: Path) -> None:
    """Create an empty ledger. A process killed meanwhile leaves no file."""
    with replacing(path) as new, contextlib.closing(sqlite3.connect(new, isolation_level=None)) as connection:
        connection.executescript(f"BEGIN; {_TABLE} PRAGMA user_version = {FORMAT}; COMMIT;")


def _reader(path: Path) -> sqlite3.Connection:
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
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found != FORMAT:
        raise StoreError(
            str(path), expected=f"a ledger of format {FORMAT}", got=f"format {found}",
            fix="Use the version of versionspace that wrote it, or restore a backup if the file is damaged.",
        )  # fmt: skip
