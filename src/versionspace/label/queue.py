"""Which image comes next: what the newest model asks for, with the audit mixed in, and fillers where there is none.

Who has which image on the screen: kept in memory, renewed by every request, gone when a tab is.

How many images to ask for and when to train, from the measured seconds a label and seconds a round.

While a round is trained the person labels what the round before asked for. With n = seconds a round ÷ seconds a label
she gives n labels meanwhile, so an ask must hold at least n images or she would wait. But the more an ask holds, the
older the model behind its last images, and large asks hide what a query method gains (Liu et al. 2020): past `STALE`
labels a model no longer asks, and the page fills in with images that are useful whatever the model says.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from versionspace.label.history import History
from versionspace.store import Ask, State
from versionspace.types import ImageId

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


STEP = 10
"""A round is worth training for so many new labels."""
STALE = 40
"""A model that so many labels are behind no longer asks."""
PAUSE = 60.0
"""Seconds: whoever took longer over an image was away."""
USUAL = 4.0
"""Seconds a label before any is measured."""


@dataclass(frozen=True)
class Pace:
    """What was measured."""

    label: float
    """Seconds from one answer to the next, all annotators together."""
    round: float | None
    """Seconds to train and score; None before the first."""

    @property
    def meanwhile(self) -> int:
        """Labels that are given while a round is trained.

        >>> Pace(2.0, 15.0).meanwhile
        8
        """
        return 0 if self.round is None else math.ceil(self.round / max(0.05, self.label))

    @property
    def depth(self) -> int:
        """Images that the next round asks for: enough for the time it takes to train the one after it.

        >>> Pace(3.0, 6.0).depth, Pace(2.0, 50.0).depth, Pace(1.0, 600.0).depth
        (12, 30, 40)
        """
        wanted = max(STEP, self.meanwhile)
        return min(STALE, wanted + max(2, wanted // 5))


def seconds_a_label(taken: Sequence[float], annotators: int = 1) -> float:
    """The median of the last measured seconds; pauses are left out.

    >>> seconds_a_label([1.0, 1.2, 300.0, 1.1])
    1.1
    """
    kept = [s for s in taken if 0 < s <= PAUSE][-30:]
    return (statistics.median(kept) if kept else USUAL) / max(1, annotators)


def due(new: int, waiting: int, pace: Pace) -> bool:
    """Whether to train: enough new labels, or the images run out before a round could be ready.

    >>> due(10, 30, Pace(2.0, 4.0)), due(3, 2, Pace(2.0, 4.0)), due(3, 9, Pace(2.0, 4.0)), due(0, 0, Pace(2.0, 4.0))
    (True, True, False, False)
    """
    return new >= STEP or (new >= 1 and waiting <= pace.meanwhile)


TRAINED = ("initial", "cold start", "query")


@dataclass
class Asked:
    """What was asked and has no answer, kept up with the state."""

    state: State
    seen: int = 0
    open: list[Ask] = field(default_factory=list)

    def refresh(self) -> None:
        """Takes in new asks, and drops those that have all their answers."""
        self.open += self.state.asks[self.seen :]
        self.seen = len(self.state.asks)
        self.open = [ask for ask in self.open if self._left(ask)]

    def begin_anew(self) -> None:
        """When images have gone or come back."""
        self.open, self.seen = [], 0
        self.refresh()

    def fresh(self, purposes: tuple[str, ...] = TRAINED) -> list[ImageId]:
        """Of the newest round, best first."""
        newest = self.state.round
        return [i for ask in self.open if ask.round == newest and ask.purpose in purposes for i in self._left(ask)]

    def older(self) -> list[ImageId]:
        """Of earlier rounds, whose model was followed by another; the newest of them first."""
        newest = self.state.round
        asks = [ask for ask in reversed(self.open) if ask.round != newest and ask.purpose in TRAINED]
        return [i for ask in asks for i in self._left(ask)]

    def audit(self) -> list[ImageId]:
        """Of the audit."""
        return [i for ask in self.open if ask.purpose == "audit" for i in self._left(ask)]

    def waiting(self) -> int:
        """Images that are spoken for: their answers are awaited."""
        return sum(len(self._left(ask)) for ask in self.open if not ask.closed)

    def _left(self, ask: Ask) -> list[ImageId]:
        """An image of a closed ask may have been asked anew: then it belongs to that ask."""
        state = self.state
        return [i for i in ask.ids if i not in state.labels and i not in state.missing and state.places[i][0] is ask]


@dataclass(frozen=True)
class Next:
    """An image and where it comes from."""

    image: ImageId
    source: str
    """"returned", "query", "audit", "older" or "again"."""


@dataclass(frozen=True)
class Progress:
    """What decides between the sources."""

    spent: int
    total: int
    audit: int
    """Images of the audit, answered or not."""
    stale: bool
    """The newest model is too many labels behind to ask."""
    cold: bool
    """No model yet, and not enough labels to train one."""
    trusted: bool
    """The audit says that the model is mostly right: a label against its sure guess may be a slip."""


def upcoming(asked: Asked, history: History, progress: Progress, who: str) -> Iterator[Next]:
    """Images without an answer, in the order in which one person should see them.

    What she took back comes first. The audit is mixed in so that it is done when the budget is, and jumps the queue
    where the model is too old to ask.
    """
    mine = [i for i, by in history.returned.items() if by == who]
    others = [i for i, by in history.returned.items() if by != who]
    yield from (Next(i, "returned") for i in reversed(mine))
    audit, fresh = asked.audit(), asked.fresh()
    done = progress.audit - len(audit)
    spent = progress.spent
    if not progress.stale:
        for image in fresh:
            while audit and not progress.cold and done * progress.total < progress.audit * spent:
                yield Next(audit.pop(0), "audit")
                done, spent = done + 1, spent + 1
            yield Next(image, "query")
            spent += 1
    yield from (Next(i, "audit") for i in audit if not progress.cold)
    if progress.stale:
        yield from (Next(i, "query") for i in asked.fresh(("initial", "cold start")))
    yield from (Next(i, "older") for i in (*others, *asked.older()))
    doubtful = [i for i in history.doubtful if i in history.standing and progress.trusted]
    yield from (Next(i, "again") for i in doubtful[:1])


def last_resort(asked: Asked) -> Iterator[Next]:
    """When even unlike images have run out: what an old model asked for, and the audit."""
    yield from (Next(i, "query") for i in asked.fresh())
    yield from (Next(i, "audit") for i in asked.audit())
