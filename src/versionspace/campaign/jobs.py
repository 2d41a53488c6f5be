"""The seam between a grid and whatever runs its campaigns: jobs go in, news come out.

A grid hands an `Executor` one `Job` for each campaign that has not ended. `versionspace.campaign.local_executor` is the
executor of one machine; another one, for a cluster say, needs nothing but this module and `worker.run_job`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from versionspace.store import Record, campaigns, read_campaign

NewsKind: TypeAlias = Literal["step", "round", "done", "failed", "stopped"]

LAST: tuple[NewsKind, ...] = ("done", "failed", "stopped")
"""Kinds of news after which a job sends no more."""


@dataclass(frozen=True)
class Job:
    """One campaign to run until it ends. Plain data: it can be pickled and written as JSON.

    >>> job = Job(Path("runs/gvd/0"), shared=Path("runs/shared/0"))
    >>> Job.from_json(job.to_json()) == job
    True
    """

    folder: Path
    """The campaign's folder, which holds its config and everything that it has committed so far."""
    shared: Path | None = None
    """Where the campaigns of a grid that have the same seed share their first ensemble; None: not part of a grid."""
    threads: int = 0
    """CPU threads to train with; 0: the executor divides the cores among the campaigns that run at the same time."""
    accept_different: bool = False
    """Resume even if torch, NumPy or the CPU changed."""
    images: Path | None = None
    """The folder of images, if it was moved since the campaign began."""

    def to_json(self) -> str:
        """Return the job as one line of JSON."""
        return _line(self)

    @classmethod
    def from_json(cls, line: str) -> "Job":
        """Return the job that `to_json` wrote."""
        values = json.loads(line)
        paths = {name: None if values[name] is None else Path(values[name]) for name in ("folder", "shared", "images")}
        return cls(**values | paths)


@dataclass(frozen=True)
class News:
    """What a running campaign reports: each stage of a round, each round, and how it ended.

    >>> news = News(Path("runs/gvd/0"), "round", round=2, labels=40, budget=100, accuracy=0.9)
    >>> News.from_json(news.to_json()) == news
    True
    """

    folder: Path
    kind: NewsKind
    """"step": a stage begins or advances; "round": labels were given; then one of "done", "failed" and "stopped"."""
    round: int = 0
    stage: str = ""
    """Of a step: "fit", "predict", "measure" or "query"."""
    share: float = 0.0
    """Of a step: how much of the stage is done, from 0 to 1."""
    labels: int = 0
    """Of "round" and "done", like the three that follow: labels given so far, the audit's included."""
    budget: int = 0
    accuracy: float | None = None
    """Of the newest ensemble, as are the metrics of a summary; None before the first, or where labels are unknown."""
    diameter: float | None = None
    text: str = ""
    """Why the campaign ended or failed."""

    def to_json(self) -> str:
        """Return the news as one line of JSON."""
        return _line(self)

    @classmethod
    def from_json(cls, line: str) -> "News":
        """Return the news that `to_json` wrote."""
        values = json.loads(line)
        return cls(**values | {"folder": Path(values["folder"])})


Listener: TypeAlias = Callable[[News], None]


@dataclass(frozen=True)
class Outcome:
    """What an executor returns."""

    failed: Mapping[Path, str] = field(default_factory=dict)
    """Folders of the campaigns that failed, each with an error message."""
    stopped: bool = False
    """Whether the user interrupted it: campaigns may be left that neither ended nor failed."""


class Executor(Protocol):
    """Runs campaigns: in this process, in worker processes, or on other machines.

    An implementation calls `versionspace.campaign.worker.run_job` for each job, in any process that can read and write
    the job's folders. It has to keep these rules:

    Order
        Start jobs in the order given; seeds vary fastest, so neighbours rarely wait for each other's first ensemble.
        Any number may run at the same time, each in its own process: file locks coordinate them. No result depends on
        the order, the number of workers or the number of threads. It does depend on the versions of torch and NumPy
        and on the CPU: `run_job` fails where they differ from those that the campaign began with.
    News
        Pass on all news of all jobs, those of one job in order. The last of each job that was started is "done",
        "failed" or "stopped". Never call ``tell`` concurrently: listeners need no locks. It may be called from any
        thread, since the steps of a fit come from the threads that train. If it raises, end the workers and let the
        exception propagate.
    Failures
        A job that fails, by an error of its own or because its process or machine died, is told as "failed" with a
        message and listed in the `Outcome`; the others continue. Do not retry after an error: the user fixes the cause
        and resumes. An executor of several machines may resume a job whose machine died on another one.
    Ctrl-C
        Catch KeyboardInterrupt, start no more jobs, stop the running ones (`run_job` takes an event for this, and stops
        within an epoch) and return an `Outcome` that says "stopped".
    Resuming
        A campaign commits every answer and every round before it continues, and may be killed at any moment. Running
        the same job again resumes it, with results that are bitwise the same as without the interruption. An executor
        therefore keeps no state of its own between two calls.

    ``versionspace.run(..., executor=None)`` uses `LocalExecutor`.
    """

    def execute(self, jobs: Sequence[Job], tell: Listener) -> Outcome:
        """Run all jobs and return when none is running any more."""
        ...


@dataclass(frozen=True)
class Run:
    """The result of `versionspace.run`.

    >>> import tempfile
    >>> import versionspace as vs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = vs.run("demo", methods=["random"], seeds=[0], out=folder, progress=False,
    ...                     changes=["ensemble.members=2", "training.epochs=1", "budget.total=20"])
    ...     result.campaigns()[0].ended
    'budget'
    """

    folder: Path
    failed: Mapping[Path, str] = field(default_factory=dict)
    """Folders of the campaigns that failed, each with an error message."""
    stopped: bool = False
    """Whether the user interrupted it."""

    def campaigns(self) -> list[Record]:
        """Return the record of every campaign in the folder that has begun."""
        return [read_campaign(folder) for folder in campaigns(self.folder) if folder.ledger.exists()]


def _line(record: Job | News) -> str:
    values = asdict(record)
    return json.dumps({name: str(value) if isinstance(value, Path) else value for name, value in values.items()})
