"""Who has which image on the screen: kept in memory, renewed by every request, gone when a tab is."""

from collections.abc import Callable, Iterable

from versionspace.store.replay import ImageId

SECONDS = 150.0
"""A tab in the background speaks once a minute; one that was silent for longer is closed, or its lid is."""
BUSY = 60.0


class Leases:
    """Images by the session (one tab) that has them.

    >>> now = [0.0]
    >>> leases = Leases(lambda: now[0])
    >>> leases.take("tab", ["a"]); leases.held(but="other")
    {'a'}
    >>> now[0] = 200; leases.held(but="other")
    set()
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held: dict[ImageId, str] = {}
        self._heard: dict[str, float] = {}
        self._worked: dict[str, float] = {}

    def take(self, session: str, images: Iterable[ImageId]) -> None:
        """Gives images to a session."""
        self.renew(session)
        for image in images:
            self._held[image] = session

    def renew(self, session: str) -> None:
        """The session is alive."""
        self._heard[session] = self._clock()

    def keep_only(self, session: str, images: Iterable[ImageId]) -> None:
        """The session gives back all others."""
        kept = set(images)
        for image in [i for i, holder in self._held.items() if holder == session and i not in kept]:
            del self._held[image]

    def answered(self, session: str, image: ImageId) -> None:
        """It is on nobody's screen any more."""
        self._held.pop(image, None)
        self._heard[session] = self._worked[session] = self._clock()

    def leave(self, session: str) -> None:
        """The tab is closed."""
        self.keep_only(session, ())
        self._heard.pop(session, None)
        self._worked.pop(session, None)

    def held(self, but: str = "") -> set[ImageId]:
        """Images on the screens of living sessions other than this."""
        return {i for i, holder in self._held.items() if holder != but and self._alive(holder)}

    def working(self) -> int:
        """Sessions that answered within a minute; those that are gone are forgotten."""
        for session in [s for s in self._heard if not self._alive(s)]:
            self.leave(session)
        return max(1, sum(self._clock() - at < BUSY for at in self._worked.values()))

    def _alive(self, session: str) -> bool:
        return self._clock() - self._heard.get(session, -SECONDS) < SECONDS
