"""Errors of a campaign's folder, and their translation from errors of the operating system and SQLite."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from versionspace.errors import ExplainedError

_DAMAGED = "Run `versionspace verify` on the folder, and restore a backup if it is damaged."

MALFORMED = (KeyError, TypeError, AttributeError, ValueError)
"""What reading the body of a damaged event may raise."""


class StoreError(ExplainedError):
    """A campaign's folder cannot be read or written, or is incomplete."""


class LockedError(StoreError):
    """Another process holds the campaign."""


@contextmanager
def as_store_errors(path: Path) -> Iterator[None]:
    """Re-raise OSError and sqlite3.Error as StoreError: a full disk, a read-only folder, a damaged file."""
    try:
        yield
    except OSError as error:
        raise _from_os(path, error) from error
    except sqlite3.Error as error:
        raise _from_sqlite(path, error) from error


def _from_os(path: Path, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(path)
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return _read_only(path)
    return StoreError(
        str(path),
        expected="a folder that can be read and written",
        got=str(error),
        fix="Check the disk.",
    )


def _from_sqlite(path: Path, error: sqlite3.Error) -> StoreError:
    message = str(error)
    if "full" in message:
        return disk_full(path)
    if "readonly" in message or "unable to open" in message:
        return _read_only(path)
    if "locked" in message:
        return LockedError(
            str(path), expected="a ledger that no other process has locked", got=message,
            fix="Wait for the other process to end.",
        )  # fmt: skip
    return StoreError(str(path), expected="an undamaged ledger", got=message, fix=_DAMAGED)


def unexpected_content(path: Path, expected: str, error: Exception) -> StoreError:
    """Return the error for a file that can be read but does not contain what versionspace wrote."""
    got = f"nothing named {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
    return StoreError(str(path), expected=expected, got=got, fix=_DAMAGED)


def disk_full(path: Path) -> StoreError:
    """Return the error for a disk without free space."""
    return StoreError(
        str(path), expected="free space on the disk", got="none",
        fix="Everything committed is safe. Free some space and run the same command again to resume.",
    )  # fmt: skip


def _read_only(path: Path) -> StoreError:
    return StoreError(
        str(path), expected="a folder that can be written", got="one that is read-only",
        fix="Change its permissions, or choose another folder with --out.",
    )  # fmt: skip
