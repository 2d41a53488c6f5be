"""A machine that dies in mid-round: the campaigns end on the others, with the same results."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

import versionspace as vs
from campaign.tiny import config
from cluster.two_nodes import SETTINGS
from versionspace.store import read_campaign, verify


@pytest.mark.slow
@pytest.mark.parametrize("store", ["shared", "copy"])
def test_a_node_is_killed(store, tmp_path):
    path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    command = [
        sys.executable,
        "-W",
        "ignore",
        str(Path(__file__).with_name("two_nodes.py")),
        str(tmp_path / "ray"),
        store,
    ]
    done = subprocess.run(
        command, env={**os.environ, **own, "PYTHONPATH": path}, capture_output=True, text=True, timeout=150, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert float(done.stdout.split()[-1]) < 60
    vs.run(config(*SETTINGS), methods=["gvd", "random"], seeds=[0], out=tmp_path / "local", progress=False)
    for name in ("gvd/0", "random/0"):
        here, there = (read_campaign(tmp_path / place / name).rounds for place in ("local", "ray"))
        assert [(r.asked, r.answers, r.metrics) for r in here] == [(r.asked, r.answers, r.metrics) for r in there]
    assert not any(verify(tmp_path / "ray").values())
