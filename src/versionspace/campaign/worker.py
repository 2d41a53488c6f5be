"""A worker process: see `versionspace.campaign.processes`."""

import contextlib
import os
import queue
import sys
import threading

from versionspace.campaign.grid import News
from versionspace.campaign.processes import decode_job, die_with_parent, encode, ignore_interrupts
from versionspace.campaign.working import Stopped, work


def main() -> None:
    """Takes jobs until its input ends; then ends at once, in the midst of a fit if need be."""
    ignore_interrupts()
    die_with_parent()
    out = sys.stdout
    sys.stdout = sys.stderr  # what libraries print must not get among the news
    jobs: queue.Queue[str] = queue.Queue()
    stop = threading.Event()
    lock = threading.Lock()

    def tell(news: News) -> None:
        with lock, contextlib.suppress(BrokenPipeError):
            out.write(encode(news))
            out.flush()

    def listen() -> None:
        for line in sys.stdin:
            if line.strip() == "stop":
                stop.set()
            else:
                jobs.put(line)
        os._exit(0)  # the parent is gone, or wants no more

    threading.Thread(target=listen, daemon=True).start()
    while True:
        job = decode_job(jobs.get())
        try:
            work(job, tell, stop)
        except Stopped:
            tell(News(job.folder, "stopped"))


if __name__ == "__main__":
    main()
