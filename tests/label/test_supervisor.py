"""The trainer's keeper: whatever happens to a trainer, it is started again, and the page is told why."""

import errno
import os
import subprocess
import sys
import time

import pytest

from versionspace.label import supervisor as supervising
from versionspace.label.supervisor import Supervisor
from versionspace.store import disk_full

READY = """print('{"kind": "ready"}', flush=True)"""
WAIT = "import sys; sys.stdin.read()"
"""As a trainer does that has nothing to do: until its input ends."""


class Starter:
    """In the place of the trainer: small programs, one after the other, the last of them again and again."""

    def __init__(self, *lives):
        self.lives, self.count = lives, 0

    def __call__(self, folder, errors):
        life = self.lives[min(self.count, len(self.lives) - 1)]
        self.count += 1
        if isinstance(life, Exception):
            raise life
        return subprocess.Popen(
            [sys.executable, "-c", life], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            bufsize=1,
        )  # fmt: skip


@pytest.fixture
def kept(desk, monkeypatch):
    """A keeper of such programs."""
    made = []

    def start(*lives, pause=0.05):
        starter = Starter(*lives)
        monkeypatch.setattr(supervising, "_started", starter)
        keeper = Supervisor(desk, first_pause=pause).start()
        keeper.starter = starter
        made.append(keeper)
        return keeper

    yield start
    for keeper in made:
        keeper.close()


def until(condition, seconds=20):
    limit = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.01)
    return found


def trouble(keeper):
    """What the page is told while the trainer is down."""
    return until(lambda: (now := keeper.now()).stage == "down" and now).trouble


def test_a_trainer_that_is_killed_in_the_midst_of_a_line_is_started_again(kept):
    line = """print('{"kind": "round", "events": [{"ki', end='', flush=True)"""
    keeper = kept(f"{READY}; {line}; import os; os.kill(os.getpid(), 9)", f"{READY}; {WAIT}", pause=0.5)
    assert trouble(keeper) == "it ended with code -9"
    until(lambda: keeper.now().stage == "idle")
    assert keeper.starter.count == 2


def test_a_start_that_fails_for_want_of_memory_is_tried_again(kept):
    no_memory = OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    keeper = kept(no_memory, no_memory, f"{READY}; {WAIT}", pause=0.3)
    assert trouble(keeper) == "Cannot allocate memory"
    until(lambda: keeper.now().stage == "idle")
    assert keeper.starter.count == 3


@pytest.mark.parametrize("said", ["a library prints this", "[1, 2]", "{}", "\\xff"])
def test_what_is_no_news_ends_a_trainer_and_not_its_keeper(kept, said):
    write = f"import sys; sys.stdout.buffer.write(b'{said}' + bytes([10])); sys.stdout.flush(); {WAIT}"
    keeper = kept(write, f"{READY}; {WAIT}", pause=0.5)
    assert trouble(keeper)
    until(lambda: keeper.now().stage == "idle")


def test_a_log_that_cannot_be_written_is_said(kept, desk):
    log = desk.campaign.folder.path / supervising.LOG
    log.mkdir()
    keeper = kept(f"{READY}; {WAIT}", pause=0.3)
    assert supervising.LOG in trouble(keeper)
    log.rmdir()
    until(lambda: keeper.now().stage == "idle")


def test_a_full_disk_while_it_is_asked_for_orders_is_said(kept, desk, monkeypatch):
    order = desk.order

    def no_room():
        raise disk_full(desk.campaign.folder.path)

    monkeypatch.setattr(desk, "order", no_room)
    keeper = kept(f"{READY}; {WAIT}", pause=0.3)
    assert "free space on the disk" in trouble(keeper)
    monkeypatch.setattr(desk, "order", order)
    until(lambda: keeper.now().stage == "idle")


def test_it_goes_on_trying_however_often_it_has_failed(kept):
    keeper = kept(OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), pause=0.0)
    until(lambda: keeper.starter.count > 1200)
    assert keeper._thread.is_alive()


def test_while_it_is_down_the_page_is_told_that_a_start_is_to_come(kept):
    keeper = kept(OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), pause=0.0)
    for _ in range(100):
        assert until(lambda: (now := keeper.now()).stage == "down" and now).retry > 0
