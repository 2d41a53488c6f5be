"""What can go wrong with a folder."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from versionspace.errors import ExplainedError

_DAMAGED = "Run `versionspace verify` on the folder, and go back to a backup if it is damaged."

MALFORMED = (KeyError, TypeError, AttributeError, ValueError)
"""What is raised where an event does not hold what its kind does."""


class StoreError(ExplainedError):
    """A campaign's folder that cannot be read or written, or is not whole."""


class LockedError(StoreError):
    """Another process has the campaign."""


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Full disks, read-only folders and damaged files become sentences. What was committed stays."""
    try:
        yield
    except OSError as error:
        raise _of_os(path, error) from error
    except sqlite3.Error as error:
        raise _of_sqlite(path, error) from error


def _of_os(path: Path, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return full(path)
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return read_only(path)
    return StoreError(
        str(path),
        expected="a folder that can be read and written",
        got=str(error),
        fix="Check the disk.",
    )


def _of_sqlite(path: Path, error: sqlite3.Error) -> StoreError:
    message = str(error)
    if "full" in message:
        return full(path)
    if "readonly" in message or "unable to open" in message:
        return read_only(path)
    if "locked" in message:
        return LockedError(
            str(path), expected="a ledger that nobody else holds", got=message, fix="Wait for the other process to end."
        )
    return StoreError(str(path), expected="a whole ledger", got=message, fix=_DAMAGED)


def unlike(path: Path, wanted: str, error: Exception) -> StoreError:
    """A file that can be read, and whose content is not what we write."""
    got = f"nothing named {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
    return StoreError(str(path), expected=wanted, got=got, fix=_DAMAGED)


def full(path: Path) -> StoreError:
    """No room left."""
    return StoreError(
        str(path), expected="room on the disk", got="none",
        fix="All that was committed is safe. Make room and run the same command again: it goes on from there.",
    )  # fmt: skip


def read_only(path: Path) -> StoreError:
    """No permission to write."""
    return StoreError(
        str(path), expected="a folder that can be written", got="one that can only be read",
        fix="Change its permissions, or choose another folder with --out.",
    )  # fmt: skip
