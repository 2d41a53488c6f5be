"""The executor of one machine: this process for one campaign at a time, worker processes for several.

Worker processes run `versionspace.campaign.worker`, take one job after another, and die with this process.
"""

import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from versionspace.campaign.datasets import Datasets
from versionspace.campaign.jobs import LAST, Job, Listener, News, Outcome
from versionspace.machine import cores
from versionspace.subprocesses import close_input, forward_lines, send_line, start_child, wait_or_kill

if TYPE_CHECKING:
    from versionspace.ensemble import GroupTrainer

_POLL_SECONDS = 0.5
"""How often the main thread wakes while no news arrive: Python runs signal handlers only then."""
_EXIT_SECONDS = 10
"""How long a worker may take to end after its input was closed."""


@dataclass(frozen=True)
class LocalExecutor:
    """Run up to ``workers`` campaigns at a time on this machine; 0: one for each core.

    A job that leaves its threads to the executor gets an equal share of the cores. Jobs that run in this process share
    the datasets that it has opened.
    """

    workers: int = 1
    datasets: Datasets = field(default_factory=Datasets, repr=False, compare=False)
    trainer: "GroupTrainer | None" = None
    """Trains groups of members elsewhere; only for one campaign at a time."""

    def execute(self, jobs: Sequence[Job], tell: Listener) -> Outcome:
        """Run all jobs. The first Ctrl-C stops fits within an epoch, a second one kills the workers."""
        workers = self.workers or cores()
        share = max(1, cores() // workers)
        ready = [replace(job, threads=job.threads or share) for job in jobs]
        failed: dict[Path, str] = {}

        def pass_on(news: News) -> None:
            if news.kind == "failed":
                failed[news.folder] = news.text
            tell(news)

        stopped = self._run_here(ready, pass_on) if workers == 1 else _Workers(ready, workers, pass_on).run()
        return Outcome(failed, stopped)

    def _run_here(self, jobs: Sequence[Job], tell: Listener) -> bool:
        """Run jobs in this process, one after another; return whether Ctrl-C stopped them."""
        from versionspace.campaign.worker import run_job  # imports torch

        newest: News | None = None

        def pass_on(news: News) -> None:
            nonlocal newest
            newest = news
            tell(news)

        try:
            for job in jobs:
                run_job(job, pass_on, datasets=self.datasets, trainer=self.trainer)
        except KeyboardInterrupt:
            if newest is not None and newest.kind not in LAST:
                tell(News(newest.folder, "stopped"))
            return True
        return False


_INTERRUPT = (-1, "")
"""In the queue of news: Ctrl-C."""


class _Workers:
    """Worker processes and the jobs that are left."""

    def __init__(self, jobs: Sequence[Job], count: int, tell: Listener) -> None:
        self.left = list(jobs)
        self.tell = tell
        self.lines: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        """A worker's number and a line of its output; an empty line when the output ends."""
        self.processes = [self._start(number) for number in range(min(count, len(jobs)))]
        self.running: dict[int, Job] = {}
        self.stopping = False

    def run(self) -> bool:
        """Run until no job is left; return whether Ctrl-C stopped it."""
        try:
            with on_interrupt(lambda: self.lines.put(_INTERRUPT)):
                for number in range(len(self.processes)):
                    self._next_job(number)
                while self.running:
                    try:
                        line = self.lines.get(timeout=_POLL_SECONDS)
                    except queue.Empty:
                        continue
                    if line == _INTERRUPT:
                        self._stop()
                    else:
                        self._take(*line)
        finally:
            self._end()
        return self.stopping

    def _start(self, number: int) -> "subprocess.Popen[str]":
        process = start_child("versionspace.campaign.worker")
        assert process.stdout is not None
        receive = partial(self._receive, number)
        threading.Thread(target=forward_lines, args=(process.stdout, receive), daemon=True).start()
        return process

    def _receive(self, number: int, line: str) -> None:
        if not line or line.endswith("\n"):  # else the process was killed while it wrote the line
            self.lines.put((number, line))

    def _next_job(self, number: int) -> None:
        self.running.pop(number, None)
        if self.left and not self.stopping:
            self.running[number] = self.left.pop(0)
            send_line(self.processes[number], self.running[number].to_json() + "\n")

    def _take(self, number: int, line: str) -> None:
        if not line:
            self._replace(number)
            return
        news = News.from_json(line)
        self.tell(news)
        if news.kind in LAST:
            self._next_job(number)

    def _replace(self, number: int) -> None:
        """Report the job of a worker that died as failed, and start another worker if jobs are left."""
        if number not in self.running:
            return
        code = self.processes[number].wait()
        job = self.running.pop(number)
        text = f"its process ended with exit code {code}; everything committed is safe"
        self.tell(News(job.folder, "failed", text=text))
        if self.left and not self.stopping:
            self.processes[number] = self._start(number)
            self._next_job(number)

    def _stop(self) -> None:
        """Stop fits within an epoch when first called, kill the workers when called again."""
        for process in self.processes:
            if self.stopping:
                process.kill()
            else:
                send_line(process, "stop\n")
        self.stopping = True
        self.left.clear()

    def _end(self) -> None:
        for process in self.processes:
            close_input(process)
        for process in self.processes:
            wait_or_kill(process, _EXIT_SECONDS)
            assert process.stdout is not None
            process.stdout.close()


@contextmanager
def on_interrupt(call: Callable[[], None]) -> Iterator[None]:
    """Call ``call`` on Ctrl-C instead of raising KeyboardInterrupt.

    Without effect outside the main thread, which alone may set handlers, and where the process ignores Ctrl-C.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: call())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
