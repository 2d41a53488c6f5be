"""The ledger is only appended to, durable, and readable while it is written."""

import sqlite3
import subprocess
import sys

import pytest

from versionspace.files import UNFINISHED
from versionspace.store import CampaignFolder, Event, Ledger, StoreError
from versionspace.store import ledger as ledgers


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


def labels(ids):
    return [Event("answered", 1, {"id": i, "class": "cat", "part": 0, "rank": 0}, who="anna") for i in ids]


def test_events_are_read_as_they_were_written(path):
    with Ledger.open(path) as ledger:
        ledger.append(labels([7, "é", 2**60]))
        ledger.append([Event("measured", 2, {"x": 0.1 + 0.2, "none": None}, environment={"seconds": {"fit": 1.5}})])
        found = ledger.events()
    assert [e.body.get("id") for e in found[:3]] == [7, "é", 2**60]
    assert found[3].body == {"x": 0.30000000000000004, "none": None}
    assert found[3].environment == {"seconds": {"fit": 1.5}}
    assert [e.number for e in found] == [1, 2, 3, 4]
    assert found[0].who == "anna"
    assert all(e.at > 1e9 for e in found)


def test_the_journal_is_a_wal_with_full_synchronisation(path):
    with Ledger.open(path) as ledger:
        assert ledger._connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert ledger._connection.execute("PRAGMA synchronous").fetchone()[0] == 2


def test_events_are_neither_changed_nor_deleted(path):
    with Ledger.open(path) as ledger:
        ledger.append(labels([1]))
        for statement in ("UPDATE events SET who = 'eve'", "DELETE FROM events"):
            with pytest.raises(sqlite3.IntegrityError, match="never"):
                ledger._connection.execute(statement)


def test_an_event_is_stored_once_per_uid(path):
    event = Event("answered", 1, {"id": 1, "class": "cat", "part": 0, "rank": 0}, uid="u1")
    with Ledger.open(path) as ledger:
        assert ledger.append([event]) == ledger.append([event, *labels([2])])[:1]
        assert len(ledger.events()) == 2


def test_events_are_appended_all_or_none(path):
    with Ledger.open(path) as ledger:
        with pytest.raises(ValueError, match="not JSON compliant"):
            ledger.append([*labels([1]), Event("measured", 1, {"x": float("nan")})])
        assert ledger.events() == []
        ledger.append(labels([2]))
        assert len(ledger.events()) == 1


def test_a_reader_sees_events_as_they_are_committed(path):
    with Ledger.open(path) as writer:
        writer.append(labels([1]))
        with Ledger.view(path) as reader:
            assert len(reader.events()) == 1
            writer.append(labels([2]))
            assert len(reader.events()) == 2
            assert [e.number for e in reader.events(after=1)] == [2]


def test_a_reader_cannot_write(path):
    Ledger.open(path).close()
    with Ledger.view(path) as reader, pytest.raises(StoreError):
        reader.append(labels([1]))


def test_a_changed_event_is_detected(path):
    with Ledger.open(path) as ledger:
        ledger.append(labels([1, 2, 3]))
        assert ledger.damage() == []
    raw = sqlite3.connect(path)
    raw.execute("DROP TRIGGER never_changed")
    raw.execute("UPDATE events SET body = replace(body, 'cat', 'dog') WHERE number = 2")
    raw.commit()
    raw.close()
    with Ledger.view(path) as ledger:
        assert ledger.damage() == ["event 2 (answered) was changed after it was written"]


def test_a_damaged_file_is_an_error_that_suggests_verify(path):
    with Ledger.open(path) as ledger:
        ledger.append(labels(range(200)))
    content = bytearray(path.read_bytes())
    content[100:8000] = b"x" * 7900
    path.write_bytes(content)
    with pytest.raises(StoreError, match="verify"), Ledger.view(path) as ledger:
        ledger.events()


@pytest.mark.parametrize("version", [0, 2])
def test_another_format_is_rejected(path, version):
    with Ledger.open(path) as ledger:
        ledger.append(labels([1]))
        ledger._connection.execute(f"PRAGMA user_version = {version}")
    for way in (Ledger.open, Ledger.view):
        with pytest.raises(StoreError, match=f"expected a ledger of format 1, got format {version}. Use the version"):
            way(path)


def test_a_process_killed_while_creating_a_ledger_leaves_no_file(path, monkeypatch):
    """A file without its table could not be read, and the campaign could not be resumed."""
    with monkeypatch.context() as patched:
        patched.setattr(ledgers, "_TABLE", "CREATE TABLE events (number INTEGER); interrupted;")
        with pytest.raises(StoreError, match="syntax error"):
            Ledger.open(path)
    assert list(path.parent.iterdir()) == []
    with Ledger.open(path) as ledger:
        ledger.append(labels([1]))
    assert [p.name for p in path.parent.iterdir()] == ["ledger.sqlite"]


KILLED = """
import os, sqlite3, sys
from pathlib import Path
from versionspace.store import ledger
connect = sqlite3.connect

class Killed(sqlite3.Connection):
    def executescript(self, script):
        super().executescript(script.partition("CREATE TRIGGER")[0] + "COMMIT;")
        os.kill(os.getpid(), 9)

ledger.sqlite3.connect = lambda *given, **named: connect(*given, **named, factory=Killed)
ledger.Ledger.open(Path(sys.argv[1]))
"""


def test_a_process_killed_by_a_signal_leaves_only_an_unfinished_file(path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -9
    assert not path.exists()
    (left,) = path.parent.iterdir()
    assert left.match(UNFINISHED)
    CampaignFolder(path.parent).remove_unfinished()
    assert list(path.parent.iterdir()) == []
