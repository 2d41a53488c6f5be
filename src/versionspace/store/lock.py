"""The lock on a campaign's folder."""

from pathlib import Path

from versionspace.locks import FileLock
from versionspace.store.errors import LockedError, as_store_errors


class Lock:
    """Hold a campaign's folder for one process until closed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Lock(Path(folder)):
    ...     Lock(Path(folder)).take()       # doctest: +ELLIPSIS
    Traceback (most recent call last):
    versionspace.store.errors.LockedError: ...: expected a campaign that no other process is using, got one in use by
    process ...
    """

    def __init__(self, folder: Path) -> None:
        self._lock = FileLock(folder / "lock")

    @property
    def path(self) -> Path:
        """The lock file."""
        return self._lock.path

    def take(self, wait: bool = False) -> "Lock":
        """Take the lock. Raises LockedError with the process that holds it, or with ``wait`` waits for its release."""
        with as_store_errors(self.path.parent):
            if wait:
                self._lock.wait()
                return self
            if self._lock.acquire():
                return self
        raise LockedError(
            str(self.path.parent), expected="a campaign that no other process is using",
            got=f"one in use by process {self._lock.holder() or '(unknown)'}",
            fix="Wait for that process to end, or stop it; its lock ends with it.",
        )  # fmt: skip

    def holder(self) -> str:
        """Return the id of the process that holds the lock, or held it last; empty if it is unknown."""
        return self._lock.holder()

    def close(self) -> None:
        """Release the lock."""
        self._lock.release()

    def __enter__(self) -> "Lock":
        return self if self._lock.held else self.take()

    def __exit__(self, *_: object) -> None:
        self.close()
