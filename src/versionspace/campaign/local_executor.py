"""Campaigns side by side: worker processes that die with their parent, fed one campaign after another.

A worker is ``python -m versionspace.campaign.worker``: jobs come in on its standard input, news go out on its standard
output, a line of JSON each. When its input ends, for whatever reason, it ends too.
"""

import json
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from versionspace.campaign.grid import Job, Listener, News, Run
from versionspace.subprocesses import close_input, forward_lines, send_line, start_child, wait_or_kill


def execute(jobs: Sequence[Job], root: Path, side_by_side: int, tell: Listener) -> Run:
    """Runs all jobs; the first in the list first. Ctrl-C stops them within an epoch."""
    failed: dict[Path, str] = {}

    def hear(news: News) -> None:
        if news.kind == "failed":
            failed[news.folder] = news.text
        tell(news)

    stopped = _here(jobs, hear) if side_by_side == 1 else _Crew(jobs, side_by_side, hear).work()
    return Run(root, failed, stopped)


def _here(jobs: Sequence[Job], tell: Listener) -> bool:
    from versionspace.campaign.worker import work

    try:
        for job in jobs:
            work(job, tell)
    except KeyboardInterrupt:
        return True
    return False


def encode(value: Any) -> str:
    """A line for the other side."""
    return json.dumps({k: str(v) if isinstance(v, Path) else v for k, v in asdict(value).items()}) + "\n"


def decode_job(line: str) -> Job:
    """A job from its line."""
    found = json.loads(line)
    shared, images = (None if found[name] is None else Path(found[name]) for name in ("shared", "images"))
    return Job(Path(found["folder"]), shared, found["threads"], found["accept_different"], images)


def decode_news(line: str) -> News:
    """News from their line."""
    found = json.loads(line)
    return News(**found | {"folder": Path(found["folder"])})


_INTERRUPT = (-1, "")


@contextmanager
def _interrupts(hear: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C calls ``hear`` and breaks into nothing; only the main thread can ask for that, and not where it is off."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: hear())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Crew:
    """Workers and the jobs that are left."""

    def __init__(self, jobs: Sequence[Job], count: int, tell: Listener) -> None:
        self.left = list(jobs)
        self.tell = tell
        self.heard: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        self.workers = [self._start(i) for i in range(min(count, len(jobs)))]
        self.busy: dict[int, Job] = {}
        self.stopping = False

    def work(self) -> bool:
        """Until all is done; whether somebody stopped it."""
        try:
            with _interrupts(lambda: self.heard.put(_INTERRUPT)):
                for index in range(len(self.workers)):
                    self._feed(index)
                while self.busy:
                    try:
                        found = self.heard.get(timeout=0.5)
                    except queue.Empty:
                        continue
                    if found == _INTERRUPT:
                        self._stop()
                    else:
                        self._hear(*found)
        finally:
            for worker in self.workers:
                close_input(worker)
            for worker in self.workers:
                wait_or_kill(worker, timeout=10)
                if worker.stdout is not None:
                    worker.stdout.close()
        return self.stopping

    def _start(self, index: int) -> "subprocess.Popen[str]":
        worker = start_child("versionspace.campaign.worker")
        lines, hear = worker.stdout, lambda line: self.heard.put((index, line))
        threading.Thread(target=forward_lines, args=(lines, hear), daemon=True).start()
        return worker

    def _feed(self, index: int) -> None:
        self.busy.pop(index, None)
        worker = self.workers[index]
        if self.stopping or not self.left:
            return
        self.busy[index] = self.left.pop(0)
        send_line(worker, encode(self.busy[index]))  # a worker that has died is noticed when its output ends

    def _hear(self, index: int, line: str) -> None:
        if not line:  # the worker is gone
            if index in self.busy:
                code = self.workers[index].wait()
                job = self.busy.pop(index)
                self.tell(News(job.folder, "failed", text=f"its process ended with {code}; nothing committed is lost"))
                if self.left and not self.stopping:
                    self.workers[index] = self._start(index)
                    self._feed(index)
            return
        news = decode_news(line)
        self.tell(news)
        if news.kind in ("done", "failed", "stopped"):
            self._feed(index)

    def _stop(self) -> None:
        """Once: ends fits within an epoch. Twice: ends the processes; what is committed is safe in either case."""
        for worker in self.workers:
            if self.stopping:
                worker.kill()
            else:
                send_line(worker, "stop\n")
        self.stopping = True
        self.left.clear()
