"""Grids on a real Ray cluster: the results of the local executor, bit for bit, also after workers were killed."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import pytest

import versionspace as vs
from campaign.tiny import config
from cluster.conftest import descendants
from versionspace.campaign import Job, Outcome, resume
from versionspace.campaign.jobs import LAST
from versionspace.errors import InputError
from versionspace.store import Lock, read_campaign, verify

GRID = {"methods": ["gvd", "random"], "seeds": [0]}
PATHS = ("gvd/0", "random/0")
SMALL = ("budget.total=20",)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Return the rounds of the grid that all tests run, by the local executor."""
    out = tmp_path_factory.mktemp("local")
    vs.run(config(*SMALL), **GRID, out=out, progress=False)
    return rounds(out)


def rounds(out, paths=PATHS):
    found = {path: read_campaign(out / path).rounds for path in paths}
    return {path: [(r.asked, r.answers, r.metrics) for r in each] for path, each in found.items()}


def worker_pids():
    """Return the processes of this session's campaign workers."""
    found = []
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            if b"CampaignWorker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


class Listening:
    """Records news, asserts that they come one at a time, and calls ``act`` on the first that matches."""

    def __init__(self, matches=lambda news: False, act=lambda: None):
        self.heard, self._matches, self._act, self._inside = [], matches, act, threading.Lock()

    def __call__(self, news):
        assert self._inside.acquire(blocking=False), "called concurrently"
        self.heard.append(news)
        if self._matches(news):
            self._matches = lambda news: False
            self._act()
        self._inside.release()


@pytest.mark.parametrize("store", ["shared", "copy"])
def test_a_grid_has_the_results_of_the_local_executor(store, local, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the folders of the jobs are relative: workers run elsewhere
    listener = Listening()
    result = vs.run(config(*SMALL), **GRID, out="out", progress=listener, executor=local(store=store))
    assert (result.failed, result.stopped) == ({}, False)
    assert rounds(tmp_path / "out") == expected
    assert not any(verify("out").values())
    for path in PATHS:
        own = [news for news in listener.heard if str(news.folder) == f"out/{path}"]
        assert [news.kind for news in own if news.kind in LAST] == ["done"]
        assert (own[-1].kind, own[-1].labels, own[-1].text) == ("done", 20, "budget")
        assert {"fit", "predict", "measure"} <= {news.stage for news in own if news.kind == "step"}
    assert (tmp_path / "out" / "shared" / "0" / "ensemble.json").is_file()


@pytest.mark.parametrize("store", ["shared", "copy"])
def test_a_campaign_whose_worker_was_killed_resumes_on_another(store, local, expected, tmp_path):
    killed, seen = [], []

    def kill():
        seen.append(read_campaign(tmp_path / "gvd/0").spent)
        for pid in worker_pids():
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    listener = Listening(lambda news: news.kind == "round" and news.labels == 15, kill)
    result = vs.run(
        config(*SMALL), methods=["gvd"], seeds=[0], out=tmp_path, progress=listener, executor=local(store=store)
    )  # fmt: skip
    assert len(killed) == 1
    assert seen[0] >= 15, "what was reported is in the folder of this process"
    assert result.failed == {}
    assert rounds(tmp_path, ["gvd/0"]) == {"gvd/0": expected["gvd/0"]}
    assert not any(verify(tmp_path).values())


def test_a_campaign_whose_workers_keep_dying_fails_with_a_sentence(local, tmp_path):
    listener = Listening()

    def kill_all(news):
        listener(news)
        for pid in worker_pids():
            os.kill(pid, signal.SIGKILL)

    executor = local(retries=0)
    result = vs.run(config(*SMALL), methods=["gvd"], seeds=[0], out=tmp_path, progress=kill_all, executor=executor)
    (text,) = result.failed.values()
    assert text.startswith("its worker died: ")
    assert text.endswith("; everything committed is safe")
    assert listener.heard[-1].kind == "failed"
    assert "Traceback" not in text
    assert "\n" not in text


def test_an_error_is_the_campaigns_own_and_the_others_continue(local, tmp_path):
    vs.run(config(*SMALL), methods=["random"], seeds=[0, 1], out=tmp_path, progress=False, executor=Nothing())
    (tmp_path / "shared" / "0").mkdir(parents=True)
    (tmp_path / "shared" / "0" / "ensemble.json").write_text("no JSON")
    result = resume(tmp_path, progress=False, executor=local(workers=1))
    assert list(result.failed) == [tmp_path / "random" / "0"]
    assert result.failed[tmp_path / "random" / "0"].startswith("JSONDecodeError: Expecting value")
    assert read_campaign(tmp_path / "random" / "1").ended == "budget"


class Nothing:
    """Creates the folders of a grid and runs none of it."""

    def execute(self, jobs, tell):
        return Outcome()


def test_a_campaign_in_use_is_not_run_twice(local, tmp_path):
    vs.run(config(*SMALL), methods=["gvd"], seeds=[0], out=tmp_path, progress=False, executor=Nothing())
    with Lock(tmp_path / "gvd" / "0"):
        for store in ("shared", "copy"):
            result = resume(tmp_path, progress=False, executor=local(store=store))
            assert "in use by process" in result.failed[tmp_path / "gvd" / "0"], store


def test_an_error_of_the_listener_ends_the_workers(local, tmp_path):
    def hear(news):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        vs.run(config(*SMALL), methods=["gvd"], seeds=[0], out=tmp_path, progress=hear, executor=local())
    assert wait_until(lambda: not worker_pids())


def wait_until(holds, seconds=20):
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.1)
    return holds()


@pytest.mark.parametrize(
    ("address", "settings", "message"),
    [
        ("ray://", {}, "expected local, auto or ray://HOST:PORT, got 'ray://'"),
        ("10.0.0.1", {}, "expected local, auto or ray://HOST:PORT"),
        ("local", {"cpu": 2}, "expected a setting: store, workers, spread, cpus"),
        ("local", {"store": "s3"}, "store: expected 'shared' or 'copy', got 's3'"),
        ("local", {"cpus": 0}, "cpus: expected a whole number of at least 1, got 0"),
        ("local", {"gpus": -1}, "gpus: expected a number of at least 0, got -1"),
        ("local", {"retries": True}, "retries: expected a whole number"),
    ],
)
def test_wrong_settings_are_rejected(address, settings, message):
    with pytest.raises(InputError, match=message):
        vs.cluster(address, **settings)


def test_what_no_machine_can_run_is_rejected_at_once(local, tmp_path):
    job = Job(tmp_path)
    with pytest.raises(InputError, match="expected a machine with 64 CPUs and 0 GPUs, for one worker, got 2 CPUs"):
        local(cpus=64).execute([job], print)
    with pytest.raises(InputError, match="1 CPUs and 1 GPUs"):
        local(gpus=1).execute([job], print)


@pytest.mark.parametrize(("settings", "limit"), [({"cpus": 1}, 2), ({"cpus": 2}, 1), ({"workers": 5}, 5)])
def test_as_many_workers_run_as_the_machines_have_room_for(settings, limit, local, ray):
    assert local(**{"workers": 0, **settings}).limit(ray) == limit


def test_more_workers_than_the_machines_have_room_for_wait_for_their_turn(local, tmp_path):
    many = {"methods": ["random"], "seeds": [0, 1, 2], "out": tmp_path, "progress": False}
    result = vs.run(config("budget.total=10"), **many, executor=local(workers=3))
    assert result.failed == {}
    assert {record.ended for record in result.campaigns()} == {"budget"}
