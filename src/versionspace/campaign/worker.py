"""Running one campaign of a grid, and telling of it.

A worker process: see `versionspace.campaign.local_executor`.
"""

import queue
import threading

from versionspace.campaign.grid import Job, Listener, News
from versionspace.campaign.local_executor import decode_job, encode
from versionspace.campaign.round import Step
from versionspace.errors import VersionspaceError
from versionspace.subprocesses import connect_to_parent


class Stopped(BaseException):
    """Raised inside a fit to end it within an epoch; like KeyboardInterrupt, nobody swallows it on the way."""


def work(job: Job, tell: Listener, stop: threading.Event | None = None) -> None:
    """Runs a campaign to its end. Errors that have a sentence are told; Ctrl-C and the like pass through."""
    from versionspace.campaign.campaign import Campaign

    stop = stop or threading.Event()

    def step(now: Step) -> None:
        if stop.is_set():
            raise Stopped
        tell(News(job.folder, "step", now.round, now.stage, now.share))

    try:
        with Campaign.open(
            job.folder,
            shared=job.shared,
            threads=job.threads,
            report=step,
            accept_different=job.accept_different,
            images=job.images,
        ) as campaign:
            oracle = campaign.oracle()
            tell(News(job.folder, "round", campaign.state.round, labels=campaign.state.spent()))
            for proposal in campaign:
                campaign.accept(oracle.answer(proposal.ids), who="simulated")
                tell(News(job.folder, "round", proposal.round, labels=campaign.state.spent()))
            state = campaign.state
            tell(News(job.folder, "done", state.round, labels=state.spent(), text=state.ended))
    except VersionspaceError as error:
        tell(News(job.folder, "failed", text=str(error)))


def main() -> None:
    """Takes jobs until its input ends; then ends at once, in the midst of a fit if need be."""
    jobs: queue.Queue[str] = queue.Queue()
    stop = threading.Event()
    send = connect_to_parent(lambda line: stop.set() if line.strip() == "stop" else jobs.put(line))

    def tell(news: News) -> None:
        send(encode(news))

    while True:
        job = decode_job(jobs.get())
        try:
            work(job, tell, stop)
        except Stopped:
            tell(News(job.folder, "stopped"))


if __name__ == "__main__":
    main()
