"""Which images a folder holds, and what it says about their classes.

DIR/CLASS/…            the first folder names the class; images beside the class folders have no label
DIR/train/CLASS/…      the same under train, val (or valid, validation) and test
DIR/labels.csv         columns file and label, or an export; then folders are only folders. Also in train, val and test
"""

import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from versionspace.data.dataset import LabelSource, Skipped
from versionspace.data.label_table import Row, read_rows
from versionspace.errors import InputError
from versionspace.text import printable

SUFFIXES = frozenset((".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".bmp"))
UNREAD = frozenset(
    (".heic", ".heif", ".avif", ".jxl", ".jp2", ".gif", ".svg", ".psd", ".ico", ".raw", ".dng", ".cr2", ".cr3", ".nef",
     ".arw", ".orf", ".rw2", ".raf")
)  # fmt: skip
"""Endings of images that are not read, which the report says: phones write some of them."""
PARTS = {"train": "train", "val": "validation", "valid": "validation", "validation": "validation", "test": "test"}
LABELS = "labels.csv"


@dataclass(frozen=True)
class Entry:
    """An image file: the part it is in, its path relative to the folder, and its class where it has one."""

    part: str
    file: str
    label: str | None


@dataclass(frozen=True)
class Content:
    """What labels.csv says of an image by its SHA-256; ``file`` is what its file was called."""

    id: str
    file: str
    label: str | None


@dataclass(frozen=True)
class Listing:
    """All image files of a folder, in the order of their names within each part."""

    entries: tuple[Entry, ...]
    unknown: tuple[str, ...]
    """Files that labels.csv names and that are not there."""
    beside: tuple[str, ...]
    """Images that lie beside train, val and test, and so in none of them."""
    closed: tuple[Skipped, ...]
    """Links that lead nowhere or in a circle, folders that cannot be opened, images in formats that are not read."""
    sources: tuple[LabelSource, ...]
    contents: tuple[Content, ...]


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; where one may not look, that is said."""
    try:
        return path.is_dir()
    except OSError as error:
        raise _shut(path, error) from error


def listing(root: Path) -> Listing:
    """Looks through a folder; no file is opened but labels.csv."""
    try:
        return _listing(root)
    except OSError as error:
        raise _shut(root, error) from error


def _shut(path: Path, error: OSError) -> InputError:
    return InputError(
        printable(error.filename or path),
        expected="a folder that may be looked into",
        got=error.strerror or str(error),
        fix="Ask whoever owns it for the right to read it, and the folders that it lies in.",
    )


def _listing(root: Path) -> Listing:
    parts = {} if (root / LABELS).is_file() else _parts(root)
    entries: list[Entry] = []
    unknown: list[str] = []
    closed: list[Skipped] = []
    sources: list[LabelSource] = []
    contents: list[Content] = []
    for name, part in sorted(parts.items()) or [("", "train")]:
        place = root / name
        prefix = f"{name}/" if name else ""
        shut: dict[str, str] = {}
        files = sorted(_files(place, "", (), shut))
        closed += [Skipped(prefix + file, why) for file, why in shut.items()]
        table = (place / LABELS).is_file()
        told: list[Content] = []
        if table:
            rows = read_rows(place / LABELS)
            told = [Content(row.image, prefix + row.name, row.label) for row in rows if row.image]
            known, lost = _by_name(place / LABELS, rows, files)
            contents += told
            unknown += [prefix + file for file in lost]
            found = [Entry(part, prefix + file, known.get(file)) for file in files]
        else:
            found = [Entry(part, prefix + file, _folder_of(file)) for file in files]
        entries += found
        labels = {one.label for one in found} | {one.label for one in told}
        sources.append(LabelSource(part, table, tuple(sorted(label for label in labels if label is not None))))
    beside = sorted(child.name for child in root.iterdir() if child.is_file() and _is_image(child.name))
    return Listing(
        tuple(entries), tuple(unknown), tuple(beside) if parts else (), tuple(closed), tuple(sources), tuple(contents)
    )


def _by_name(path: Path, rows: list[Row], files: list[str]) -> tuple[dict[str, str | None], list[str]]:
    """Classes by file, of rows that tell no content, and names of files that are not there."""
    named = {_plain(file): file for file in files} | {file: file for file in files}
    known: dict[str, str | None] = {}
    lost = []
    for row in (one for one in rows if not one.image):
        spellings = [] if row.lost else [one for file in row.files for one in (file, _plain(file)) if one in named]
        if not spellings:
            lost.append(row.name)
            continue
        file = named[spellings[0]]
        if known.setdefault(file, row.label) != row.label:
            raise InputError(
                str(path),
                expected=f"one label for {file}",
                got=f"{known[file] or 'none'} and {row.label or 'none'}",
                fix="Delete the wrong row.",
            )
    if lost and len(lost) == len(rows):
        raise InputError(
            str(path),
            expected="files of this folder, by their path relative to it",
            got=f"{len(rows)} files of which none is there, such as {rows[0].name!r}",
            fix="Write the paths as they are seen from the folder of labels.csv, with forward slashes.",
        )
    return known, lost


def image_files(root: Path) -> list[str]:
    """Image files in a folder and below it, by their path relative to it, sorted; nothing is said of what is shut."""
    return sorted(_files(root, "", (), {}))


def _parts(root: Path) -> dict[str, str]:
    """The folders that are parts, by name; none where the folders are classes. What could be either is refused."""
    folders = sorted(child for child in root.iterdir() if child.is_dir() and not child.name.startswith("."))
    parts = {child.name: PARTS[child.name.lower()] for child in folders if child.name.lower() in PARTS}
    others = [child.name for child in folders if child.name not in parts]
    if not parts:
        return {}
    deep = any(child.is_dir() for name in parts for child in (root / name).iterdir())
    if others and not deep and len(parts) == 1:
        return {}  # a class that happens to be called train
    if others or "train" not in parts.values() or len(set(parts.values())) < len(parts):
        raise InputError(
            str(root),
            expected="folders that are classes; or train, with or without one val and one test, and no others",
            got=", ".join(child.name for child in folders),
            fix="Move the folders that are neither somewhere else, or rename them.",
        )
    return parts


def _is_image(name: str) -> bool:
    return not name.startswith(".") and _ending(name) in SUFFIXES


def _ending(name: str) -> str:
    return name[name.rfind(".") :].lower()


def _files(root: Path, inside: str, above: tuple[os.stat_result, ...], shut: dict[str, str]) -> Iterator[str]:
    """Image files in a folder inside the root, and below it; hidden ones are left out. Links are followed.

    ``above``: the folders that it lies in, so that links do not lead in circles. ``shut``: collects what is not looked
    into, and why.
    """
    try:
        here = (root / inside).stat()
        if any(os.path.samestat(here, one) for one in above):
            shut[inside] = "leads back to a folder that it lies in"
            return
        with os.scandir(root / inside) as found:
            children = [child for child in found if not child.name.startswith(".")]
    except OSError as error:
        shut[inside] = f"cannot be opened: {error.strerror or error}"
        return
    for child in children:
        name = f"{inside}/{child.name}" if inside else child.name
        try:
            folder, file = child.is_dir(), child.is_file()
        except OSError:  # a link to itself, or to where one may not look
            folder = file = False
        if folder:
            yield from _files(root, name, (*above, here), shut)
        elif _is_image(child.name):
            yield name
        elif child.is_symlink() and not file:
            shut[name] = "a link that leads nowhere"
        elif _ending(child.name) in UNREAD:
            shut[name] = f"{_ending(child.name)} files are not read: convert it to JPEG or PNG"


def _folder_of(file: str) -> str | None:
    first, inside, _ = file.partition("/")
    return unicodedata.normalize("NFC", first) if inside else None


def _plain(file: str) -> str:
    """A path as it is compared: spreadsheets and file systems differ in slashes and in how they spell an é."""
    return unicodedata.normalize("NFC", PurePosixPath(file.replace("\\", "/")).as_posix())
