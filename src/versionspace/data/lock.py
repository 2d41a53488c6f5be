"""One process at a time fetches a dataset: an OS lock on a file, which is gone when its holder is, however it ended."""

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SECONDS = 0.2
"""Between two looks at a lock that another process has."""
_NO_LOCKS = {getattr(errno, name, errno.ENOSYS) for name in ("ENOLCK", "ENOSYS", "EOPNOTSUPP", "ENOTSUP")}


@contextmanager
def alone(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Holds the lock at a path; ``waiting`` is called once where another process has it. The file goes afterwards.

    On a file system without locks nothing is held.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, alone(Path(folder) / "lock", waiting=lambda: None):
    ...     print((Path(folder) / "lock").exists())
    True
    """
    descriptor = _taken(path)
    if descriptor is None:
        waiting()
        while descriptor is None:
            time.sleep(SECONDS)
            descriptor = _taken(path)
    try:
        yield
    finally:
        with suppress(OSError):  # first the file, then the lock: whoever waits for it sees that it is no longer there
            path.unlink()
        os.close(descriptor)


def _taken(path: Path) -> int | None:
    """The locked file's descriptor; None where another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _lock(descriptor)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return descriptor
        if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            os.close(descriptor)
            raise
    os.close(descriptor)  # held by another process, or removed by the one that had it
    return None


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
