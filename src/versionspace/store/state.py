"""From the events of a ledger to where the campaign stands. The same function serves resuming, status and verify."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from versionspace.store.errors import MALFORMED, unlike
from versionspace.store.ledger import Event
from versionspace.store.metrics import RoundMetrics
from versionspace.types import ImageId

LEDGER = Path("ledger.sqlite")


@dataclass
class Ask:
    """A proposal and what became of it."""

    round: int
    part: int
    """Several asks may stand before the first ensemble; they are counted within the round."""
    purpose: str
    ids: tuple[ImageId, ...]
    """Best first."""
    utilities: tuple[float, ...]
    closed: bool = False
    """Answers may be missing, but nobody waits for them."""


@dataclass(frozen=True)
class Label:
    """The last word on an image."""

    name: str | None
    """The class; None: skipped."""
    round: int
    rank: int
    who: str
    number: int
    """Of the event."""
    shown: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class State:
    """Where a campaign stands."""

    begun: Mapping[str, Any] | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    """Of the process that began it."""
    newest: Mapping[str, Any] = field(default_factory=dict)
    """Of the process that had it last."""
    split: Mapping[str, Any] | None = None
    classes: list[str] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    places: dict[ImageId, tuple[Ask, int]] = field(default_factory=dict)
    """For every image that was ever asked: by which ask, and its rank there."""
    labels: dict[ImageId, Label] = field(default_factory=dict)
    metrics: dict[int, RoundMetrics] = field(default_factory=dict)
    """By round."""
    measured: dict[int, Event] = field(default_factory=dict)
    ended: str = ""
    total: int | None = None
    """The budget, where it was changed since the beginning."""
    past_rules: bool = False
    """Reopened with a budget after a rule had ended it: from then on only the budget ends it."""
    last: int = 0
    """Number of the last event seen."""
    gone: frozenset[ImageId] = frozenset()
    """Images that are not there at present, which no event tells: neither asked nor trained on."""
    problems: list[str] = field(default_factory=list)
    """What cannot be, given the events before it."""

    @property
    def round(self) -> int:
        """The round of the last ask."""
        return self.asks[-1].round if self.asks else 0

    def unanswered(self, ask: Ask) -> tuple[ImageId, ...]:
        """Images of an ask that are there and that nobody has answered."""
        return tuple(i for i in ask.ids if i not in self.labels and i not in self.gone)

    def is_open(self, ask: Ask) -> bool:
        """Whether answers are awaited."""
        return not ask.closed and bool(self.unanswered(ask))

    def is_unfinished(self, ask: Ask) -> bool:
        """Whether it was not closed though answers are missing, be it of images that are gone."""
        return not ask.closed and any(i not in self.labels for i in ask.ids)

    def given(self, purposes: tuple[str, ...] = ("initial", "cold start", "query")) -> dict[ImageId, str]:
        """Labels of images that were asked for these purposes and are there, in the order of asking."""
        out: dict[ImageId, str] = {}
        for ask in self.asks:
            if ask.purpose in purposes:
                for i in ask.ids:
                    label = self.labels.get(i)
                    if label is not None and label.name is not None and i not in self.gone:
                        out[i] = label.name
        return out

    def budget(self, first: int) -> int:
        """Labels that may be given; ``first``: when the campaign began."""
        return first if self.total is None else self.total

    def spent(self) -> int:
        """Labels given so far, the audit's included; skipped images cost nothing."""
        return sum(label.name is not None for label in self.labels.values())


def replay(events: Iterable[Event], state: State | None = None, *, ledger: Path = LEDGER) -> State:
    """Goes through the events, from the start or on from a state; ``ledger``: whose they are, to name it.

    >>> state = replay([Event("begun", body={"classes": ["cat", "dog"]}),
    ...                 Event("proposed", body={"part": 0, "purpose": "initial", "ids": [7, 8], "utilities": [0, 0]}),
    ...                 Event("answered", body={"id": 7, "class": "dog", "part": 0, "rank": 0})])
    >>> state.given(), state.unanswered(state.asks[0])
    ({7: 'dog'}, (8,))
    """
    found = State() if state is None else state
    for event in events:
        try:
            _STEPS.get(event.kind, _unknown)(found, event)
        except MALFORMED as error:
            raise unlike(ledger, f"event {event.number} ({event.kind}) as it was written", error) from error
        found.last = event.number
    return found


def _begun(state: State, event: Event) -> None:
    if state.begun is not None:
        state.problems.append(f"event {event.number}: begun twice")
    state.begun, state.environment, state.newest = event.body, event.environment, event.environment
    state.classes = list(event.body["classes"])


def _split(state: State, event: Event) -> None:
    state.split = event.body


def _class(state: State, event: Event) -> None:
    if event.body["name"] not in state.classes:
        state.classes.append(event.body["name"])


def _proposed(state: State, event: Event) -> None:
    body = event.body
    ids = tuple(body["ids"])
    ask = Ask(event.round, body["part"], body["purpose"], ids, tuple(body["utilities"]))
    twice = [i for i in ids if i in state.places and (i in state.labels or not state.places[i][0].closed)]
    if twice or len(set(ids)) < len(ids):
        state.problems.append(f"event {event.number}: asks again for {(twice or list(ids))[0]!r}")
    if event.round < state.round:
        state.problems.append(f"event {event.number}: proposes for round {event.round} after round {state.round}")
    state.asks.append(ask)
    state.places |= {i: (ask, rank) for rank, i in enumerate(ids)}


def _answered(state: State, event: Event) -> None:
    body = event.body
    if body["class"] is not None and body["class"] not in state.classes:
        state.problems.append(f"event {event.number}: {body['class']!r} is not a class")
    if body["id"] not in state.places:
        state.problems.append(f"event {event.number}: answers {body['id']!r}, which was never asked")
    shown = {k: v for k, v in body.items() if k not in ("id", "class", "part", "rank")}
    state.labels[body["id"]] = Label(body["class"], event.round, body["rank"], event.who, event.number, shown)


def _closed(state: State, event: Event) -> None:
    for ask in state.asks:
        if ask.round == event.round and ask.purpose != "audit":
            ask.closed = True


def _measured(state: State, event: Event) -> None:
    if event.round in state.metrics:
        state.problems.append(f"event {event.number}: round {event.round} measured twice")
    state.metrics[event.round] = RoundMetrics.from_body(event.body)
    state.measured[event.round] = event


def _ended(state: State, event: Event) -> None:
    state.ended = str(event.body["why"])


def _reopened(state: State, event: Event) -> None:
    state.ended, state.total = "", event.body["total"]
    state.past_rules = state.past_rules or event.body.get("rules") == "past"


def _resumed(state: State, event: Event) -> None:
    state.newest = event.environment


def _unknown(state: State, event: Event) -> None:
    state.problems.append(f"event {event.number} is of the unknown kind {event.kind!r}")


_STEPS: dict[str, Callable[[State, Event], None]] = {
    "begun": _begun, "split": _split, "class": _class, "proposed": _proposed, "answered": _answered,
    "closed": _closed, "measured": _measured, "ended": _ended, "reopened": _reopened, "resumed": _resumed,
}  # fmt: skip
