"""The content of a report, independent of files: a document has chapters, a chapter has sections of tables and figures.

Document                the whole report
└── Chapter             the overview, or everything about one group of runs
    └── ReportSection   one question: how to read the answer, and the answer
        └── Block       a table, a figure or a sentence
"""

from dataclasses import dataclass
from typing import TypeAlias

from versionspace.report.statistics import Interval, SampleMean

Value: TypeAlias = str | int | float | SampleMean | Interval | None
"""The value of a table cell, which every output format renders in its own way. None: no value."""


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    title: str
    digits: int = 2
    """Decimal places."""
    signed: bool = False
    """Whether positive numbers have a plus sign."""
    kind: type[str] | type[float] | type[SampleMean] | type[Interval] = str
    """Type of the values. In CSV files a `SampleMean` is three columns and an `Interval` two."""


@dataclass(frozen=True)
class Table:
    """A table, before it is rendered as HTML, CSV, Markdown or LaTeX."""

    name: str
    """File name, without extension."""
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    bold: frozenset[tuple[int, int]] = frozenset()
    """(row, column) of the best values."""
    rules: frozenset[int] = frozenset()
    """Rows with a dashed rule below, as between the paper's groups of methods."""
    collapsed: bool = False
    """Whether the page shows only the caption until the reader expands it: for long tables."""

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows), f"{self.name}: one value per column"


@dataclass(frozen=True)
class Figure:
    """A rendered figure."""

    name: str
    """File name, without extension."""
    caption: str
    alt: str
    """Text alternative, for readers who cannot see the figure."""
    svg: str
    """A stand-alone file, on white."""
    inline: str
    """SVG for the page: no background, and colours that follow light and dark mode."""
    png: bytes


Block: TypeAlias = Table | Figure | str
"""A string is a note, such as why a table or figure is missing."""


@dataclass(frozen=True)
class ReportSection:
    """Tables and figures that answer one question."""

    title: str
    how_to_read: str
    blocks: tuple[Block, ...]
    side_by_side: bool = False
    """Whether the page puts the blocks side by side if there is room."""


@dataclass(frozen=True)
class Chapter:
    """The overview, or everything about one group of runs."""

    name: str
    """Anchor on the page."""
    title: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    sections: tuple[ReportSection, ...]


@dataclass(frozen=True)
class Document:
    """A whole report."""

    title: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    chapters: tuple[Chapter, ...]
    summaries: tuple[Table, ...] = ()
    """Tables for the terminal."""
    data: tuple[Table, ...] = ()
    """Long tables that are written as CSV only: the numbers behind the figures."""

    def tables(self) -> tuple[Table, ...]:
        """Return all tables of the page, in order."""
        return tuple(block for block in self._blocks() if isinstance(block, Table))

    def figures(self) -> tuple[Figure, ...]:
        """Return all figures of the page, in order."""
        return tuple(block for block in self._blocks() if isinstance(block, Figure))

    def _blocks(self) -> tuple[Block, ...]:
        return tuple(block for c in self.chapters for section in c.sections for block in section.blocks)
