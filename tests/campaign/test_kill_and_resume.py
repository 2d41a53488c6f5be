"""A run that is killed at any moment and resumed gives bitwise the same queries, labels and metrics."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from campaign.tiny import TOML
from versionspace.cli.summary import as_data
from versionspace.store import campaigns, read_campaign, verify

KILLS = 30
COMMANDS = 6
RUN = ("--methods", "gvd,random", "--seeds", "0")
VERSIONSPACE = (sys.executable, "-m", "versionspace.cli")


@pytest.fixture(scope="module")
def toml(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "tiny.toml"
    path.write_text(TOML.replace("epochs = 3", "epochs = 8").replace("members = 3", "members = 12"))
    return str(path)


@pytest.fixture(scope="module")
def undisturbed(toml, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    command(toml, out, "--jobs", "1")
    return status(out)


def command(toml, out, *more):
    subprocess.run([*VERSIONSPACE, "run", toml, *RUN, "--out", str(out), *more], check=True, capture_output=True)


def status(out):
    """Return what `status --json` prints, without the environment."""
    found = json.loads(json.dumps([as_data(read_campaign(folder)) for folder in campaigns(out)]))
    for campaign in found:
        assert campaign.pop("environment")["folder"].startswith(str(out))
    return found


def started(toml, out, jobs):
    """Start a run in its own session, so that all of its processes can be killed."""
    line = [*VERSIONSPACE, "run", toml, *RUN, "--out", str(out), "--jobs", jobs]
    return subprocess.Popen(line, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def tree(pid):
    """Return the ids of a process and its descendants. Processes and threads may end meanwhile."""
    found, threads = [pid], []
    with contextlib.suppress(FileNotFoundError):
        threads = list(Path(f"/proc/{pid}/task").glob("*/children"))
    for children in threads:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found += [p for child in children.read_text().split() for p in tree(int(child))]
    return found


def kill(process):
    for pid in tree(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.communicate()


class Forking:
    """Runs that start without the time for imports: see forking.py."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("forking.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, toml, out, *, seconds=600, moment=0):
        """Return the exit code and the number of writes of a run, which is killed after ``seconds`` or at a write."""
        self.process.stdin.write(f"{toml} {out} {moment}\n")
        self.process.stdin.flush()
        lines = [self.process.stdout.readline()]
        timer = threading.Timer(seconds, lambda: os.killpg(int(lines[0]), signal.SIGKILL))
        timer.start()
        while not lines[-1].startswith("ended"):
            lines.append(self.process.stdout.readline())
        timer.cancel()
        return int(lines[-1].split()[1]), int(lines[1]) if len(lines) == 3 else None


@pytest.fixture(scope="module")
def forking():
    made = Forking()
    yield made
    made.process.communicate()


def verifies(out):
    """Return whether everything that was committed verifies."""
    return not any(out.glob("*/*/campaign.toml")) or not any(verify(out).values())


@pytest.mark.slow
def test_killed_at_thirty_random_moments(toml, undisturbed, forking, tmp_path):
    """Six kills of whole commands with two workers, imports included; the others during training and writing."""
    draw = random.Random(0)
    out = tmp_path / "commands"
    for _ in range(COMMANDS):
        process = started(toml, out, jobs="2")
        try:
            process.communicate(timeout=draw.uniform(0.2, 6.0))
        except subprocess.TimeoutExpired:
            kill(process)
        assert verifies(out)
    command(toml, out)
    assert status(out) == undisturbed

    began = time.monotonic()
    assert forking.run(toml, tmp_path / "timed")[0] == 0
    length = time.monotonic() - began
    kills, runs = 0, 0
    while kills < KILLS - COMMANDS or runs == 0:
        out = tmp_path / str(runs)
        code, _ = forking.run(toml, out, seconds=draw.uniform(0.02, 0.4) * length)
        assert code in (0, -signal.SIGKILL)
        assert verifies(out)
        if code == 0:
            assert status(out) == undisturbed
            runs += 1
        else:
            kills += 1
    assert forking.run(toml, tmp_path / str(runs))[0] == 0
    assert status(tmp_path / str(runs)) == undisturbed


@pytest.mark.slow
def test_killed_during_a_write(toml, undisturbed, forking, tmp_path):
    """Kill at a random choice of renames, syncs and transactions."""
    code, writes = forking.run(toml, tmp_path / "whole")
    assert code == 0
    assert writes > 40
    configs = (2, 5, 8)  # three config files: each is synced and renamed, and its folder synced
    for moment in [*configs, *sorted(random.Random(1).sample(range(9, writes), 8))]:
        out = tmp_path / str(moment)
        assert forking.run(toml, out, moment=moment)[0] == -signal.SIGKILL
        assert verifies(out)
        assert forking.run(toml, out)[0] == 0
        assert status(out) == undisturbed, moment


def test_jobs_change_no_result(toml, undisturbed, tmp_path):
    command(toml, tmp_path / "two", "--jobs", "2")
    assert status(tmp_path / "two") == undisturbed


def test_workers_die_with_their_parent(toml, tmp_path):
    process = started(toml, tmp_path / "out", jobs="2")
    deadline = time.monotonic() + 60
    while len(below := tree(process.pid)[1:]) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(below) == 2
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in below) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in below)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_stops_the_run_and_prints_how_to_resume(jobs, toml, undisturbed, tmp_path):
    out = tmp_path / "out"
    process = started(toml, out, jobs)
    deadline = time.monotonic() + 60
    while not list(out.glob("*/0/votes/round-0001.npz")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert f"versionspace resume {out}" in " ".join(said.decode().split())
    assert not any(verify(out).values())
    done = subprocess.run([*VERSIONSPACE, "resume", str(out)], check=False, capture_output=True)
    assert done.returncode == 0
    assert status(out) == undisturbed
    again = subprocess.run([*VERSIONSPACE, "resume", str(out)], check=False, capture_output=True)
    assert again.returncode == 0  # a finished run is left as it is
