"""A progress bar that is drawn only on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Advance: TypeAlias = Callable[[int], None]
"""Call with the amount of work done since the last call."""


@contextmanager
def progress_bar(title: str, total: int | None, show: bool | None = None, *, data: bool = False) -> Iterator[Advance]:
    """Show a progress bar and yield the function that advances it; ``data`` counts bytes.

    ``show`` None draws the bar only if standard error is a terminal.
    """
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
