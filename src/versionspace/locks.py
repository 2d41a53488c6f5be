"""A lock between processes: an operating system lock on a file, released when its holder ends or is killed."""

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

POLL_SECONDS = 0.2
"""Pause between two attempts to acquire a lock that another process holds."""
_UNSUPPORTED = {getattr(errno, name, errno.ENOSYS) for name in ("ENOLCK", "ENOSYS", "EOPNOTSUPP", "ENOTSUP")}
_HELD = {errno.EAGAIN, errno.EACCES, errno.EDEADLK}


class FileLock:
    """An exclusive lock on a file; the file holds the process id of the holder.

    On a file system without locks, every attempt succeeds. With ``unlink`` the file is deleted on release.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first, second = FileLock(Path(folder) / "lock"), FileLock(Path(folder) / "lock")
    ...     first.acquire(), second.acquire(), second.holder() == str(os.getpid())
    ...     first.release()
    ...     second.acquire()
    ...     second.release()
    (True, False, True)
    True
    """

    def __init__(self, path: Path, *, unlink: bool = False) -> None:
        self.path, self._unlink = path, unlink
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def acquire(self) -> bool:
        """Acquire the lock; return False if another process, or another `FileLock` in this process, holds it."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if not _try_lock(descriptor) or not _is_file(self.path, descriptor):
                os.close(descriptor)
                return False
            os.ftruncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
        except BaseException:
            with suppress(OSError):
                os.close(descriptor)
            raise
        self._descriptor = descriptor
        return True

    def wait(self, waiting: Callable[[], None] = lambda: None) -> None:
        """Acquire the lock, waiting until it is free. ``waiting`` is called once if it is not free immediately."""
        if self.acquire():
            return
        waiting()
        while not self.acquire():
            time.sleep(POLL_SECONDS)

    def holder(self) -> str:
        """Return the process id of the last holder as text, or an empty text if it is unknown."""
        with suppress(OSError):
            return self.path.read_bytes()[:32].decode(errors="replace").strip()
        return ""

    def release(self) -> None:
        """Release the lock. Does nothing if it is not held."""
        if self._descriptor is None:
            return
        if self._unlink:
            with suppress(OSError):  # before the release, so that a waiting process sees that the file was deleted
                self.path.unlink()
        os.close(self._descriptor)
        self._descriptor = None


@contextmanager
def exclusive(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a lock for the duration of a block; the file is deleted afterwards. ``waiting``: see `FileLock.wait`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, unlink=True)
    lock.wait(waiting)
    try:
        yield
    finally:
        lock.release()


def _is_file(path: Path, descriptor: int) -> bool:
    """Return whether the path still names the open file, which its former holder may have deleted."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


def _try_lock(descriptor: int) -> bool:
    """Lock an open file; return False if another process holds the lock. True if locks are unsupported."""
    try:
        _lock(descriptor)
    except OSError as error:
        if error.errno in _HELD:
            return False
        if error.errno not in _UNSUPPORTED:
            raise
    return True


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        # Lock a byte far beyond the process id, which other processes must be able to read.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
