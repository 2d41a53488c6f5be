"""The dataset cache: arrays on disk that are complete or absent, never half-written.

``CACHE/NAME/dataset.json`` is the manifest of a dataset. Each array is stored beside it, in a file named after its
content. Arrays are written before the manifest, each under a temporary name that is then renamed atomically, so that a
reader sees either the old dataset or the new one.
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

CACHE_VARIABLE = "VERSIONSPACE_CACHE"
"""The environment variable that names the cache folder."""
FORMAT = 1
STALE_SECONDS = 24 * 3600
"""Age after which temporary files count as abandoned."""
_MANIFEST = "dataset.json"
_LARGE_BYTES = 16 << 20
"""Arrays from this size on are worth a file."""


def cache_folder(cache: str | os.PathLike[str] | None = None) -> Path:
    """Return the cache folder: ``cache``, else the environment variable's, else the user's cache folder."""
    chosen = cache or os.environ.get(CACHE_VARIABLE) or require("platformdirs").user_cache_dir("versionspace", False)
    return Path(chosen).expanduser().absolute()


@contextmanager
def explaining_write_errors(root: Path) -> Iterator[None]:
    """Convert an OSError raised while the cache is written into a `DataError`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise DataError(
                str(error.filename or root),
                expected="permission to open another file",
                got=error.strerror or str(error),
                fix="Close other programs, or raise the limit: ulimit -n 4096.",
            ) from error
        raise DataError(
            str(error.filename or root),
            expected="a writable cache folder with free space",
            got=error.strerror or str(error),
            fix=f"Choose another folder with --cache DIR or the environment variable {CACHE_VARIABLE}.",
        ) from error


@dataclass(frozen=True)
class Manifest:
    """The content of ``dataset.json``."""

    name: str
    source: str
    files: Mapping[str, str]
    """SHA-256 of each source file."""
    different: tuple[str, ...]
    """Source files that differ from the published ones."""
    arrays: Mapping[str, str]
    """The file of each array, which is named after the array and the SHA-256 of its content."""
    sizes: Mapping[str, int]
    """Size in bytes of each array's file."""
    format: int = FORMAT


@contextmanager
def staging(root: Path) -> Iterator[Path]:
    """Yield a temporary folder in ``root``, deleted afterwards; delete those of killed runs after a day."""
    root.mkdir(parents=True, exist_ok=True)
    for abandoned in root.glob(".staging-*"):
        with suppress(OSError):
            if time.time() - abandoned.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=".staging-", dir=root) as folder:
        yield Path(folder)


def write_dataset(
    root: Path,
    name: str,
    arrays: Mapping[str, Array],
    *,
    source: str,
    files: Mapping[str, str],
    different: tuple[str, ...],
) -> Manifest:
    """Write a dataset's arrays, then its manifest, and delete the arrays of its earlier version."""
    folder = root / name
    names: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for key, array in arrays.items():
        with staging(folder) as workspace:
            written = workspace / f"{key}.npy"
            np.save(written, array, allow_pickle=False)
            sync(written)
            names[key] = f"{key}-{sha256(written)}.npy"
            sizes[key] = written.stat().st_size
            written.replace(folder / names[key])
    manifest = Manifest(name, source, dict(files), different, names, sizes)
    with replacing(folder / _MANIFEST) as temporary:
        temporary.write_text(json.dumps(asdict(manifest), indent=1), encoding="utf-8")
    for path in folder.glob("*.npy"):
        if path.name not in names.values():
            with suppress(OSError):  # Windows refuses while another process has the file open
                path.unlink()
    return manifest


def read_manifest(root: Path, name: str) -> Manifest | None:
    """Return the manifest of a cached dataset; None if it is absent, damaged, or an array's file size is wrong."""
    folder = root / name
    try:
        content = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        manifest = Manifest(**{**content, "different": tuple(content["different"])})
        complete = manifest.format == FORMAT and all(
            (folder / file).stat().st_size == manifest.sizes[key] for key, file in manifest.arrays.items()
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return manifest if complete else None


def is_intact(root: Path, manifest: Manifest) -> bool:
    """Return whether every array's content still matches its checksum."""
    return all(sha256(root / manifest.name / file) in file for file in manifest.arrays.values())


def open_array(root: Path, manifest: Manifest, key: str) -> Array:
    """Return one array of a cached dataset, memory-mapped and read-only."""
    path = root / manifest.name / manifest.arrays[key]
    try:
        loaded: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise FormatError(
            str(path), expected="a NumPy array", got=str(error), fix=f"Run: versionspace data fetch {manifest.name}"
        ) from error
    return loaded


def file_backed(array: Array, root: Path) -> Array:
    """Return a large array as a memory-mapped, read-only copy in a temporary file, whose pages the system can drop.

    A small array is returned as it is, and so is one for which there is no space. The file has no name: it disappears
    with the process.
    """
    if array.nbytes < _LARGE_BYTES or os.name != "posix":
        return array
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root) as file:
            array.tofile(file)
            file.flush()
            return np.memmap(file, array.dtype, "r", shape=array.shape)
    except OSError:
        return array
