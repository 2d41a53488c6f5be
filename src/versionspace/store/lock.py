"""One process at a time: an OS lock on a file, which is gone when its holder is, however it ended."""

import os
import sys
from pathlib import Path

from versionspace.store.errors import LockedError, explained


class Lock:
    """Holds a folder until closed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Lock(Path(folder)):
    ...     Lock(Path(folder)).take()       # doctest: +ELLIPSIS
    Traceback (most recent call last):
    versionspace.store.errors.LockedError: ...: expected a campaign that no other process has, got one that process ...
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "lock"
        self._descriptor: int | None = None

    def take(self, wait: bool = False) -> "Lock":
        """Takes it, or says who has it; ``wait`` until it is free."""
        with explained(self.path.parent):
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        if not _locked(descriptor, wait):
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() if hasattr(os, "pread") else ""
            os.close(descriptor)
            raise LockedError(
                str(self.path.parent), expected="a campaign that no other process has",
                got=f"one that process {holder or '(unknown)'} is working on",
                fix="Wait for it, or end it; the lock goes with it.",
            )  # fmt: skip
        with explained(self.path.parent):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
        self._descriptor = descriptor
        return self

    def close(self) -> None:
        """Gives it back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> "Lock":
        return self if self._descriptor is not None else self.take()

    def __exit__(self, *_: object) -> None:
        self.close()


if sys.platform == "win32":
    import msvcrt

    def _locked(descriptor: int, wait: bool) -> bool:
        # Far beyond the number that is written at the start, which others must be able to read.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(descriptor, 0, os.SEEK_SET)
        return True
else:
    import fcntl

    def _locked(descriptor: int, wait: bool) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True
