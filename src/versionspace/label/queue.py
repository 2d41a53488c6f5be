"""Images that were asked and have no answer, and the order in which one person sees them.

The newest model's query comes first, with the audit mixed in; images of earlier rounds follow. Where a model is too old
to ask, the audit comes first instead.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from versionspace.label.history import History
from versionspace.store import TRAINING_PURPOSES, Answered, Event, Proposed
from versionspace.types import ImageId


@dataclass
class OpenAsk:
    """An ask with images that have no answer."""

    number: int
    """Of the event."""
    round: int
    purpose: str
    unanswered: dict[ImageId, None] = field(default_factory=dict)
    """Best first."""
    closed: bool = False
    """A later round has replaced it: answers are accepted, but no longer awaited."""


@dataclass
class OpenAsks:
    """Images that were asked and have no answer: a view of the ledger.

    An answer costs O(1), however many came before it. Missing images are left out of every result.

    >>> asks = OpenAsks()
    >>> asks.apply(Event("proposed", 1, {"part": 0, "purpose": "query", "ids": ["a", "b"], "utilities": [1, 0]}))
    >>> asks.apply(Event("answered", 1, {"id": "a", "class": "cat", "part": 0, "rank": 0}))
    >>> asks.of_newest_round(), asks.awaited()
    (['b'], 1)
    """

    newest_round: int = 0
    """The round of the last ask."""
    audit_images: dict[ImageId, None] = field(default_factory=dict)
    """Images of the audit, answered or not, missing or not."""
    _missing: frozenset[ImageId] = frozenset()
    _by_round: dict[int, dict[int, OpenAsk]] = field(default_factory=dict)
    """By round and number of the event; asks that are answered completely are removed."""
    _ask_of: dict[ImageId, OpenAsk] = field(default_factory=dict)
    _answered: set[ImageId] = field(default_factory=set)
    _awaited: int = 0
    """Unanswered images of asks that are not closed, missing or not."""
    _asks_in: Counter[int] = field(default_factory=Counter)
    _queried: set[int] = field(default_factory=set)

    def apply(self, event: Event) -> None:
        """Update the view with a committed event."""
        match event.kind:
            case "proposed":
                self._add_ask(event.number, event.round, Proposed.from_body(event.body))
            case "answered":
                image = Answered.from_body(event.body).id
                self._answered.add(image)
                self._remove(image)
            case "closed":
                self._close(event.round)

    def set_missing(self, images: Iterable[ImageId]) -> None:
        """Leave out these images and no others."""
        self._missing = frozenset(images)

    def of_newest_round(self, purposes: tuple[str, ...] = TRAINING_PURPOSES) -> list[ImageId]:
        """Return the unanswered images of the newest round, best first."""
        asks = self._by_round.get(self.newest_round, {}).values()
        return [image for ask in asks if ask.purpose in purposes for image in self._present(ask)]

    def of_older_rounds(self) -> list[ImageId]:
        """Return the unanswered images of earlier rounds, the most recent ask first."""
        rounds = [asks for round_, asks in reversed(self._by_round.items()) if round_ != self.newest_round]
        asks = [ask for by_number in rounds for ask in reversed(by_number.values())]
        return [image for ask in asks if ask.purpose in TRAINING_PURPOSES for image in self._present(ask)]

    def of_audit(self) -> list[ImageId]:
        """Return the unanswered images of the audit."""
        asks = {image: self._ask_of[image] for image in self.audit_images if image in self._ask_of}
        return [image for image, ask in asks.items() if ask.purpose == "audit" and image not in self._missing]

    def any_left(self) -> bool:
        """Return whether any image has no answer."""
        return any(image not in self._missing for image in self._ask_of)

    def awaited(self) -> int:
        """Return the number of images whose answers are awaited, which the budget has to cover."""
        asks = (self._ask_of.get(image) for image in self._missing)
        return self._awaited - sum(ask is not None and not ask.closed for ask in asks)

    def count_in(self, round_: int) -> int:
        """Return the number of asks in a round, answered or not."""
        return self._asks_in[round_]

    def has_query(self, round_: int) -> bool:
        """Return whether the model of this round has asked for anything."""
        return round_ in self._queried

    def _add_ask(self, number: int, round_: int, proposed: Proposed) -> None:
        ask = OpenAsk(number, round_, proposed.purpose)
        for image in dict.fromkeys(proposed.ids):
            if image not in self._answered:
                self._remove(image)  # asked anew after its first ask was closed: it belongs to this one
                ask.unanswered[image] = None
                self._ask_of[image] = ask
        if ask.unanswered:
            self._by_round.setdefault(round_, {})[number] = ask
        self._awaited += len(ask.unanswered)
        self.newest_round = round_
        self._asks_in[round_] += 1
        if proposed.purpose == "audit":
            self.audit_images |= dict.fromkeys(proposed.ids)
        elif proposed.purpose == "query":
            self._queried.add(round_)

    def _remove(self, image: ImageId) -> None:
        ask = self._ask_of.pop(image, None)
        if ask is None:
            return
        del ask.unanswered[image]
        self._awaited -= not ask.closed
        if not ask.unanswered:
            del self._by_round[ask.round][ask.number]
            if not self._by_round[ask.round]:
                del self._by_round[ask.round]

    def _close(self, round_: int) -> None:
        for ask in self._by_round.get(round_, {}).values():
            if ask.purpose != "audit" and not ask.closed:
                ask.closed = True
                self._awaited -= len(ask.unanswered)

    def _present(self, ask: OpenAsk) -> list[ImageId]:
        return [image for image in ask.unanswered if image not in self._missing]


Source = Literal["returned", "query", "audit", "older", "second look"]


@dataclass(frozen=True)
class QueuedImage:
    """An image and the reason it is shown."""

    image: ImageId
    source: Source


@dataclass(frozen=True)
class Conditions:
    """What decides between the sources of images."""

    spent: int
    budget: int
    stale: bool
    """The newest model is too many labels behind to ask."""
    cold_start: bool
    """There is no model yet, and not enough labels to train one."""
    trusted: bool
    """By the audit the model is mostly right, so that a label against its confident guess may be a slip."""
    checking: bool = False
    """Random images were asked for, to check the model: the audit comes before everything else."""


def question_order(asks: OpenAsks, history: History, now: Conditions, who: str) -> Iterator[QueuedImage]:
    """Yield asked images without an answer in the order in which one person should see them.

    Images whose answer this person took back come first. The audit is mixed in at the rate at which the budget is
    spent, and comes before everything else where the model is too old to ask. A label worth a second look comes last.
    """
    returned = history.returned
    yield from (QueuedImage(i, "returned") for i in reversed([i for i, by in returned.items() if by == who]))
    audit = asks.of_audit()
    size = len(asks.audit_images)
    audited, spent = size - len(audit), now.spent
    if now.checking:
        yield from (QueuedImage(i, "audit") for i in audit)
        audit = []
    if not now.stale:
        for image in asks.of_newest_round():
            while audit and not now.cold_start and audited * now.budget < size * spent:
                yield QueuedImage(audit.pop(0), "audit")
                audited, spent = audited + 1, spent + 1
            yield QueuedImage(image, "query")
            spent += 1
    if not now.cold_start:
        yield from (QueuedImage(i, "audit") for i in audit)
    if now.stale:
        yield from (QueuedImage(i, "query") for i in asks.of_newest_round(("initial", "cold start")))
    yield from (QueuedImage(i, "older") for i, by in returned.items() if by != who)
    yield from (QueuedImage(i, "older") for i in asks.of_older_rounds())
    if now.trusted:
        yield from (QueuedImage(i, "second look") for i in history.doubtful[:1])


def fallback_order(asks: OpenAsks) -> Iterator[QueuedImage]:
    """Yield what is left once diverse images have run out: the query of a stale model, and the audit."""
    yield from (QueuedImage(i, "query") for i in asks.of_newest_round())
    yield from (QueuedImage(i, "audit") for i in asks.of_audit())
