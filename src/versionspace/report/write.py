"""The folder of a report: files are replaced atomically, and only an earlier report is overwritten."""

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from versionspace._version import __version__
from versionspace.files import replacing
from versionspace.report.document import Document
from versionspace.report.errors import ReportError
from versionspace.report.html import render_page
from versionspace.report.tables import as_csv, as_latex, as_markdown

MANIFEST = "report.json"
"""Marks a folder as a report and lists the files that belong to it."""
_MADE_BY = "versionspace report"


def render_files(document: Document) -> dict[str, bytes]:
    """Return all files by path within the folder. The page comes last, so that everything it links to exists."""
    files: dict[str, bytes] = {}
    for figure in document.figures():
        files[f"figures/{figure.name}.svg"] = figure.svg.encode()
        files[f"figures/{figure.name}.png"] = figure.png
    for table in document.tables():
        files[f"tables/{table.name}.csv"] = as_csv(table).encode()
        files[f"tables/{table.name}.md"] = as_markdown(table).encode()
        files[f"tables/{table.name}.tex"] = as_latex(table).encode()
    for table in document.data:
        files[f"tables/{table.name}.csv"] = as_csv(table).encode()
    return files | {"index.html": render_page(document).encode()}


def check_output(out: Path | str) -> None:
    """Raise `ReportError` unless the folder is new, empty or an earlier report."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ReportError(str(folder), expected="a folder", got="a file", fix="Choose another folder with --out.")
    if folder.is_dir() and any(folder.iterdir()) and _files_of_report(folder) is None:
        raise ReportError(
            str(folder), expected="a new or empty folder, or an earlier report", got="a folder with other files in it",
            fix="Choose another folder with --out; nothing was changed.",
        )  # fmt: skip


def write_files(files: Mapping[str, bytes], out: Path | str) -> Path:
    """Write a report and return the path of its page.

    Files that only the earlier report had are deleted; files that belong to no report are left alone. Raises
    `ReportError` if the folder holds something else or cannot be written.
    """
    folder = Path(out)
    check_output(folder)
    try:
        before = _files_of_report(folder) or ()
        folder.mkdir(parents=True, exist_ok=True)
        # Lists old and new files until all are written, so that an interrupted report is still recognised as one.
        _replace(folder / MANIFEST, _manifest({*before, *files}))
        for name, data in files.items():
            _replace(folder / name, data)
        for name in set(before) - set(files):
            (folder / name).unlink(missing_ok=True)
        _replace(folder / MANIFEST, _manifest(set(files)))
    except OSError as error:
        raise ReportError(
            str(folder), expected="a writable folder", got=str(error), fix="Choose another folder with --out."
        ) from error
    return folder / "index.html"


def _manifest(names: set[str]) -> bytes:
    return json.dumps({"made by": _MADE_BY, "version": __version__, "files": sorted(names)}, indent=1).encode() + b"\n"


def _files_of_report(folder: Path) -> tuple[str, ...] | None:
    """Return the files that the manifest lists, without paths that lead out of the folder; None if it is no report."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["made by"] != _MADE_BY:
            return None
        names = [str(name) for name in manifest["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    paths = [PurePosixPath(name) for name in names]
    return tuple(str(p) for p in paths if p.parts and not p.is_absolute() and ".." not in p.parts)


def _replace(path: Path, data: bytes) -> None:
    with replacing(path, durable=False) as new:
        new.write_bytes(data)
