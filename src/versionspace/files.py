"""Files that appear complete or not at all, and their checksums."""

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = ".*.new"
"""Glob pattern of the temporary names that `replacing` and `replacing_folder` use."""


@contextmanager
def replacing(target: Path, durable: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside ``target``; rename it to ``target`` when the block succeeds.

    The content is on disk before the name changes, and the new name is on disk before the block ends, so a power
    failure leaves either the old file or the new one. If the block raises, the temporary file is deleted and the old
    file remains. ``durable=False`` does not wait for the disk, for files that can be recreated.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a" / "b.txt") as new:
    ...         written = new.write_text("content")
    ...     (Path(folder) / "a" / "b.txt").read_text()
    'content'
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(target)
    try:
        yield temporary
        if durable:
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
        temporary.replace(target)
        if durable:
            sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """Like `replacing`, for a folder that the block creates and fills. The old folder is deleted before the rename."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(target)
    try:
        yield temporary
        for file in temporary.rglob("*"):
            sync(file)
        if target.exists():
            shutil.rmtree(target)
        temporary.rename(target)
        sync(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _temporary(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(6)}.new")


def write_bytes(path: Path, content: bytes, mode: int = 0o666) -> str:
    """Write a file with `replacing` and return its SHA-256. The file is created with the permissions ``mode``."""
    with (
        replacing(path) as temporary,
        open(temporary, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file,
    ):
        file.write(content)
    return hashlib.sha256(content).hexdigest()


def sha256(path: Path) -> str:
    """Return the SHA-256 of the content of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_sha256(text: str) -> bool:
    """Return whether a text is a SHA-256 in hex, as are the ids of images in a folder.

    >>> is_sha256("ab" * 32), is_sha256("17")
    (True, False)
    """
    return len(text) == 64 and not set(text) - set("0123456789abcdef")


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk if the operating system supports it."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
