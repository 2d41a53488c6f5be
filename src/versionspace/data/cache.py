"""Where prepared datasets lie, and how they get there without ever being half there.

``CACHE/NAME/dataset.json`` names the arrays of a dataset; each lies beside it under a name made of its content. Arrays
are written first and the page last, each under a temporary name that is then replaced in one step: whoever reads sees
the old dataset or the new one.
"""

import errno
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from versionspace.data.errors import DataError, FormatError
from versionspace.extras import require
from versionspace.files import replacing, sha256, sync
from versionspace.types import Array

VARIABLE = "VERSIONSPACE_CACHE"
FORMAT = 1
_PAGE = "dataset.json"
STALE = 24 * 3600
"""Seconds after which work in progress counts as abandoned."""


def location(cache: str | os.PathLike[str] | None = None) -> Path:
    """The cache folder: the one given, else that of the environment variable, else the user's own."""
    chosen = cache or os.environ.get(VARIABLE) or require("platformdirs").user_cache_dir("versionspace", False)
    return Path(chosen).expanduser().absolute()


@contextmanager
def writing(root: Path) -> Iterator[None]:
    """Turns what the file system has to say while the cache is written into a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise DataError(
                str(error.filename or root),
                expected="that one more file may be open",
                got=error.strerror or str(error),
                fix="Close other programs, or raise the limit: ulimit -n 4096.",
            ) from error
        raise DataError(
            str(error.filename or root),
            expected="a cache folder with space, that can be written to",
            got=error.strerror or str(error),
            fix=f"Name another with --cache DIR or the variable {VARIABLE}.",
        ) from error


@dataclass(frozen=True)
class Page:
    """What is recorded beside the arrays of a dataset."""

    name: str
    source: str
    files: Mapping[str, str]
    """SHA-256 of each source file."""
    different: tuple[str, ...]
    """Source files that differ from the published ones."""
    arrays: Mapping[str, str]
    """Name of an array to its file: the name and the SHA-256 of the content."""
    sizes: Mapping[str, int]
    """Bytes of each array's file."""
    format: int = FORMAT


@contextmanager
def staging(root: Path) -> Iterator[Path]:
    """A folder for work in progress, removed afterwards; those of runs that were killed go after a day."""
    root.mkdir(parents=True, exist_ok=True)
    for left in root.glob(".staging-*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > STALE:
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=".staging-", dir=root) as folder:
        yield Path(folder)


def commit(
    root: Path,
    name: str,
    arrays: Mapping[str, Array],
    *,
    source: str,
    files: Mapping[str, str],
    different: tuple[str, ...],
) -> Page:
    """Writes a dataset's arrays and then the page that names them, and removes those of the dataset's past."""
    folder = root / name
    named: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for key, array in arrays.items():
        with staging(folder) as workshop:
            written = workshop / f"{key}.npy"
            np.save(written, array, allow_pickle=False)
            sync(written)
            named[key] = f"{key}-{sha256(written)}.npy"
            sizes[key] = written.stat().st_size
            written.replace(folder / named[key])
    page = Page(name, source, dict(files), different, named, sizes)
    with replacing(folder / _PAGE) as temporary:
        temporary.write_text(json.dumps(asdict(page), indent=1), encoding="utf-8")
    for path in folder.glob("*.npy"):
        if path.name not in named.values():
            with suppress(OSError):  # another process may have it open, on systems that mind
                path.unlink()
    return page


def find(root: Path, name: str) -> Page | None:
    """The page of a dataset that is there and whole, as far as sizes tell; None otherwise."""
    folder = root / name
    try:
        content = json.loads((folder / _PAGE).read_text(encoding="utf-8"))
        page = Page(**{**content, "different": tuple(content["different"])})
        whole = page.format == FORMAT and all(
            (folder / file).stat().st_size == page.sizes[key] for key, file in page.arrays.items()
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return page if whole else None


def verified(root: Path, page: Page) -> bool:
    """Whether every array still has the content that it was written with."""
    return all(sha256(root / page.name / file) in file for file in page.arrays.values())


def array(root: Path, page: Page, key: str) -> Array:
    """An array of a dataset, memory-mapped, read-only."""
    path = root / page.name / page.arrays[key]
    try:
        loaded: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise FormatError(
            str(path), expected="an array of NumPy", got=str(error), fix=f"Run: versionspace data fetch {page.name}"
        ) from error
    return loaded
