"""Tables of labels, as people, spreadsheets and our own exports write them."""

import csv
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from versionspace.errors import InputError
from versionspace.files import is_sha256

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""Before a cell that begins so, an export puts an apostrophe, since a spreadsheet would take it for a formula."""


@dataclass(frozen=True)
class Row:
    """An image and its class."""

    files: tuple[str, ...]
    """What its file may be called, as it stands first; empty where an export names only the content."""
    label: str | None
    """None: it has no class."""
    image: str = ""
    """The SHA-256 of the content that was labelled, where the table says it in a column id."""
    lost: bool = False
    """An export marks the file as missing, and nothing says which content was labelled."""

    @property
    def name(self) -> str:
        """For sentences about the row."""
        return self.files[0] if self.files else self.image


def read_rows(path: Path) -> list[Row]:
    """The rows of a CSV file with the columns file and label, or class; an empty one is none. Each image comes once.

    Exports of campaigns are such tables: they have a column id, and may have rows whose image is missing.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            rows, columns = list(reader), reader.fieldnames or ()
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            str(path), expected="a CSV file in UTF-8", got=str(error), fix="Save the table anew as CSV, UTF-8."
        ) from error
    except OSError as error:
        raise InputError(
            str(path),
            expected="a table that may be read",
            got=error.strerror or str(error),
            fix="Ask whoever owns it for the right to read it, or move it out of the folder.",
        ) from error
    column = "label" if "label" in columns else "class"
    twice = any(columns.count(name) > 1 for name in ("file", column, "id"))
    if twice or not {"file", column} <= set(columns):
        raise InputError(
            str(path),
            expected="a first line that names the columns file and label" + ", each once" * twice,
            got=", ".join(columns) or "an empty file",
            fix="Write as the first line: file,label. Move the file away if the folders are to name the classes.",
        )
    found: dict[str, Row] = {}
    for number, row in enumerate(rows, start=2):
        raw = {name: row.get(name) or "" for name in ("file", column, "id", "missing")}
        cells = {name: cell.strip() for name, cell in raw.items()}
        label = unicodedata.normalize("NFC", _unmarked(cells[column])) or None
        image = cells["id"] if is_sha256(cells["id"]) else ""
        spelt = (raw["file"], cells["file"], _unmarked(raw["file"]), _unmarked(cells["file"]))
        files = tuple(dict.fromkeys(spelt)) if cells["file"] else ()
        one = Row(files, label, image, lost=cells["missing"] == "yes" and not image)
        if not one.name:
            raise InputError(
                f"{path}, row {number}", expected="the name of a file", got="nothing", fix="Complete or delete the row."
            )
        before = found.setdefault(image or one.name, one)
        if before.label != one.label:
            raise InputError(
                f"{path}, row {number}",
                expected=f"one label for {one.name}",
                got=f"{before.label or 'none'} and {one.label or 'none'}",
                fix="Delete the wrong row.",
            )
    return list(found.values())


def _unmarked(cell: str) -> str:
    """A cell without the apostrophe that an export put before it.

    >>> _unmarked("'=1+1"), _unmarked("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA) else cell
