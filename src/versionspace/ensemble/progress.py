"""A bar for a fit: members that have ended, epochs, time left. Quiet where there is no terminal."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

Report: TypeAlias = Callable[[int, int], None]
"""Called, from any thread, with the epochs that were run and the members that ended since the last call."""


@contextmanager
def shown(members: int, epochs: int, wanted: bool | Report | None) -> Iterator[Report]:
    """Gives a function to call with epochs run and members ended; draws where wanted, by default on a terminal."""
    if callable(wanted):
        yield wanted
        return
    console = Console(stderr=True, force_terminal=wanted)
    if wanted is False or (wanted is None and not console.is_terminal):
        yield lambda ran, ended: None
        return
    lock = threading.Lock()
    ended_in_all = 0
    ran_in_all = 0
    with Progress(
        TextColumn("training"), BarColumn(), TextColumn("{task.fields[said]}"), TimeRemainingColumn(),
        console=console, transient=True,
    ) as bar:  # fmt: skip
        task = bar.add_task("", total=members, said=f"0 of {members} members done")

        def report(ran: int, ended: int) -> None:
            nonlocal ended_in_all, ran_in_all
            with lock:
                ended_in_all += ended
                ran_in_all += ran
                # A member that is still training counts for the epochs that it has run out of those that it may.
                share = min(max(ended_in_all, ran_in_all / epochs), members)
                said = f"{ended_in_all} of {members} members done, epoch {ran_in_all / members:.0f} of {epochs} at most"
                bar.update(task, completed=share, said=said)

        yield report
