"""Ctrl-C and a killed command: Ray and its workers end too, and the campaign resumes without Ray."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from campaign.tiny import TOML, run_campaign
from cluster.conftest import descendants
from versionspace.store import read_campaign, verify

VERSIONSPACE = (sys.executable, "-m", "versionspace.cli")
LONG = ("budget.total=25", "training.epochs=40")


@pytest.fixture
def running(tmp_path):
    """Start a command on a local cluster, and yield its process and all processes below it after the first round."""
    toml, out = tmp_path / "tiny.toml", tmp_path / "out"
    toml.write_text(TOML)
    changes = [part for change in LONG for part in ("--set", change)]
    cluster = ("--cluster", "local", "--cluster-set", "store=copy", "--cluster-set", "workers=1")
    command = [*VERSIONSPACE, "run", str(toml), "--methods", "gvd", "--seeds", "0", *changes, *cluster]
    process = subprocess.Popen(
        [*command, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    wait_for(lambda: list(out.glob("gvd/0/votes/round-0001.npz")) or process.poll() is not None)
    below = descendants(process.pid)
    assert len(below) > 3, "Ray's own processes, and a worker"
    yield process, below, out
    for pid, _ in alive(below):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def wait_for(holds, seconds=60):
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert holds()


def alive(pids, ignore=()):
    """Return what still runs: processes that have not ended, nor wait to be collected, nor have an ignored name."""
    found = []
    for pid in pids:
        with contextlib.suppress(OSError):
            ended = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
            name = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0 ").decode()
            if not ended and name not in ignore:
                found.append((pid, name))
    return found


def test_ctrl_c_stops_within_an_epoch_and_leaves_nothing_running(running, tmp_path):
    process, below, out = running
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole process group
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert f"versionspace resume {out}" in " ".join(said.decode().split())
    assert time.monotonic() - began < 30
    wait_for(lambda: not alive(below), 20)
    assert not any(verify(out).values())
    assert not read_campaign(out / "gvd" / "0").ended
    subprocess.run([*VERSIONSPACE, "resume", str(out), "--jobs", "1"], check=True, capture_output=True)
    resumed, whole = read_campaign(out / "gvd" / "0"), run_campaign(tmp_path / "whole", *LONG, "query.method='gvd'")
    assert [(r.asked, r.metrics) for r in resumed.rounds] == [(r.asked, r.metrics) for r in whole.rounds]


def test_a_killed_command_leaves_no_worker_running(running):
    process, below, out = running
    process.kill()
    process.communicate()
    # Two idle agents of Ray notice only after a minute that the cluster has ended.
    wait_for(lambda: not alive(below, ignore=("ray::DashboardAgent", "ray::RuntimeEnvAgent")), 20)
    assert not any(verify(out).values())
