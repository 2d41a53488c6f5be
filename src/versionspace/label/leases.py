"""Which browser tab has which image on its screen, so that no two people label the same image at once.

Leases live in memory only. Every request of a tab renews its leases; they expire when the tab falls silent.
"""

from collections.abc import Callable, Iterable

from versionspace.types import ImageId

LEASE_SECONDS = 150.0
"""A tab in the background sends a request once a minute; one that is silent for longer is closed or asleep."""
ACTIVE_SECONDS = 60.0
"""A tab that answered within this time has an active annotator."""


class ImageLeases:
    """Images by the session (one browser tab) that holds them.

    >>> now = [0.0]
    >>> leases = ImageLeases(lambda: now[0])
    >>> leases.acquire("tab", ["a"]); leases.held(exclude="other")
    {'a'}
    >>> now[0] = 200; leases.held(exclude="other")
    set()
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._holder: dict[ImageId, str] = {}
        self._last_request: dict[str, float] = {}
        self._last_answer: dict[str, float] = {}
        self._person: dict[str, str] = {}

    def acquire(self, session: str, images: Iterable[ImageId]) -> None:
        """Lease images to a session, whoever held them before."""
        self.renew(session)
        for image in images:
            self._holder[image] = session

    def renew(self, session: str, who: str | None = None) -> None:
        """Extend all leases of a session. ``who``: the name of its person, if the request has one."""
        self._last_request[session] = self._clock()
        if who is not None:
            self._person[session] = who

    def release_except(self, session: str, images: Iterable[ImageId]) -> None:
        """Release every image of a session that is not in ``images``."""
        kept = set(images)
        for image in [i for i, holder in self._holder.items() if holder == session and i not in kept]:
            del self._holder[image]

    def release_answered(self, session: str, image: ImageId) -> None:
        """Release an image that was answered in this session, whoever holds it."""
        self._holder.pop(image, None)
        self._last_request[session] = self._last_answer[session] = self._clock()

    def end_session(self, session: str) -> None:
        """Release every image of a session and forget it."""
        self.release_except(session, ())
        self._last_request.pop(session, None)
        self._last_answer.pop(session, None)
        self._person.pop(session, None)

    def held(self, exclude: str = "") -> set[ImageId]:
        """Return the images that sessions other than ``exclude`` hold, without expired leases."""
        return {i for i, holder in self._holder.items() if holder != exclude and self._is_alive(holder)}

    def active_sessions(self) -> int:
        """Return the number of sessions with an active annotator, at least 1; expired sessions are forgotten."""
        self._forget_expired()
        return max(1, sum(self._clock() - at < ACTIVE_SECONDS for at in self._last_answer.values()))

    def people(self) -> list[str]:
        """Return the names of the people whose tabs are open, sorted; "" for each tab without a name."""
        self._forget_expired()
        names = [self._person.get(session, "") for session in self._last_request]
        return sorted({name for name in names if name}) + [name for name in names if not name]

    def _forget_expired(self) -> None:
        for session in [s for s in self._last_request if not self._is_alive(s)]:
            self.end_session(session)

    def _is_alive(self, session: str) -> bool:
        return self._clock() - self._last_request.get(session, -LEASE_SECONDS) < LEASE_SECONDS
