"""Which image comes next: what the newest model asks for, with the audit mixed in, and fillers where there is none."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from versionspace.label.history import History
from versionspace.store.replay import Ask, ImageId, State

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
        return [i for i in ask.ids if i not in state.labels and i not in state.gone and state.places[i][0] is ask]


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
