"""Scanning of an image folder: which image files it contains, and what it says about their classes.

DIR/CLASS/…            the top-level folder is the class; images outside class folders are unlabelled
DIR/train/CLASS/…      the same in train, val (or valid, validation) and test
DIR/labels.csv         a label table; folders then have no meaning. Also in each of train, val and test
"""

import os
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from versionspace.data.dataset import LabelSource, Skipped
from versionspace.data.label_table import LabelRow, read_label_table
from versionspace.errors import InputError
from versionspace.text import printable

SUFFIXES = frozenset(
    (".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".bmp", ".gif", ".ppm", ".pgm", ".pbm", ".pnm", ".avif",
     ".heic", ".heif")
)  # fmt: skip
UNSUPPORTED = frozenset(
    (".jxl", ".jp2", ".svg", ".psd", ".ico", ".raw", ".dng", ".cr2", ".cr3", ".nef",
     ".arw", ".orf", ".rw2", ".raf")
)  # fmt: skip
"""Suffixes of image files that are not read but reported, because phones and cameras write some of them."""
SUBSETS = {"train": "train", "val": "validation", "valid": "validation", "validation": "validation", "test": "test"}
"""Folder names that stand for a subset of the dataset."""
LABELS = "labels.csv"
LEADS_OUT = "a link that leads out of the folder"


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image file: its subset, its path relative to the folder, and its class, if any."""

    subset: str
    file: str
    label: str | None


@dataclass(frozen=True)
class ContentLabel:
    """A label that labels.csv gives to an image by its SHA-256; ``file`` is the name recorded there."""

    id: str
    file: str
    label: str | None


@dataclass(frozen=True)
class Listing:
    """All image files of a folder, sorted by name within each subset."""

    files: tuple[ImageFile, ...]
    unknown: tuple[str, ...]
    """Files listed in labels.csv that do not exist."""
    outside: tuple[str, ...]
    """Images beside train, val and test, which belong to none of them."""
    skipped: tuple[Skipped, ...]
    """Links that are broken, circular or not followed, folders that cannot be opened, and unsupported formats."""
    sources: tuple[LabelSource, ...]
    by_content: tuple[ContentLabel, ...]


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder; raise `InputError` if permissions do not allow to tell."""
    try:
        return path.is_dir()
    except OSError as error:
        raise _unreadable(path, error) from error


def scan_folder(root: Path, *, follow_links: bool = True) -> Listing:
    """List the image files of a folder. Opens no file except labels.csv.

    ``follow_links``: whether links that lead out of the folder are followed; if not, they are listed as skipped.
    """
    try:
        return _scan(root, None if follow_links else root.resolve())
    except OSError as error:
        raise _unreadable(root, error) from error


def image_files(root: Path) -> list[str]:
    """Return the image files in a folder and below it, as sorted relative paths; unreadable folders are skipped."""
    return sorted(_walk(root, "", (), {}, None))


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(
        printable(error.filename or path),
        expected="a readable folder",
        got=error.strerror or str(error),
        fix="Ask its owner for permission to read it and the folders above it.",
    )


def _scan(root: Path, limit: Path | None) -> Listing:
    folders = {} if (root / LABELS).is_file() else _subset_folders(root)
    files: list[ImageFile] = []
    unknown: list[str] = []
    skipped: list[Skipped] = []
    sources: list[LabelSource] = []
    by_content: list[ContentLabel] = []
    for name, subset in sorted(folders.items()) or [("", "train")]:
        place = root / name
        prefix = f"{name}/" if name else ""
        problems: dict[str, str] = {}
        paths = sorted(_walk(place, "", (), problems, limit))
        skipped += [Skipped(prefix + path, why) for path, why in problems.items()]
        from_table = (place / LABELS).is_file()
        contents: list[ContentLabel] = []
        if from_table:
            rows = read_label_table(place / LABELS)
            contents = [ContentLabel(row.id, prefix + row.name, row.label) for row in rows if row.id]
            labels, unmatched = _labels_by_file(place / LABELS, rows, paths)
            by_content += contents
            unknown += [prefix + path for path in unmatched]
            found = [ImageFile(subset, prefix + path, labels.get(path)) for path in paths]
        else:
            found = [ImageFile(subset, prefix + path, _class_folder(path)) for path in paths]
        files += found
        classes = {file.label for file in found} | {content.label for content in contents}
        sources.append(LabelSource(subset, from_table, tuple(sorted(label for label in classes if label is not None))))
    outside = sorted(child.name for child in root.iterdir() if child.is_file() and _is_image(child.name))
    return Listing(
        tuple(files),
        tuple(unknown),
        tuple(outside) if folders else (),
        tuple(skipped),
        tuple(sources),
        tuple(by_content),
    )


def _labels_by_file(path: Path, rows: list[LabelRow], files: list[str]) -> tuple[dict[str, str | None], list[str]]:
    """Return the labels of rows without an id, by file, and the names of rows that match no file."""
    named = {_normalised(file): file for file in files} | {file: file for file in files}
    labels: dict[str, str | None] = {}
    unmatched = []
    for row in rows:
        if row.id:
            continue
        spellings = [spelling for name in row.spellings for spelling in (name, _normalised(name)) if spelling in named]
        if row.orphaned or not spellings:
            unmatched.append(row.name)
            continue
        file = named[spellings[0]]
        if labels.setdefault(file, row.label) != row.label:
            raise InputError(
                str(path),
                expected=f"one label for {file}",
                got=f"{labels[file] or 'none'} and {row.label or 'none'}",
                fix="Delete the wrong row.",
            )
    if unmatched and len(unmatched) == len(rows):
        raise InputError(
            str(path),
            expected="paths of image files relative to this folder",
            got=f"{len(rows)} files, none of which exists, such as {rows[0].name!r}",
            fix="Write the paths relative to the folder of labels.csv, with forward slashes.",
        )
    return labels, unmatched


def _subset_folders(root: Path) -> dict[str, str]:
    """Return the subset of each train, val and test folder; {} if the folders are classes.

    Raises `InputError` if it is ambiguous.
    """
    folders = sorted(child for child in root.iterdir() if child.is_dir() and not child.name.startswith("."))
    subsets = {child.name: SUBSETS[child.name.lower()] for child in folders if child.name.lower() in SUBSETS}
    others = [child.name for child in folders if child.name not in subsets]
    if not subsets:
        return {}
    nested = any(child.is_dir() for name in subsets for child in (root / name).iterdir())
    if others and not nested and len(subsets) == 1:
        return {}  # a class that happens to be called train
    if others or "train" not in subsets.values() or len(set(subsets.values())) < len(subsets):
        raise InputError(
            str(root),
            expected="class folders only; or train, and optionally one val and one test, without other folders",
            got=", ".join(child.name for child in folders),
            fix="Move or rename the folders that are neither.",
        )
    return subsets


def _is_image(name: str) -> bool:
    return not name.startswith(".") and _suffix(name) in SUFFIXES


def _suffix(name: str) -> str:
    return name[name.rfind(".") :].lower()


def _walk(
    root: Path, inside: str, above: tuple[os.stat_result, ...], problems: dict[str, str], limit: Path | None
) -> Iterator[str]:
    """Yield the image files in a folder inside the root and below it, without hidden ones. Links are followed.

    ``above``: the folders that contain it, to detect circular links. ``problems`` collects what is skipped, and why.
    ``limit``: the folder, without links in its path, that links must not lead out of; None if they may.
    """
    try:
        if limit is not None and not inside and not root.resolve().is_relative_to(limit):
            problems[inside] = LEADS_OUT
            return
        here = (root / inside).stat()
        if any(os.path.samestat(here, folder) for folder in above):
            problems[inside] = "a link to a folder that contains it"
            return
        with os.scandir(root / inside) as entries:
            children = [child for child in entries if not child.name.startswith(".")]
    except OSError as error:
        problems[inside] = f"cannot be opened: {error.strerror or error}"
        return
    for child in children:
        name = f"{inside}/{child.name}" if inside else child.name
        try:
            folder, file = child.is_dir(), child.is_file()
        except OSError:  # a link to itself, or into a folder without read permission
            folder = file = False
        if limit is not None and (folder or file) and child.is_symlink() and _leads_out(root / name, limit):
            if folder or _is_image(child.name):
                problems[name] = LEADS_OUT
        elif folder:
            yield from _walk(root, name, (*above, here), problems, limit)
        elif _is_image(child.name):
            yield name
        elif child.is_symlink() and not file:
            problems[name] = "a broken link"
        elif _suffix(child.name) in UNSUPPORTED:
            problems[name] = f"{_suffix(child.name)} files are not supported: convert it to JPEG or PNG"


def _leads_out(link: Path, limit: Path) -> bool:
    return not link.resolve().is_relative_to(limit)


def _class_folder(file: str) -> str | None:
    first, inside, _ = file.partition("/")
    return sys.intern(unicodedata.normalize("NFC", first)) if inside else None


def _normalised(file: str) -> str:
    """Return a path for comparison: spreadsheets and file systems differ in slashes and in how they encode an é."""
    return unicodedata.normalize("NFC", PurePosixPath(file.replace("\\", "/")).as_posix())
