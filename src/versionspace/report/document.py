"""What a report is made of: tables and figures, in parts, in sections. Frozen, and nothing of it knows of files."""

from dataclasses import dataclass
from typing import TypeAlias

from versionspace.report.statistics import Interval, Spread

Value: TypeAlias = str | int | float | Spread | Interval | None
"""What a cell holds: the numbers themselves, which each format writes its own way. None: there is none."""


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    title: str
    digits: int = 2
    """After the point."""
    signed: bool = False
    """Whether a plus is written."""
    kind: type[str] | type[float] | type[Spread] | type[Interval] = str
    """Of its values; spreads become three columns of a CSV file, intervals two."""


@dataclass(frozen=True)
class Table:
    """A table, before it is HTML, CSV, Markdown or LaTeX."""

    name: str
    """For files."""
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    bold: frozenset[tuple[int, int]] = frozenset()
    """(row, column) of what is best."""
    rules: frozenset[int] = frozenset()
    """Rows with a dashed rule below, as between the paper's groups of methods."""
    folded: bool = False
    """Whether the page shows it only when asked: long ones."""

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows), f"{self.name}: rows as long as columns"


@dataclass(frozen=True)
class Figure:
    """A picture, drawn."""

    name: str
    """For files."""
    caption: str
    alt: str
    """What it shows, for those who cannot see it."""
    svg: str
    """A file of its own, on white."""
    inline: str
    """For the page: no background, and colours that follow light and dark."""
    png: bytes


Block: TypeAlias = Table | Figure | str
"""A string is a sentence: what is missing and why."""


@dataclass(frozen=True)
class Part:
    """Tables and figures that answer one question."""

    title: str
    how: str
    """How to read this, in plain words."""
    blocks: tuple[Block, ...]
    beside: bool = False
    """Whether the page puts them side by side where there is room."""


@dataclass(frozen=True)
class Section:
    """All about one dataset with one config; or the overview."""

    name: str
    title: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Report:
    """The whole of it."""

    title: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    sections: tuple[Section, ...]
    summaries: tuple[Table, ...] = ()
    """What a terminal shows."""
    data: tuple[Table, ...] = ()
    """Long tables that are files only: the numbers behind the figures."""

    def tables(self) -> tuple[Table, ...]:
        """All, in order."""
        return tuple(b for s in self.sections for p in s.parts for b in p.blocks if isinstance(b, Table))

    def figures(self) -> tuple[Figure, ...]:
        """All, in order."""
        return tuple(b for s in self.sections for p in s.parts for b in p.blocks if isinstance(b, Figure))
