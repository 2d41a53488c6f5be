"""Tables of labels, as people, spreadsheets and our own exports write them."""

import csv
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from versionspace.data.checksums import is_sha256
from versionspace.errors import InputError


@dataclass(frozen=True)
class Row:
    """A file and its class."""

    file: str
    label: str | None
    """None: it has no class."""
    image: str = ""
    """The SHA-256 of the content that was labelled, where the table says it in a column id."""


def read_rows(path: Path) -> list[Row]:
    """The rows of a CSV file with the columns file and label; an empty label is none. Each file comes once."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
            columns = rows[0].keys() if rows else ()
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            str(path), expected="a CSV file in UTF-8", got=str(error), fix="Save the table anew as CSV, UTF-8."
        ) from error
    if rows and not {"file", "label"} <= set(columns):
        raise InputError(
            str(path),
            expected="a first line that names the columns file and label",
            got=", ".join(str(column) for column in columns),
            fix="Write as the first line: file,label",
        )
    found: dict[tuple[str, str], Row] = {}
    for number, row in enumerate(rows, start=2):
        name, label = (row["file"] or "").strip(), (row["label"] or "").strip() or None
        image = (row.get("id") or "").strip()
        one = Row(name, label and unicodedata.normalize("NFC", label), image if is_sha256(image) else "")
        if not name:
            raise InputError(
                f"{path}, row {number}", expected="the name of a file", got="nothing", fix="Complete or delete the row."
            )
        before = found.setdefault((name, one.image), one)
        if before.label != one.label:
            raise InputError(
                f"{path}, row {number}",
                expected=f"one label for {name}",
                got=f"{before.label or 'none'} and {one.label or 'none'}",
                fix="Delete the wrong row.",
            )
    return list(found.values())
