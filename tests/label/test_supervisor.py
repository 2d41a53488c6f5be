"""The supervisor restarts a trainer whatever happens to it, and the page shows why."""

import errno
import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from versionspace.label import label_folder
from versionspace.label import supervisor as module
from versionspace.label.service import LabelService
from versionspace.label.supervisor import Supervisor, TrainerStatus
from versionspace.label.trainer_messages import SampleFeatures
from versionspace.query import coverage_kernel
from versionspace.store import disk_full

READY = """print('{"kind": "ready"}', flush=True)"""
WAIT = "import sys; sys.stdin.read()"
"""What an idle trainer does: wait until its input ends."""


class Starter:
    """Starts small programs in place of the trainer, one after the other; the last one repeatedly."""

    def __init__(self, *programs):
        self.programs, self.count = programs, 0

    def __call__(self, folder, errors):
        program = self.programs[min(self.count, len(self.programs) - 1)]
        self.count += 1
        if isinstance(program, Exception):
            raise program
        return subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            bufsize=1,
        )  # fmt: skip


@pytest.fixture
def supervise(service, monkeypatch):
    """Start a supervisor of such programs."""
    made = []

    def start(*programs, pause=0.05):
        starter = Starter(*programs)
        monkeypatch.setattr(module, "_start_trainer", starter)
        supervisor = Supervisor(service, first_pause=pause).start()
        supervisor.starter = starter
        made.append(supervisor)
        return supervisor

    yield start
    for supervisor in made:
        supervisor.close()


def until(condition, seconds=20):
    limit = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < limit, "timed out"
        time.sleep(0.01)
    return found


def problem(supervisor):
    """Return the problem that the page shows while the trainer is down."""
    return until(lambda: (now := supervisor.status()).stage == "down" and now).problem


def test_a_trainer_killed_in_the_middle_of_a_line_is_restarted(supervise):
    line = """print('{"kind": "round", "events": [{"ki', end='', flush=True)"""
    supervisor = supervise(f"{READY}; {line}; import os; os.kill(os.getpid(), 9)", f"{READY}; {WAIT}", pause=0.5)
    assert problem(supervisor) == "it exited with code -9"
    until(lambda: supervisor.status().stage == "idle")
    assert supervisor.starter.count == 2


def test_a_start_that_fails_for_lack_of_memory_is_retried(supervise):
    no_memory = OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    supervisor = supervise(no_memory, no_memory, f"{READY}; {WAIT}", pause=0.3)
    assert problem(supervisor) == "Cannot allocate memory"
    until(lambda: supervisor.status().stage == "idle")
    assert supervisor.starter.count == 3


@pytest.mark.parametrize("line", ["a library prints this", "[1, 2]", "{}", "\\xff"])
def test_a_line_that_is_no_message_stops_the_trainer_and_not_the_supervisor(supervise, line):
    write = f"import sys; sys.stdout.buffer.write(b'{line}' + bytes([10])); sys.stdout.flush(); {WAIT}"
    supervisor = supervise(write, f"{READY}; {WAIT}", pause=0.5)
    assert problem(supervisor)
    until(lambda: supervisor.status().stage == "idle")


def test_a_log_that_cannot_be_written_is_reported(supervise, service):
    log = service.campaign.folder.path / module.LOG
    log.mkdir()
    supervisor = supervise(f"{READY}; {WAIT}", pause=0.3)
    assert module.LOG in problem(supervisor)
    log.rmdir()
    until(lambda: supervisor.status().stage == "idle")


def test_a_full_disk_is_reported(supervise, service, monkeypatch):
    next_round_size = service.next_round_size

    def no_room():
        raise disk_full(service.campaign.folder.path)

    monkeypatch.setattr(service, "next_round_size", no_room)
    supervisor = supervise(f"{READY}; {WAIT}", pause=0.3)
    assert "free space on the disk" in problem(supervisor)
    monkeypatch.setattr(service, "next_round_size", next_round_size)
    until(lambda: supervisor.status().stage == "idle")


def test_the_supervisor_keeps_trying_however_often_it_failed(supervise):
    supervisor = supervise(OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), pause=0.0)
    until(lambda: supervisor.starter.count > 1200)
    assert supervisor._thread.is_alive()


@pytest.mark.parametrize("seconds", [-5.0, 0.0, 0.01, 30.0])
def test_the_time_to_the_next_start_is_positive_while_the_trainer_is_down(service, seconds):
    supervisor = Supervisor(service)
    supervisor._restart_at = time.monotonic() + seconds
    assert supervisor.status().retry_seconds == 0, "it is starting"
    supervisor._status = TrainerStatus("down")
    assert 0 < supervisor.status().retry_seconds == pytest.approx(max(0.1, seconds), abs=0.15)


def test_the_features_that_a_trainer_sends_decide_what_covers_the_folder(service, supervise):
    ids = service.covering.ids[:40]
    points = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
    before = list(service.covering.choose(5))
    message = json.dumps(SampleFeatures(ids, points).to_message())
    supervise(f"print({message!r}, flush=True); {READY}; {WAIT}")

    def covering():
        with service.lock:
            found = list(service.covering.choose(5))
        return found != before and found

    chosen = until(covering)
    kernel = coverage_kernel(points.astype(np.float16).astype(np.float32))
    assert chosen[0] == ids[int(kernel.mean(axis=1).argmax())]


def test_a_real_trainer_sends_features_of_its_extractor(folder):
    with label_folder(folder.photos, folder.classes, budget=30, net="heads") as campaign:
        service = LabelService(campaign)
        assert service.covering._coverage.kernel.size == 0  # nothing is decoded, and colours are not used
        supervisor = Supervisor(service).start()
        try:
            until(lambda: supervisor.status().stage == "idle", seconds=60)
        finally:
            supervisor.close()
        kernel = service.covering._coverage.kernel
        assert len(kernel) == len(service.covering.ids)
        assert kernel.min() < 0.5 < kernel.max()
