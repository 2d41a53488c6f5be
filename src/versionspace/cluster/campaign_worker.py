"""The process that runs campaigns on a cluster: a Ray actor, which takes one job after another.

Where the machines share no disk, the worker has a scratch folder with a copy of the campaign. It gets a parcel with
everything that was committed, and sends one back with each round.
"""

import contextlib
import os
import queue
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from versionspace.campaign import Datasets, Job, News, fetch_if_missing
from versionspace.locks import POLL_SECONDS, FileLock
from versionspace.store import CampaignFolder, Lock, LockedError, Parcel, Stamps, pack, read_stored_config, unpack

ANSWER_SECONDS = 2.0
"""How long `CampaignWorker.news` waits for news before it answers without: a sign of life."""

_GATHER_SECONDS = 0.1
"""How long more news are gathered into one answer: each epoch of each group is news, and answers take time from the
training."""


@dataclass(frozen=True)
class Assignment:
    """A job, and the copies of its folders where the machines share no disk."""

    job: Job
    campaign: Parcel | None = None
    """The campaign's folder; None if the worker uses the folder itself."""
    shared: Parcel | None = None
    """The folder of the grid's first ensemble, if there is one."""
    lock_seconds: float = 0.0
    """How long to wait for the campaign's lock: a worker that is thought dead may hold it for a while."""


@dataclass(frozen=True)
class Report:
    """News of a job, and what it has committed since the last report."""

    news: News
    campaign: Parcel | None = None
    shared: Parcel | None = None


class CampaignWorker:
    """Runs campaigns, one at a time, in a thread of its own; the others answer `news` and `stop`."""

    def __init__(self) -> None:
        self._reports: queue.SimpleQueue[Report] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._datasets = Datasets()

    def start(self, assignment: Assignment) -> int:
        """Begin a job and return this process's id."""
        threading.Thread(target=self._run, args=(assignment,), daemon=True).start()
        return os.getpid()

    def stop(self) -> None:
        """Stop the running fit within an epoch."""
        self._stop.set()

    def news(self) -> list[Report]:
        """Return the reports since the last call; after `ANSWER_SECONDS` without any, an empty list."""
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self._reports.get(timeout=ANSWER_SECONDS))
            time.sleep(_GATHER_SECONDS)
            while True:
                found.append(self._reports.get_nowait())
        return found

    def _run(self, assignment: Assignment) -> None:
        from versionspace.campaign import Stopped, run_job  # imports torch

        job = assignment.job
        try:
            with _folders(assignment) as copied:

                def tell(news: News) -> None:
                    self._reports.put(copied.report(replace(news, folder=job.folder)))

                try:
                    _wait_for_lock(copied.job.folder, assignment.lock_seconds)
                    fetch_if_missing(read_stored_config(CampaignFolder(copied.job.folder).config).data.name)
                    run_job(copied.job, tell, stop=self._stop, datasets=self._datasets)
                except Stopped:
                    tell(News(job.folder, "stopped"))
        except BaseException as error:
            traceback.print_exc(file=sys.stderr)
            text = str(error) or "no message"
            self._reports.put(Report(News(job.folder, "failed", text=f"{type(error).__name__}: {text}")))


class _Folders:
    """The folders that a job uses here; copies of them where the machines share no disk."""

    def __init__(self, job: Job, shared_is_new: bool = False, parcel: Parcel | None = None) -> None:
        self.job = job
        self._copied = parcel is not None
        self._send_shared = shared_is_new
        self._known: Stamps = {}
        self._last_event = 0
        if parcel is not None:
            unpack(parcel, job.folder)
            self._known, self._last_event = pack(job.folder).stamps, parcel.last_event

    def report(self, news: News) -> Report:
        """Return a report: with the end of a round, or of the job, also what is new in the copies."""
        if not self._copied or news.kind == "step":
            return Report(news)
        campaign = pack(self.job.folder, self._known, self._last_event)
        self._known, self._last_event = campaign.stamps, campaign.last_event or self._last_event
        shared, place = None, self.job.shared
        if self._send_shared and place is not None and (place / "ensemble.json").is_file():
            shared, self._send_shared = pack(place), False
        return Report(news, replace(campaign, stamps={}), shared)


@contextlib.contextmanager
def _folders(assignment: Assignment) -> Iterator[_Folders]:
    job = assignment.job
    if assignment.campaign is None:
        yield _Folders(job)
        return
    with _scratch() as scratch:
        shared = None if job.shared is None else scratch / "shared" / job.shared.name
        if shared is not None and assignment.shared is not None:
            unpack(assignment.shared, shared)
        own = replace(job, folder=scratch / job.folder.parent.name / job.folder.name, shared=shared)
        own.folder.mkdir(parents=True)
        yield _Folders(own, assignment.shared is None, assignment.campaign)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """Yield a new folder, deleted afterwards; first delete those of workers that were killed."""
    base = Path(tempfile.gettempdir()) / f"versionspace-cluster-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    base.mkdir(mode=0o700, exist_ok=True)
    for left in base.glob("*.lock"):
        lock = FileLock(left, unlink=True)
        if lock.acquire():
            shutil.rmtree(left.with_suffix(""), ignore_errors=True)
            lock.release()
    folder = Path(tempfile.mkdtemp(dir=base))
    lock = FileLock(folder.with_suffix(".lock"), unlink=True)
    lock.wait()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def _wait_for_lock(folder: Path, seconds: float) -> None:
    """Wait until no other process uses a campaign, at most so long; whoever opens it next reports that it is in use."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(LockedError), Lock(folder):
            return
        time.sleep(POLL_SECONDS)
