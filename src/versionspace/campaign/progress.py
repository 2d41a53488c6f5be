"""Show the progress of a grid: on a terminal a live table, elsewhere a line when a campaign ends.

Everything shown while a grid runs comes with the news; ledgers are read once, by the caller, before it starts.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from versionspace.campaign.jobs import Listener, News
from versionspace.store import CONFIG, Record, read_stored_config
from versionspace.text import duration, percent

_MAX_LINES = 24
"""Campaigns shown at most; those that are running come first."""


@dataclass
class Line:
    """One campaign."""

    folder: Path
    state: str = "waiting"
    """"waiting", "running", "done", "failed" or "stopped"."""
    stage: str = ""
    labels: int = 0
    budget: int = 1
    accuracy: float | None = None
    diameter: float | None = None
    began: float = 0.0
    """When its first news arrived, by the monotonic clock; 0 before."""


@contextmanager
def display(records: Mapping[Path, Record | None], progress: "bool | Listener | None") -> Iterator[Listener]:
    """Yield a listener that shows the news of these campaigns, or ``progress`` itself if it is a listener.

    ``records``: what each campaign has recorded so far; None for one that has not begun. Shows nothing if ``progress``
    is False.
    """
    if callable(progress):
        yield progress
        return
    if progress is False:
        yield lambda news: None
        return
    console = Console(stderr=True, highlight=False)
    board = Board([line_of(path, record) for path, record in records.items()])
    if not console.is_terminal:
        yield lambda news: _print(console, board, news)
        return
    with Live(board, console=console, refresh_per_second=4, transient=True):
        yield board.hear


class Board:
    """The table of all campaigns, which rich redraws from a thread of its own."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = {line.folder: line for line in lines}
        self.began = time.monotonic()
        self._lock = threading.Lock()
        self._done_before = self._done()

    def hear(self, news: News) -> None:
        """Update the line of a campaign."""
        line = self.lines[news.folder]
        with self._lock:
            line.began = line.began or time.monotonic()
            line.state = "running" if news.kind in ("step", "round") else news.kind
            if news.kind == "step":
                line.stage = f"{news.stage} {news.share:.0%}" if news.stage == "fit" else news.stage
            elif news.kind != "round":
                line.stage = ""
            if news.kind in ("round", "done"):
                line.labels, line.budget = news.labels, news.budget
                line.accuracy, line.diameter = news.accuracy, news.diameter

    def __rich__(self) -> RenderableType:
        with self._lock:
            return Group(self._table(), self._summary())

    def _table(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        for name in ("method", "seed"):
            table.add_column(name, no_wrap=True, style="cyan" if name == "method" else "")
        table.add_column("labels", no_wrap=True, width=22)
        for name in ("accuracy", "diameter"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        order = {"running": 0, "failed": 1, "waiting": 2, "stopped": 3, "done": 4}
        lines = sorted(self.lines.values(), key=lambda line: order[line.state])
        for line in lines[:_MAX_LINES]:
            bar = Table.grid(padding=(0, 1))
            bar.add_row(ProgressBar(line.budget, line.labels, width=12), f"{line.labels}/{line.budget}")
            state = Text(line.stage or line.state, style={"failed": "red", "done": "green"}.get(line.state, "dim"))
            names = (escape(line.folder.parent.name), escape(line.folder.name))
            table.add_row(*names, bar, percent(line.accuracy), percent(line.diameter), state)
        if len(lines) > _MAX_LINES:
            table.add_row(f"… and {len(lines) - _MAX_LINES} more")
        return table

    def _summary(self) -> Text:
        elapsed = time.monotonic() - self.began
        share = (self._done() - self._done_before) / max(1e-9, len(self.lines) - self._done_before)
        left = f", about {duration(elapsed * (1 - share) / share, rough=True)} left" if share > 0.02 else ""
        ended = sum(line.state == "done" for line in self.lines.values())
        return Text(f"\n{ended} of {len(self.lines)} campaigns done in {duration(elapsed)}{left}", style="dim")

    def _done(self) -> float:
        """Return how much is done, in campaigns."""
        return sum(min(1.0, line.labels / line.budget) for line in self.lines.values())


def line_of(path: Path, record: Record | None) -> Line:
    """Return the line of a campaign before it runs."""
    if record is None:
        return Line(path, budget=read_stored_config(path / CONFIG).budget.total)
    newest = record.state.metrics[max(record.state.metrics)] if record.state.metrics else None
    return Line(
        path,
        state="done" if record.ended else "waiting",
        labels=record.spent,
        budget=record.budget,
        accuracy=newest.headline("accuracy") if newest else None,
        diameter=newest.headline("pwd") if newest else None,
    )


def _print(console: Console, board: Board, news: News) -> None:
    board.hear(news)
    line = board.lines[news.folder]
    name = escape(f"{line.folder.parent.name}/{line.folder.name}")
    if news.kind == "done":
        elapsed = duration(time.monotonic() - line.began)
        metrics = f"accuracy {percent(line.accuracy)}, diameter {percent(line.diameter)}"
        console.print(f"{name}: {line.labels} labels, {metrics}, {elapsed}")
    elif news.kind == "failed":
        console.print(f"[red]{name} failed[/]: {escape(news.text)}", soft_wrap=True)
