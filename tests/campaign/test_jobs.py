"""The executor seam: any object with `execute` can run a grid, and the rules of the protocol hold for ours."""

import pickle
import threading
import time
from pathlib import Path

import pytest

import versionspace as vs
from campaign.tiny import config
from versionspace.campaign import Job, LocalExecutor, News, Outcome, resume, worker
from versionspace.campaign.jobs import LAST
from versionspace.campaign.round import Step
from versionspace.campaign.worker import Stopped, run_job
from versionspace.errors import InputError
from versionspace.machine import cores
from versionspace.store import read_campaign

SMALL = ("budget.total=15",)


class Recording:
    """An executor in this process: runs the jobs in order, and stops or skips on request."""

    def __init__(self, fail=(), stop_after=None):
        self.jobs, self.fail, self.stop_after = [], fail, stop_after

    def execute(self, jobs, tell):
        failed = {}
        for job in jobs:
            if len(self.jobs) == self.stop_after:
                return Outcome(failed, stopped=True)
            self.jobs.append(job)
            if job.folder.parent.name in self.fail:
                failed[job.folder] = "the machine is on fire"
                tell(News(job.folder, "failed", text=failed[job.folder]))
            else:
                run_job(job, tell)
        return Outcome(failed)


def started(executor):
    return [(job.folder.parent.name, job.folder.name) for job in executor.jobs]


def grid(out, executor, heard=None, **options):
    listener = False if heard is None else heard.append
    return vs.run(
        config(*SMALL), methods=["gvd", "random"], seeds=[0, 1], out=out, progress=listener, executor=executor,
        **options,
    )  # fmt: skip


def test_a_grid_runs_on_any_executor_in_the_order_of_its_jobs(tmp_path):
    executor, heard = Recording(), []
    result = grid(tmp_path, executor, heard)
    assert started(executor) == [("gvd", "0"), ("gvd", "1"), ("random", "0"), ("random", "1")]
    assert {record.ended for record in result.campaigns()} == {"budget"}
    assert (result.folder, result.failed, result.stopped) == (tmp_path, {}, False)
    assert [news.folder for news in heard if news.kind == "done"] == [job.folder for job in executor.jobs]
    assert all(job.shared == tmp_path / "shared" / job.folder.name for job in executor.jobs)
    assert all(job.threads == 0 for job in executor.jobs), "left to the executor"


def test_what_failed_or_was_left_is_resumed(tmp_path):
    broken = grid(tmp_path, Recording(fail=("gvd",), stop_after=3))
    assert broken.failed == dict.fromkeys([tmp_path / "gvd" / "0", tmp_path / "gvd" / "1"], "the machine is on fire")
    assert broken.stopped
    rest = Recording()
    assert resume(tmp_path, progress=False, executor=rest).failed == {}
    assert started(rest) == [("gvd", "0"), ("gvd", "1"), ("random", "1")]
    nothing = Recording()
    resume(tmp_path, progress=False, executor=nothing)
    assert nothing.jobs == []


def test_the_executor_changes_no_result(tmp_path):
    grid(tmp_path / "own", Recording())
    grid(tmp_path / "default", None)
    for path in ("gvd/0", "gvd/1", "random/0", "random/1"):
        own, default = (read_campaign(tmp_path / name / path).rounds for name in ("own", "default"))
        assert [(r.asked, r.answers, r.metrics) for r in own] == [(r.asked, r.answers, r.metrics) for r in default]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_executor_of_this_machine_keeps_the_rules(workers, tmp_path):
    heard, inside = [], threading.Lock()

    def hear(news):
        assert inside.acquire(blocking=False), "called concurrently"
        heard.append(news)
        inside.release()

    vs.run(
        config(*SMALL), methods=["gvd", "random"], seeds=[0, 1], out=tmp_path, progress=hear,
        executor=LocalExecutor(workers),
    )  # fmt: skip
    for folder in {news.folder for news in heard}:
        own = [news for news in heard if news.folder == folder]
        assert [news.kind for news in own if news.kind in LAST] == ["done"]
        assert own[-1].kind == "done"
        assert (own[-1].labels, own[-1].budget, own[-1].text) == (15, 15, "budget")
        last = read_campaign(folder).measured_rounds()[-1].metrics
        assert (own[-1].accuracy, own[-1].diameter) == (last.headline("accuracy"), last.headline("pwd"))


def test_steps_from_several_threads_are_told_one_at_a_time(tmp_path, monkeypatch):
    class Training:
        @staticmethod
        def open(folder, *, report, **_):
            threads = [threading.Thread(target=report, args=(Step(1, "fit"),)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            raise InputError("images", expected="some", got="none", fix="Add some.")

    heard, inside = [], threading.Lock()

    def hear(news):
        alone = inside.acquire(blocking=False)
        heard.append((news.kind, alone))
        time.sleep(0.01)
        if alone:
            inside.release()

    monkeypatch.setattr(worker, "Campaign", Training)
    run_job(Job(tmp_path), hear)
    assert heard == [("step", True)] * 8 + [("failed", True)]


@pytest.mark.parametrize(("threads", "expected"), [(0, max(1, cores() // 3)), (5, 5)])
def test_jobs_that_name_no_threads_share_the_cores(threads, expected, tmp_path, monkeypatch):
    from versionspace.campaign import local_executor

    given = []
    monkeypatch.setattr(local_executor._Workers, "__init__", lambda self, jobs, count, tell: given.extend(jobs))
    monkeypatch.setattr(local_executor._Workers, "run", lambda self: False)
    LocalExecutor(3).execute([Job(tmp_path, threads=threads)], print)
    assert [job.threads for job in given] == [expected]


def test_a_stopped_job_ends_at_its_next_step_and_is_resumed(tmp_path):
    heard, stop = [], threading.Event()

    def hear(news):
        heard.append(news)
        if news.kind == "step":
            stop.set()

    class Stopping:
        def execute(self, jobs, tell):
            with pytest.raises(Stopped):
                run_job(jobs[0], tell, stop=stop)
            tell(News(jobs[0].folder, "stopped"))
            return Outcome(stopped=True)

    result = vs.run(
        config(*SMALL), methods=["gvd"], seeds=[0], out=tmp_path, progress=hear, executor=Stopping()
    )  # fmt: skip
    assert result.stopped
    assert [news.kind for news in heard] == ["round", "round", "step", "stopped"]
    assert resume(tmp_path, progress=False).campaigns()[0].ended == "budget"


def test_jobs_and_news_cross_processes(tmp_path):
    job = Job(tmp_path / "gvd" / "0", tmp_path / "shared", 2, True, Path("fotos ü"))
    news = News(job.folder, "round", 3, labels=20, budget=40, accuracy=0.1 + 0.2, text="Ω\n")
    for record in (job, Job(tmp_path), news):
        assert pickle.loads(pickle.dumps(record)) == record
        assert type(record).from_json(record.to_json()) == record
        assert "\n" not in record.to_json()
