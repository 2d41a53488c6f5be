"""A grid's progress on a terminal: a line a campaign, with labels, accuracy, diameter and time left."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from versionspace.campaign.grid import Listener, News
from versionspace.store import CampaignFolder, Record, read_campaign, read_stored_config
from versionspace.text import duration, percent

_LINES = 24
"""At most so many campaigns on the screen; those that run come first."""


@dataclass
class Line:
    """One campaign's."""

    folder: Path
    state: str = "waiting"
    stage: str = ""
    labels: int = 0
    total: int = 1
    accuracy: float | None = None
    diameter: float | None = None
    seconds: float = 0.0
    """Of the rounds so far."""
    began: float = 0.0


@contextmanager
def display(folders: Sequence[Path], wanted: "bool | Listener | None") -> Iterator[Listener]:
    """Gives a function to tell news to. On a terminal it draws; elsewhere it prints a line when a campaign ends."""
    if callable(wanted):
        yield wanted
        return
    console = Console(stderr=True, highlight=False)
    if wanted is False:
        yield lambda news: None
        return
    board = Board([_line(path) for path in folders])
    if not console.is_terminal:
        yield lambda news: _printed(console, board, news)
        return
    with Live(board, console=console, refresh_per_second=4, transient=True):
        yield board.hear


class Board:
    """All lines; rich draws it anew four times a second."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = {line.folder: line for line in lines}
        self.began = time.monotonic()
        self._lock = threading.Lock()
        self._done_before = self._done()

    def hear(self, news: News) -> None:
        """Takes in news; reads what a round measured from its ledger."""
        line = self.lines[news.folder]
        with self._lock:
            line.began = line.began or time.monotonic()
            match news.kind:
                case "step":
                    line.state = "running"
                    line.stage = f"{news.stage} {news.share:.0%}" if news.stage == "fit" else news.stage
                case "round":
                    line.state = "running"
                    _update(line)
                case _:
                    line.state, line.stage = news.kind, ""
                    if news.kind == "done":
                        _update(line)

    def _done(self) -> float:
        return sum(min(1.0, line.labels / line.total) for line in self.lines.values())

    def __rich__(self) -> RenderableType:
        with self._lock:
            return Group(self._table(), self._foot())

    def _table(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        for name in ("method", "seed"):
            table.add_column(name, no_wrap=True, style="cyan" if name == "method" else "")
        table.add_column("labels", no_wrap=True, width=22)
        for name in ("accuracy", "diameter"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        order = {"running": 0, "failed": 1, "waiting": 2, "stopped": 3, "done": 4}
        listed = sorted(self.lines.values(), key=lambda line: order[line.state])
        for line in listed[:_LINES]:
            bar = Table.grid(padding=(0, 1))
            bar.add_row(ProgressBar(total=line.total, completed=line.labels, width=12), f"{line.labels}/{line.total}")
            state = Text(line.stage or line.state, style={"failed": "red", "done": "green"}.get(line.state, "dim"))
            names = (escape(line.folder.parent.name), escape(line.folder.name))
            table.add_row(*names, bar, percent(line.accuracy), percent(line.diameter), state)
        if len(listed) > _LINES:
            table.add_row(f"… and {len(listed) - _LINES} more")
        return table

    def _foot(self) -> Text:
        done, spent = self._done(), time.monotonic() - self.began
        share = (done - self._done_before) / max(1e-9, len(self.lines) - self._done_before)
        left = f", about {duration(spent * (1 - share) / share, rough=True)} left" if share > 0.02 else ""
        ended = sum(line.state == "done" for line in self.lines.values())
        return Text(f"\n{ended} of {len(self.lines)} campaigns done in {duration(spent)}{left}", style="dim")


def accuracy_of(record: Record) -> tuple[float | None, float | None]:
    """The newest accuracy, on test or else validation, and diameter, on test or else the reference."""
    rounds = record.measured_rounds()
    if not rounds or rounds[-1].metrics is None:
        return None, None
    metrics = rounds[-1].metrics
    return metrics.headline("accuracy"), metrics.headline("pwd")


def _line(path: Path) -> Line:
    line = Line(path, total=read_stored_config(CampaignFolder(path).config).budget.total)
    _update(line)
    if line.state == "waiting" and CampaignFolder(path).ledger.exists() and read_campaign(path).ended:
        line.state = "done"
    return line


def _update(line: Line) -> None:
    if not CampaignFolder(line.folder).ledger.exists():
        return
    record = read_campaign(line.folder)
    line.labels, line.total = record.spent, record.budget
    line.accuracy, line.diameter = accuracy_of(record)


def _printed(console: Console, board: Board, news: News) -> None:
    board.hear(news)
    line = board.lines[news.folder]
    name = escape(f"{line.folder.parent.name}/{line.folder.name}")
    if news.kind == "done":
        spent = duration(time.monotonic() - line.began)
        found = f"accuracy {percent(line.accuracy)}, diameter {percent(line.diameter)}"
        console.print(f"{name}: {line.labels} labels, {found}, {spent}")
    elif news.kind == "failed":
        console.print(f"[red]{name} failed[/]: {escape(news.text)}", soft_wrap=True)
