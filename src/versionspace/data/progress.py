"""Progress of long work: a bar on a terminal, elsewhere a line in the log every few seconds."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from versionspace.text import duration

Advance: TypeAlias = Callable[[int], None]
"""Call with the amount of work done since the last call."""

LINE_SECONDS = 10.0
"""Time between two lines in the log."""
PROGRESS_LOG = "versionspace.progress"

_log = logging.getLogger(PROGRESS_LOG)


@contextmanager
def progress_bar(title: str, total: int | None, show: bool | None = None, *, data: bool = False) -> Iterator[Advance]:
    """Show a progress bar and yield the function that advances it; ``data`` counts bytes.

    ``show`` None draws the bar only if standard error is a terminal, and otherwise logs lines to `PROGRESS_LOG`.
    """
    if show is None and not sys.stderr.isatty() and total and not data:
        yield _lines(title, total)
        return
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    count = DownloadColumn() if data else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=total)
        yield lambda amount: progress.advance(task, amount)


def progress_text(done: int, total: int, seconds: float | None, unit: str = "") -> str:
    """Return how much is done, and if ``seconds`` are known, how long the rest takes.

    >>> progress_text(20_000, 124_800, 61.0), progress_text(0, 50, None, " images")
    ('20,000 of 124,800, about 1 min left', '0 of 50 images')
    """
    left = "" if seconds is None else f", about {duration(max(1.0, seconds), rough=True)} left"
    return f"{done:,} of {total:,}{unit}{left}"


def _lines(title: str, total: int) -> Advance:
    """Return a function that logs a line every `LINE_SECONDS`."""
    done, start = 0, time.monotonic()
    last = start

    def advance(amount: int) -> None:
        nonlocal done, last
        done += amount
        now = time.monotonic()
        if now - last >= LINE_SECONDS:
            last = now
            _log.info("%s: %s", title, progress_text(done, total, (now - start) * (total - done) / done))

    return advance
