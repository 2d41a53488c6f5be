"""A progress bar for a fit: members that have ended, epochs, time left."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

ProgressCallback: TypeAlias = Callable[[int, int], None]
"""Called, from any thread, with the epochs that were run and the members that ended since the last call."""


@contextmanager
def fit_progress(members: int, epochs: int, show: bool | ProgressCallback | None) -> Iterator[ProgressCallback]:
    """Yield the callback to report progress to: the user's own, or one that draws a bar.

    ``show`` None draws only if standard error is a terminal.
    """
    if callable(show):
        yield show
        return
    console = Console(stderr=True, force_terminal=show)
    if show is False or (show is None and not console.is_terminal):
        yield lambda ran, ended: None
        return
    lock = threading.Lock()
    total_ended = 0
    total_ran = 0
    with Progress(
        TextColumn("training"), BarColumn(), TextColumn("{task.fields[status]}"), TimeRemainingColumn(),
        console=console, transient=True,
    ) as bar:  # fmt: skip
        task = bar.add_task("", total=members, status=f"0 of {members} members done")

        def report(ran: int, ended: int) -> None:
            nonlocal total_ended, total_ran
            with lock:
                total_ended += ended
                total_ran += ran
                # A member that is still training counts as its share of the maximum number of epochs.
                completed = min(max(total_ended, total_ran / epochs), members)
                epoch = f"epoch {total_ran / members:.0f} of at most {epochs}"
                bar.update(task, completed=completed, status=f"{total_ended} of {members} members done, {epoch}")

        yield report
