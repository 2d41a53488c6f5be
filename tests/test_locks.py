"""Locks between processes, released when their holder ends."""

import errno
import os
import subprocess
import sys
import threading
import time

import pytest

from versionspace import locks
from versionspace.locks import FileLock, exclusive

HOLD = """
import pathlib, sys, time
from versionspace.locks import FileLock
lock = FileLock(pathlib.Path(sys.argv[1]))
assert lock.acquire()
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lock"


def test_a_killed_holder_releases_the_lock(path):
    lock = FileLock(path)
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        assert not lock.acquire()
        assert lock.holder() == str(holder.pid)
        assert not lock.held
        holder.kill()
    assert lock.acquire()
    assert lock.holder() == str(os.getpid())
    lock.release()


def test_a_lock_excludes_its_own_process(path):
    first, second = FileLock(path), FileLock(path)
    assert first.acquire()
    assert first.held
    assert not second.acquire()
    first.release()
    first.release()  # without effect
    assert not first.held
    assert second.acquire()
    second.release()


def test_wait_returns_when_the_lock_is_released(path, monkeypatch):
    monkeypatch.setattr(locks, "POLL_SECONDS", 0.01)
    first, second, calls = FileLock(path), FileLock(path), []
    first.wait(lambda: calls.append("free"))
    assert calls == []
    timer = threading.Timer(0.1, first.release)
    timer.start()
    start = time.monotonic()
    second.wait(lambda: calls.append("waiting"))
    assert time.monotonic() - start > 0.05
    assert calls == ["waiting"]
    assert second.held
    second.release()
    timer.join()


def test_an_exclusive_block_deletes_its_file(tmp_path):
    path = tmp_path / "new folder" / "lock"

    def fail():
        with exclusive(path, lambda: None):
            assert not FileLock(path).acquire()
            raise OSError("failed inside")

    with pytest.raises(OSError, match="failed inside"):
        fail()
    assert not path.exists()


def test_a_deleted_file_is_not_locked(path, monkeypatch):
    """A process that opened the file before the holder deleted it must not hold a lock that others cannot see."""
    first = FileLock(path, unlink=True)
    assert first.acquire()
    lock = locks._lock

    def release_before(descriptor):
        first.release()
        lock(descriptor)

    monkeypatch.setattr(locks, "_lock", release_before)
    assert not FileLock(path).acquire()
    monkeypatch.setattr(locks, "_lock", lock)
    second = FileLock(path)
    assert second.acquire()
    second.release()


def test_a_file_system_without_locks_locks_nothing(path, monkeypatch):
    def unsupported(descriptor):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks, "_lock", unsupported)
    first, second = FileLock(path), FileLock(path)
    assert first.acquire()
    assert second.acquire()
    first.release()
    second.release()


def test_other_errors_are_raised(path, monkeypatch):
    def broken(descriptor):
        raise OSError(errno.EIO, "I/O error")

    monkeypatch.setattr(locks, "_lock", broken)
    with pytest.raises(OSError, match="I/O error"):
        FileLock(path).acquire()


def test_an_exclusive_block_reuses_the_file_that_a_killed_process_left(path):
    path.write_text("")
    waited = []
    with exclusive(path, lambda: waited.append(1)):
        assert not FileLock(path).acquire()
    assert not path.exists()
    assert waited == []


def test_an_exclusive_block_works_on_a_file_system_without_locks(path, monkeypatch):
    def unsupported(descriptor):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks, "_lock", unsupported)
    with exclusive(path, lambda: None):
        pass
    assert not path.exists()
