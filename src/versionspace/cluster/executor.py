"""Run the campaigns of a grid on a Ray cluster.

Each worker is an actor that takes one job after another. This process asks it for news; an actor that died, or that
has not answered for a while, is replaced by another one, which resumes the campaign from what was committed.
"""

import queue
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

from versionspace.campaign import LAST, Job, Listener, LocalExecutor, News, Outcome, absolute_path, on_interrupt
from versionspace.cluster.campaign_worker import Assignment, CampaignWorker, Report
from versionspace.cluster.connection import connected
from versionspace.errors import InputError, VersionspaceError
from versionspace.extras import missing_package
from versionspace.store import Lock, pack, unpack

_POLL_SECONDS = 0.5
"""How often the main thread wakes while no news arrive: Python runs signal handlers only then."""
_DOMAIN = "ray://"

Store: TypeAlias = Literal["shared", "copy"]


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster and how to use it; an `Executor`. Make one with `versionspace.cluster`."""

    address: str = "local"
    """"local", "auto" or "ray://HOST:PORT"."""
    store: Store | None = None
    """"shared": all machines see the folders of the campaigns at the same path. "copy": they are copied to a worker,
    and back after each round. None: "shared" for a local cluster, else "copy"."""
    workers: int = 0
    """Tasks or campaigns at a time; 0: as many as the cluster has CPUs for. Changes no result."""
    spread: Literal["campaigns", "members"] = "campaigns"
    """What runs on the cluster: whole campaigns, or the groups of members of each round of campaigns that run one after
    another in this process, for few campaigns with large ensembles."""
    cpus: int = 1
    """CPUs that one worker reserves, and threads that it uses. Changes no result."""
    gpus: float = 0.0
    """GPUs that one worker reserves; 0.5: two workers share one."""
    retries: int = 3
    """How often a campaign or task is resumed after its process or machine died."""
    silence: float = 60.0
    """Seconds without an answer after which a worker counts as dead. Ray itself often notices sooner."""
    accept_different: bool = False
    """Whether members may be trained on another kind of processor than this one; results then depend on which."""
    memory: int = 500_000_000
    """Bytes of the object store of a local cluster."""

    @property
    def copies(self) -> bool:
        """Whether campaigns are copied to their workers."""
        return self.store == "copy" or (self.store is None and self.address != "local")

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """Yield Ray, connected. Inside the block other uses share the connection, and a local cluster keeps running.

        Raises InputError if there is no cluster, or if no machine of it has the CPUs and GPUs of one worker.
        """
        with connected(self.address, self.memory, self.workers * self.cpus) as ray:
            self._check_resources(ray)
            yield ray

    def limit(self, ray: Any) -> int:
        """Return how many workers may run at a time."""
        if self.workers:
            return self.workers
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        rooms = [min([node.get("CPU", 0) // self.cpus, *self._gpu_rooms(node)]) for node in nodes]
        return max(1, int(sum(rooms)))

    def execute(self, jobs: Sequence[Job], tell: Listener) -> Outcome:
        """Run all jobs. The first Ctrl-C stops fits within an epoch, a second one kills the workers."""
        if not jobs:
            return Outcome()
        with self.connected() as ray:
            if self.spread == "campaigns":
                return _Execution(self, ray, jobs, tell).run()
            from versionspace.cluster.members import MemberTrainer  # imports torch

            return LocalExecutor(1, trainer=MemberTrainer(self, ray)).execute(jobs, tell)

    def _gpu_rooms(self, node: Mapping[str, float]) -> list[float]:
        return [node.get("GPU", 0) // self.gpus] if self.gpus else []

    def _check_resources(self, ray: Any) -> None:
        """Raise InputError for a worker that no machine has room for: Ray would wait for ever, in silence."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if not any(n.get("CPU", 0) >= self.cpus and n.get("GPU", 0) >= self.gpus for n in nodes):
            have = "; ".join(f"{n.get('CPU', 0):g} CPUs and {n.get('GPU', 0):g} GPUs" for n in nodes) or "no machine"
            raise InputError(
                f"cluster {self.address}",
                expected=f"a machine with {self.cpus} CPUs and {self.gpus:g} GPUs, for one worker", got=have,
                fix="Lower cpus or gpus, or add a machine.",
            )  # fmt: skip


def make_cluster(address: str, settings: Mapping[str, Any]) -> Cluster:
    """Return a cluster; raise InputError for an address or a setting that does not exist or is out of range."""
    if not (address in ("local", "auto") or (address.startswith(_DOMAIN) and len(address) > len(_DOMAIN))):
        raise InputError(
            "cluster", expected="local, auto or ray://HOST:PORT", got=repr(address),
            fix="`auto` connects to the cluster that this machine is part of.",
        )  # fmt: skip
    if find_spec("ray") is None:
        raise missing_package("ray", ImportError("no such package"))
    known = [field.name for field in fields(Cluster) if field.name != "address"]
    for name, value in settings.items():
        if name not in known:
            raise InputError(
                "cluster", expected=f"a setting: {', '.join(known)}", got=repr(name), fix="Check the spelling."
            )
        _check(name, value)
    return Cluster(address, **settings)


def _check(name: str, value: Any) -> None:
    if name == "store":
        valid, expected = value in ("shared", "copy", None), "'shared' or 'copy'"
    elif name == "spread":
        valid, expected = value in ("campaigns", "members"), "'campaigns' or 'members'"
    elif name == "accept_different":
        valid, expected = isinstance(value, bool), "True or False"
    else:
        whole, least = name not in ("gpus", "silence"), {"cpus": 1, "silence": 5, "memory": 80_000_000}.get(name, 0)
        number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        valid, expected = number and value >= least, f"a {'whole ' if whole else ''}number of at least {least}"
    if not valid:
        raise InputError(
            f"cluster, {name}", expected=expected, got=repr(value), fix="See versionspace.cluster.executor.Cluster."
        )


@dataclass
class _Slot:
    """One worker and the job that it runs."""

    actor: Any
    job: Job
    attempt: int
    started: Any
    """The answer to `CampaignWorker.start`, which arrives once the cluster has room for the actor."""
    answered: float | None = None
    """When the actor last answered, by the monotonic clock; None before its first answer."""


class _Execution:
    """The jobs that are left, the workers, and the locks of the campaigns that are copied."""

    def __init__(self, cluster: Cluster, ray: Any, jobs: Sequence[Job], tell: Listener) -> None:
        self.cluster, self.ray, self._tell = cluster, ray, tell
        self.left = [(job, 1) for job in jobs]
        self.waiting: dict[Any, _Slot] = {}
        """The slot that each unanswered request for news belongs to."""
        self.locks: dict[Path, ExitStack] = {}
        self.idle: list[Any] = []
        self.failed: dict[Path, str] = {}
        self.interrupts: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.stopping = False

    def run(self) -> Outcome:
        """Run until no job is left."""
        try:
            with on_interrupt(lambda: self.interrupts.put(None)):
                while self.left or self.waiting:
                    while self.left and len(self.waiting) < self.cluster.limit(self.ray):
                        self._start(*self.left.pop(0))
                    self._take_answers()
                    while self.idle and not self.left:  # it holds CPUs that a pending worker may wait for
                        self._kill(self.idle.pop())
                    while not self.interrupts.empty():
                        self.interrupts.get()
                        self._stop()
        finally:
            for actor in [*self.idle, *(slot.actor for slot in self.waiting.values())]:
                self._kill(actor)
            for lock in self.locks.values():
                lock.close()
        return Outcome(self.failed, self.stopping)

    def tell(self, news: News) -> None:
        """Pass news on, and remember failures."""
        if news.kind == "failed":
            self.failed[news.folder] = news.text
        self._tell(news)

    def _start(self, job: Job, attempt: int) -> None:
        try:
            assignment = self._assignment(job, attempt)
        except VersionspaceError as error:
            self._end(News(job.folder, "failed", text=str(error)))
            return
        actor = self.idle.pop() if self.idle else self._new_actor()
        slot = _Slot(actor, job, attempt, actor.start.remote(assignment))
        self.waiting[slot.started] = slot

    def _assignment(self, job: Job, attempt: int) -> Assignment:
        cluster = self.cluster
        sent = replace(
            job, folder=absolute_path(job.folder), shared=None if job.shared is None else absolute_path(job.shared),
            threads=job.threads or cluster.cpus, images=None if job.images is None else absolute_path(job.images),
        )  # fmt: skip
        if not cluster.copies:
            return Assignment(sent, lock_seconds=0.0 if attempt == 1 else 2 * cluster.silence)
        if job.folder not in self.locks:
            self.locks[job.folder] = ExitStack()
            self.locks[job.folder].enter_context(Lock(job.folder).take())
        trained = job.shared is not None and (job.shared / "ensemble.json").is_file()
        return Assignment(
            sent, replace(pack(job.folder), stamps={}), pack(job.shared) if trained and job.shared is not None else None
        )

    def _new_actor(self) -> Any:
        options = {"num_cpus": self.cluster.cpus, "num_gpus": self.cluster.gpus}
        return self.ray.remote(CampaignWorker).options(**options, max_concurrency=4, max_restarts=0).remote()

    def _take_answers(self) -> None:
        """Wait a moment for answers; replace the workers that died, and those that are silent for too long."""
        if not self.waiting:
            return
        ready, _ = self.ray.wait(list(self.waiting), num_returns=1, timeout=_POLL_SECONDS)
        for reference in ready:
            slot = self.waiting.pop(reference)
            try:
                answer = self.ray.get(reference)
            except self.ray.exceptions.RayError as error:
                self._replace(slot, _cause(error))
                continue
            slot.answered = time.monotonic()
            reports = [] if reference == slot.started else answer
            if not self._take_reports(slot, reports):
                self.waiting[slot.actor.news.remote()] = slot
        now = time.monotonic()
        for reference, slot in list(self.waiting.items()):
            if slot.answered is not None and now - slot.answered > self.cluster.silence:
                del self.waiting[reference]
                self._replace(slot, f"no answer for {self.cluster.silence:g} s")

    def _take_reports(self, slot: _Slot, reports: Sequence[Report]) -> bool:
        """Store and pass on reports; return whether the job has ended."""
        for report in reports:
            try:
                if report.shared is not None and slot.job.shared is not None:
                    _unpack_first_ensemble(report, slot.job.shared)
                if report.campaign is not None:
                    unpack(report.campaign, slot.job.folder)
            except VersionspaceError as error:
                self._kill(slot.actor)
                self._end(News(slot.job.folder, "failed", text=str(error)))
                return True
            news = replace(report.news, folder=slot.job.folder)
            if news.kind in LAST:
                self._end(news)
                self.idle.append(slot.actor)
                return True
            self.tell(news)
        return False

    def _replace(self, slot: _Slot, cause: str) -> None:
        """Resume the campaign of a worker that died with another one, or report it as failed."""
        self._kill(slot.actor)
        if self.stopping:
            self._end(News(slot.job.folder, "stopped"))
        elif slot.attempt <= self.cluster.retries:
            self.left.insert(0, (slot.job, slot.attempt + 1))
        else:
            times = f"died {slot.attempt} times, most recently: " if slot.attempt > 1 else "died: "
            text = f"its worker {times}{cause}; everything committed is safe"
            self._end(News(slot.job.folder, "failed", text=text))

    def _end(self, news: News) -> None:
        """Report the last news of a job, after releasing its lock."""
        if (lock := self.locks.pop(news.folder, None)) is not None:
            lock.close()
        self.tell(news)

    def _stop(self) -> None:
        """Stop fits within an epoch when first called, kill the workers when called again."""
        self.left.clear()
        for slot in self.waiting.values():
            if self.stopping or slot.answered is None:
                self._kill(slot.actor)
            else:
                slot.actor.stop.remote()
        self.stopping = True

    def _kill(self, actor: Any) -> None:
        with suppress(self.ray.exceptions.RayError, ConnectionError):
            self.ray.kill(actor)


def _unpack_first_ensemble(report: Report, shared: Path) -> None:
    """Store the first ensemble of a grid, unless another campaign has stored it: both have the same bits."""
    if report.shared is not None and not (shared / "ensemble.json").is_file():
        unpack(report.shared, shared)


def _cause(error: Exception) -> str:
    """Return the line of one of Ray's errors that says what happened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if "because" in line or "cause" in line.lower() or "died" in line]
    return ((told or lines or [type(error).__name__])[-1]).rstrip(".")
