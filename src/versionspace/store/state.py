"""The state of a campaign, replayed from the events of its ledger: for resuming, for status and for verification."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from versionspace.store.class_list import ClassEdit, ClassList
from versionspace.store.errors import MALFORMED, unexpected_content
from versionspace.store.events import Answered, Event, Proposed
from versionspace.store.metrics import FinalModel, RoundMetrics
from versionspace.types import ImageId

_LEDGER = Path("ledger.sqlite")

SKIPPED = "skipped"
"""The reason for which an image has no class, if no other is stored."""
UNDONE = "undone"
"""The reason stored with an undo that leaves an image without an answer."""
TRAINING_PURPOSES = ("initial", "cold start", "query")
"""The purposes of asks whose labels the members are trained on: all but "audit"."""
ALL_PURPOSES = (*TRAINING_PURPOSES, "audit")
"""The purposes of asks whose labels the final model is trained on."""


@dataclass
class Ask:
    """A proposal, and whether its answers are still awaited."""

    round: int
    part: int
    """Number within the round: before the first ensemble a round may have several asks."""
    purpose: str
    ids: tuple[ImageId, ...]
    """Best first."""
    utilities: tuple[float, ...]
    closed: bool = False
    """Whether the round was closed; missing answers are no longer awaited."""


@dataclass(frozen=True)
class Label:
    """The current answer for an image."""

    name: str | None
    """The class; None if the image was skipped."""
    round: int
    rank: int
    who: str
    event: int
    """Number of the event."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """See `versionspace.store.events.Answered`."""

    @property
    def reason(self) -> str:
        """Why there is no class: "skipped", "unsure", "bad image" or "undone"; empty if there is one."""
        return "" if self.name is not None else str(self.details.get("reason", SKIPPED))


@dataclass
class State:
    """The state of a campaign after some of its events."""

    begun: Mapping[str, Any] | None = None
    """The body of the "begun" event; None before it."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """The environment in which the campaign began."""
    latest_environment: Mapping[str, Any] = field(default_factory=dict)
    """The environment in which it was last resumed."""
    split: Mapping[str, Any] | None = None
    """The body of the "split" event; None before it."""
    class_list: ClassList = field(default_factory=ClassList)
    asks: list[Ask] = field(default_factory=list)
    places: dict[ImageId, tuple[Ask, int]] = field(default_factory=dict)
    """The last ask for each image that was ever asked for, and its rank there."""
    labels: dict[ImageId, Label] = field(default_factory=dict)
    metrics: dict[int, RoundMetrics] = field(default_factory=dict)
    """By round; labels per class under the present names."""
    model_classes: dict[int, tuple[str | None, ...]] = field(default_factory=dict)
    """By round: the present name of the class of each output of its members; None if it was deleted. There may be
    more: classes that were added while they were trained."""
    measured_events: dict[int, Event] = field(default_factory=dict)
    """The events that `metrics` comes from, by round: their numbers and environments."""
    ended: str = ""
    """Why the campaign ended; empty while it continues."""
    final: FinalModel | None = None
    """The final model, trained after the end; None before it, and once the campaign continues."""
    final_classes: tuple[str | None, ...] = ()
    """As `model_classes`, of the final model."""
    new_budget: int | None = None
    """The budget, if it was changed since the campaign began."""
    new_target: float | None = None
    """The accuracy that is good enough, if it was changed since the campaign began."""
    audit_goal: int = 0
    """Number of audit images that a person asked to label before anything else."""
    ignores_rules: bool = False
    """Whether the campaign was reopened with a budget after a stop rule had ended it; then only the budget ends it."""
    last_event: int = 0
    """Number of the last event."""
    missing: frozenset[ImageId] = frozenset()
    """Images whose files are missing at present, which no event records: they are neither asked nor trained on."""
    problems: list[str] = field(default_factory=list)
    """Events that contradict earlier events."""

    @property
    def classes(self) -> list[str]:
        """The names of the classes, in the order in which they were created."""
        return self.class_list.names

    @property
    def round(self) -> int:
        """The round of the last ask."""
        return self.asks[-1].round if self.asks else 0

    def unanswered(self, ask: Ask) -> tuple[ImageId, ...]:
        """Return the images of an ask that have no answer and are not missing."""
        return tuple(i for i in ask.ids if i not in self.labels and i not in self.missing)

    def is_open(self, ask: Ask) -> bool:
        """Return whether answers are awaited."""
        return not ask.closed and bool(self.unanswered(ask))

    def is_unfinished(self, ask: Ask) -> bool:
        """Return whether an ask is not closed and lacks answers, even if only for images that are missing."""
        return not ask.closed and any(i not in self.labels for i in ask.ids)

    def training_labels(self, purposes: tuple[str, ...] = TRAINING_PURPOSES) -> dict[ImageId, str]:
        """Return the labels to train on, in the order of asking: by default without the audit; no missing images."""
        labels: dict[ImageId, str] = {}
        for ask in self.asks:
            if ask.purpose in purposes:
                for i in ask.ids:
                    label = self.labels.get(i)
                    if label is not None and label.name is not None and i not in self.missing:
                        labels[i] = label.name
        return labels

    def budget(self, configured: int) -> int:
        """Return the number of labels that may be given: as configured, unless it was changed since."""
        return configured if self.new_budget is None else self.new_budget

    def target(self, configured: float) -> float:
        """Return the accuracy that is good enough: as configured, unless it was changed since."""
        return configured if self.new_target is None else self.new_target

    def spent(self) -> int:
        """Return the number of labels given so far, including the audit; skipped images do not count."""
        return sum(label.name is not None for label in self.labels.values())


def replay(events: Iterable[Event], state: State | None = None, *, ledger: Path = _LEDGER) -> State:
    """Apply events to a state, or to an empty one, and return it. Raises StoreError for a damaged event.

    ``ledger``: the file that the events come from, for error messages.

    >>> state = replay([Event("begun", body={"classes": ["cat", "dog"]}),
    ...                 Event("proposed", body={"part": 0, "purpose": "initial", "ids": [7, 8], "utilities": [0, 0]}),
    ...                 Event("answered", body={"id": 7, "class": "dog", "part": 0, "rank": 0})])
    >>> state.training_labels(), state.unanswered(state.asks[0])
    ({7: 'dog'}, (8,))
    """
    state = State() if state is None else state
    for event in events:
        try:
            state.problems += state.class_list.apply(event)
            _STEPS.get(event.kind, _unknown)(state, event)
        except MALFORMED as error:
            expected = f"event {event.number} ({event.kind}) as it was written"
            raise unexpected_content(ledger, expected, error) from error
        state.last_event = event.number
    return state


def _begun(state: State, event: Event) -> None:
    if state.begun is not None:
        state.problems.append(f"event {event.number}: begun twice")
    state.begun, state.environment, state.latest_environment = event.body, event.environment, event.environment


def _split(state: State, event: Event) -> None:
    state.split = event.body


def _edited(state: State, event: Event) -> None:
    """Apply the edit of a class to the labels and models that have it."""
    edit = ClassEdit.of(event)
    assert edit is not None
    for image, label in state.labels.items():
        if label.name is not None and label.name == edit.before:
            withdrawn = {"reason": UNDONE, "deleted": edit.before} if edit.after is None else {}
            state.labels[image] = replace(label, name=edit.after, details={**label.details, **withdrawn})
    for round_, metrics in state.metrics.items():
        state.metrics[round_] = metrics.after_edit(edit.before, edit.after)
        state.model_classes[round_] = tuple(map(edit.apply, state.model_classes[round_]))
    state.final_classes = tuple(map(edit.apply, state.final_classes))


def _listed(state: State, event: Event) -> None:
    """Do nothing: `replay` has updated the list of classes."""


def _proposed(state: State, event: Event) -> None:
    proposed = Proposed.from_body(event.body)
    ids = proposed.ids
    ask = Ask(event.round, proposed.part, proposed.purpose, ids, proposed.utilities)
    twice = [i for i in ids if i in state.places and (i in state.labels or not state.places[i][0].closed)]
    if twice or len(set(ids)) < len(ids):
        state.problems.append(f"event {event.number}: asks again for {(twice or list(ids))[0]!r}")
    if event.round < state.round:
        state.problems.append(f"event {event.number}: proposes for round {event.round} after round {state.round}")
    state.asks.append(ask)
    state.places |= {i: (ask, rank) for rank, i in enumerate(ids)}


def _answered(state: State, event: Event) -> None:
    answer = Answered.from_body(event.body)
    if answer.name is not None and answer.name not in state.classes:
        state.problems.append(f"event {event.number}: {answer.name!r} is not a class")
    if answer.id not in state.places:
        state.problems.append(f"event {event.number}: answers {answer.id!r}, which was never asked for")
    state.labels[answer.id] = Label(
        answer.name, event.round, answer.rank, event.who, event=event.number, details=answer.details
    )


def _closed(state: State, event: Event) -> None:
    for ask in state.asks:
        if ask.round == event.round and ask.purpose != "audit":
            ask.closed = True


def _measured(state: State, event: Event) -> None:
    if event.round in state.metrics:
        state.problems.append(f"event {event.number}: round {event.round} measured twice")
    state.metrics[event.round] = RoundMetrics.from_body(event.body)
    state.model_classes[event.round] = tuple(state.classes)
    state.measured_events[event.round] = event


def _ended(state: State, event: Event) -> None:
    state.ended = str(event.body["why"])


def _final(state: State, event: Event) -> None:
    state.final, state.final_classes = FinalModel.from_body(event.body), tuple(state.classes)


def _reopened(state: State, event: Event) -> None:
    state.ended, state.final, state.new_budget = "", None, event.body["total"]
    state.ignores_rules = state.ignores_rules or event.body.get("rules") == "past"


def _target(state: State, event: Event) -> None:
    state.new_target = float(event.body["accuracy"])


def _check(state: State, event: Event) -> None:
    state.audit_goal = int(event.body["images"])


def _resumed(state: State, event: Event) -> None:
    state.latest_environment = event.environment


def _unknown(state: State, event: Event) -> None:
    state.problems.append(f"event {event.number} is of the unknown kind {event.kind!r}")


_STEPS: dict[str, Callable[[State, Event], None]] = {
    "begun": _begun, "split": _split, "class": _listed, "proposed": _proposed, "answered": _answered,
    "closed": _closed, "measured": _measured, "ended": _ended, "final": _final, "reopened": _reopened,
    "target": _target, "check": _check,
    "resumed": _resumed, "renamed": _edited, "merged": _edited, "deleted": _edited, "ordered": _listed,
    "described": _listed,
}  # fmt: skip
