"""Label tables as CSV: the one module that knows their columns.

versionspace writes one shape, `COLUMNS`: on export, and for download from the labelling page. `read_label_table` reads
it back, and any table of a person's own with the columns ``file`` and ``label``, in any order; other columns are
ignored. Text cells are protected from being run as formulas by a spreadsheet, and bytes in file names that are not
UTF-8 are escaped.
"""

import csv
import io
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from versionspace.errors import InputError
from versionspace.files import is_sha256
from versionspace.text import printable

COLUMNS = ("id", "file", "label", "reason", "purpose", "round", "rank", "who", "missing")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
_YES = "yes"


@dataclass(frozen=True)
class LabelRow:
    """One image and its label.

    `read_label_table` fills in ``file``, ``label``, ``reason``, ``id`` and ``missing``; the others are only written.
    """

    file: str = ""
    """The path of the image's file, as the table spells it; empty if the table names only the id."""
    label: str | None = None
    """The name of the class; None if the image has none."""
    id: str = ""
    """The image's id. When read, only the SHA-256 of a file counts: other values are ignored."""
    missing: bool = False
    """The file was missing, or had changed since it was labelled, when the table was written."""
    purpose: str = ""
    round: int | None = None
    rank: int | None = None
    who: str = ""
    reason: str = ""
    """Why an image has no label: "skipped", "unsure" or "bad image"."""

    @property
    def name(self) -> str:
        """The file, or else the id: for messages."""
        return self.file or self.id

    @property
    def spellings(self) -> tuple[str, ...]:
        """The paths that the file cell may mean, the literal one first.

        Spaces around it and the apostrophe of `safe_cell` may or may not belong to the name.
        """
        if not self.file:
            return ()
        stripped = self.file.strip()
        return tuple(dict.fromkeys((self.file, stripped, _unprotected(self.file), _unprotected(stripped))))

    @property
    def orphaned(self) -> bool:
        """Whether the label cannot be matched to an image: its file is missing, and no id tells its content."""
        return self.missing and not self.id


def read_label_table(path: Path) -> list[LabelRow]:
    """Return the rows of a label table, each image once. Raises `InputError` if the table cannot be used.

    The columns ``file`` and ``label`` are required; an empty label means none. Two rows about the same file or id must
    agree.
    """
    columns, cells = _read_csv(path)
    repeated = any(columns.count(name) > 1 for name in ("file", "label", "id"))
    if repeated or not {"file", "label"} <= set(columns):
        raise InputError(
            str(path),
            expected="a header with the columns file and label" + ", each once" * repeated,
            got=", ".join(columns) or "an empty file",
            fix="Make the first line: file,label. To take the labels from class folders, move this file away.",
        )
    rows: dict[str, LabelRow] = {}
    for number, cell in enumerate(cells, start=2):
        row = _parse(cell)
        if not row.name:
            raise InputError(
                f"{path}, row {number}", expected="a file name", got="nothing", fix="Complete or delete the row."
            )
        first = rows.setdefault(row.id or row.name, row)
        if first.label != row.label:
            raise InputError(
                f"{path}, row {number}",
                expected=f"one label for {row.name}",
                got=f"{first.label or 'none'} and {row.label or 'none'}",
                fix="Delete the wrong row.",
            )
    return list(rows.values())


def format_label_table(rows: Iterable[LabelRow]) -> str:
    r"""Return a label table as CSV, with the columns `COLUMNS`.

    >>> format_label_table([LabelRow("=a.png", "cat", id="17", missing=True)])
    "id,file,label,reason,purpose,round,rank,who,missing\n17,'=a.png,cat,,,,,,yes\n"
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in rows:
        cells = (
            row.id, printable(row.file), row.label or "", row.reason, row.purpose, row.round, row.rank, row.who,
            _YES if row.missing else "",
        )  # fmt: skip
        table.writerow([safe_cell(cell) if isinstance(cell, str) else cell for cell in cells])
    return text.getvalue()


def safe_cell(text: str) -> str:
    """Return a cell that a spreadsheet does not run as a formula: prefix text that looks like one with an apostrophe.

    >>> safe_cell("=1+1"), safe_cell("cat")
    ("'=1+1", 'cat')
    """
    return "'" + text if text.startswith(_FORMULA_STARTS) else text


def _unprotected(cell: str) -> str:
    """Undo `safe_cell`.

    >>> _unprotected("'=1+1"), _unprotected("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA_STARTS) else cell


def _read_csv(path: Path) -> tuple[Sequence[str], list[dict[str, str | None]]]:
    """Return the column names and the rows of a CSV file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            rows: list[dict[str, str | None]] = list(reader)
            return reader.fieldnames or (), rows
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            str(path), expected="a CSV file in UTF-8", got=str(error), fix="Save the table again as CSV in UTF-8."
        ) from error
    except OSError as error:
        raise InputError(
            str(path),
            expected="a readable table",
            got=error.strerror or str(error),
            fix="Ask its owner for permission to read it, or move it out of the folder.",
        ) from error


def _parse(row: dict[str, str | None]) -> LabelRow:
    file, label, reason, image, missing = (row.get(name) or "" for name in ("file", "label", "reason", "id", "missing"))
    name = unicodedata.normalize("NFC", _unprotected(label.strip()))
    return LabelRow(
        file=file if file.strip() else "",
        label=name or None,
        reason="" if name else _unprotected(reason.strip()),
        id=image.strip() if is_sha256(image.strip()) else "",
        missing=missing.strip() == _YES,
    )
