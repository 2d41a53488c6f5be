"""A report's folder: written file by file, each whole or not at all, and only ever over a report of our own."""

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from versionspace._version import __version__
from versionspace.files import replacing
from versionspace.report.document import Report
from versionspace.report.errors import ReportError
from versionspace.report.html import page
from versionspace.report.tables import as_csv, as_latex, as_markdown

MANIFEST = "report.json"
"""Says that a folder is a report, and which files in it are."""
_MAKER = "versionspace report"


def files(report: Report) -> dict[str, bytes]:
    """Everything by its path within the folder; the page last, so that what it stands beside is there when it is."""
    out: dict[str, bytes] = {}
    for figure in report.figures():
        out[f"figures/{figure.name}.svg"] = figure.svg.encode()
        out[f"figures/{figure.name}.png"] = figure.png
    for table in report.tables():
        out[f"tables/{table.name}.csv"] = as_csv(table).encode()
        out[f"tables/{table.name}.md"] = as_markdown(table).encode()
        out[f"tables/{table.name}.tex"] = as_latex(table).encode()
    for table in report.data:
        out[f"tables/{table.name}.csv"] = as_csv(table).encode()
    return out | {"index.html": page(report).encode()}


def check(out: Path) -> None:
    """Refuses a folder that holds anything, unless it is a report."""
    if out.exists() and not out.is_dir():
        raise ReportError(str(out), expected="a folder", got="a file", fix="Choose another place with --out.")
    if out.is_dir() and any(out.iterdir()) and _listed(out) is None:
        raise ReportError(
            str(out), expected="an empty folder, a new one, or a report to be made anew",
            got="a folder with other things in it", fix="Choose another with --out; nothing was changed.",
        )  # fmt: skip


def write(content: Mapping[str, bytes], out: Path) -> Path:
    """Writes a report; files of the one before that are no longer part of it go, all others stay. Gives the page."""
    check(out)
    try:
        before = _listed(out) or ()
        out.mkdir(parents=True, exist_ok=True)
        # Both are listed while files change, so that a report half written is still known for what it is.
        _put(out / MANIFEST, _manifest({*before, *content}))
        for name, data in content.items():
            _put(out / name, data)
        for name in set(before) - set(content):
            (out / name).unlink(missing_ok=True)
        _put(out / MANIFEST, _manifest(set(content)))
    except OSError as error:
        raise ReportError(
            str(out), expected="a folder that can be written", got=str(error), fix="Choose another with --out."
        ) from error
    return out / "index.html"


def _manifest(names: set[str]) -> bytes:
    return json.dumps({"made by": _MAKER, "version": __version__, "files": sorted(names)}, indent=1).encode() + b"\n"


def _listed(out: Path) -> tuple[str, ...] | None:
    """Files of the report that is there; None where there is none. Names that lead out of the folder are not ours."""
    try:
        found = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
        if found["made by"] != _MAKER:
            return None
        names = [str(name) for name in found["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    paths = [PurePosixPath(name) for name in names]
    return tuple(str(p) for p in paths if p.parts and not p.is_absolute() and ".." not in p.parts)


def _put(path: Path, data: bytes) -> None:
    with replacing(path, durable=False) as new:
        new.write_bytes(data)
