"""A progress bar on a terminal, and nothing elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Advance: TypeAlias = Callable[[int], None]


@contextmanager
def bar(title: str, total: int | None, show: bool | None = None, *, data: bool = False) -> Iterator[Advance]:
    """Yields a function to call with how much more is done; ``data`` counts bytes.

    ``show`` None draws only where standard error is a terminal.
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
