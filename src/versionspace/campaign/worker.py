"""Run one job, in this process or in a worker process.

A worker process is ``python -m versionspace.campaign.worker``. It reads one job per line from standard input and writes
one piece of news per line to standard output, both as JSON. The line ``stop`` ends the running fit within an epoch.
When its input ends, for whatever reason, the process ends.
"""

import queue
import threading

from versionspace.campaign.campaign import Campaign
from versionspace.campaign.datasets import Datasets
from versionspace.campaign.jobs import Job, Listener, News, NewsKind
from versionspace.campaign.round import Step
from versionspace.ensemble import GroupTrainer
from versionspace.errors import VersionspaceError
from versionspace.subprocesses import connect_to_parent


class Stopped(BaseException):
    """Raised inside a fit to end it within an epoch. Like KeyboardInterrupt, it is no Exception."""


def run_job(
    job: Job, tell: Listener, *, stop: threading.Event | None = None, datasets: Datasets | None = None,
    trainer: GroupTrainer | None = None,
) -> None:  # fmt: skip
    """Run a campaign until it ends, and report it to ``tell``.

    A `VersionspaceError` is reported as "failed". Other exceptions, KeyboardInterrupt included, propagate; so does
    `Stopped`, which is raised at the next step after ``stop`` was set. What was committed before is kept in each case.
    ``tell`` is never called concurrently, but steps of a fit come from the threads that train. ``datasets``: those that
    this process has opened, so that its next job need not open them again. ``trainer``: trains groups of members
    elsewhere.
    """
    one_at_a_time = threading.Lock()

    def report(step: Step) -> None:
        if stop is not None and stop.is_set():
            raise Stopped
        with one_at_a_time:
            tell(News(job.folder, "step", step.round, step.stage, step.share))

    try:
        with Campaign.open(
            job.folder,
            shared=job.shared,
            threads=job.threads or None,
            report=report,
            accept_different=job.accept_different,
            images=job.images,
            datasets=datasets,
            trainer=trainer,
        ) as campaign:
            oracle = campaign.oracle()
            tell(_standing(job, campaign, "round", campaign.state.round))
            for proposal in campaign:
                campaign.accept(oracle.answer(proposal.ids), who="simulated")
                tell(_standing(job, campaign, "round", proposal.round))
            tell(_standing(job, campaign, "done", campaign.state.round))
    except VersionspaceError as error:
        tell(News(job.folder, "failed", text=str(error)))


def _standing(job: Job, campaign: Campaign, kind: NewsKind, round_: int) -> News:
    """Return news that carry the campaign's labels and newest metrics."""
    state = campaign.state
    newest = state.metrics[max(state.metrics)] if state.metrics else None
    return News(
        job.folder,
        kind,
        round_,
        labels=state.spent(),
        budget=campaign.budget,
        accuracy=newest.headline("accuracy") if newest else None,
        diameter=newest.headline("pwd") if newest else None,
        text=state.ended,
    )


def main() -> None:
    """Run jobs from standard input until it ends; then exit at once, even during a fit."""
    jobs: queue.Queue[Job] = queue.Queue()
    stop, datasets = threading.Event(), Datasets()
    send = connect_to_parent(lambda line: stop.set() if line.strip() == "stop" else jobs.put(Job.from_json(line)))

    def tell(news: News) -> None:
        send(news.to_json() + "\n")

    while True:
        job = jobs.get()
        try:
            run_job(job, tell, stop=stop, datasets=datasets)
        except Stopped:
            tell(News(job.folder, "stopped"))


if __name__ == "__main__":
    main()
