"""Files, arrays and folders that appear complete or not at all. What goes wrong is a `StoreError`."""

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from versionspace.files import replacing_folder, sha256, write_bytes
from versionspace.store.errors import StoreError, as_store_errors, disk_full, unexpected_content
from versionspace.types import Array


def write_file(path: Path, content: bytes, mode: int = 0o666) -> str:
    """Write a file durably and return its SHA-256. ``mode``: the permissions that it has from the start."""
    reject_folder(path)
    reject_unnamed(path)
    with as_store_errors(path.parent):
        return write_bytes(path, content, mode)


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> str:
    """Write arrays as a compressed .npz file and return its SHA-256. Equal arrays yield equal bytes."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return write_file(path, buffer.getvalue())


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the arrays that `write_arrays` wrote. Raises StoreError if the file is damaged."""
    try:
        content = io.BytesIO(path.read_bytes())
        _check_archive(content)
        with np.load(content, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise unexpected_content(path, "arrays that were written with the campaign", error) from error


def _check_archive(content: io.BytesIO) -> None:
    """Raise BadZipFile if an entry was changed. NumPy trusts the headers, which may be what is damaged."""
    with zipfile.ZipFile(content) as archive:
        changed = archive.testzip()
        for entry in archive.infolist():
            # `write_arrays` writes no comments: one means that a length was changed, and it hides the next entry.
            if entry.filename == changed or entry.comment:
                raise zipfile.BadZipFile(f"{entry.filename} with other bytes than were written")
    content.seek(0)


def write_folder(path: Path, fill: Callable[[Path], None]) -> dict[str, str]:
    """Create a folder with ``fill``, durably, and return the SHA-256 of each of its files."""
    reject_unnamed(path)
    try:
        with as_store_errors(path.parent), replacing_folder(path) as new:
            fill(new)
    except BaseException as error:
        if "No space left" in str(error):  # safetensors raises an error of its own
            raise disk_full(path.parent) from error
        raise
    return {file.relative_to(path).as_posix(): sha256(file) for file in sorted(path.rglob("*")) if file.is_file()}


def reject_folder(path: Path) -> None:
    """Raise StoreError if a file is to be written where a folder is."""
    if path.is_dir():
        raise StoreError(str(path), expected="a file to write", got="a folder", fix="Append a file name to it.")


def reject_unnamed(path: Path) -> None:
    """Raise StoreError for ``.``, ``..`` and ``/``, which cannot be replaced."""
    if path.name in ("", ".."):
        raise StoreError(
            str(path), expected="a file or folder by its name", got="one without", fix="Name one, such as labels."
        )
