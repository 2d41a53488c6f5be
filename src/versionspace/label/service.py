"""The campaign behind the page: serves images, stores answers, takes in rounds. One lock, one writer of the ledger."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from versionspace.campaign.campaign import Campaign
from versionspace.campaign.round import proposal_event
from versionspace.errors import InputError
from versionspace.label import queue
from versionspace.label.auth import identity
from versionspace.label.cold_start import Spread
from versionspace.label.guesses import fitting, keep, restored
from versionspace.label.history import UNDONE, History
from versionspace.label.messages import REASONS, Answer, Guess, Guesses, Outcome, Refused, Served, Task, When
from versionspace.label.queue import TRAINED, Asked, Leases, Next, Pace, Progress, last_resort, upcoming
from versionspace.store import Event, Ledger, State, as_ids
from versionspace.types import ImageId

TRUSTED = 0.8
"""Accuracy on the audit from which on a model's sure guess is worth more than a quick click."""


class Desk:
    """All of it may be called from many threads."""

    def __init__(self, campaign: Campaign, clock: Callable[[], float] = time.monotonic) -> None:
        self.campaign, self.lock, self.changed = campaign, threading.RLock(), threading.Event()
        self.history, self.leases, self.asked = History(), Leases(clock), Asked(campaign.state)
        with Ledger.view(campaign.folder.ledger) as ledger:
            self.history.take(ledger.events())
        self.history.leave_out(self.state.missing)
        self.pool = as_ids(campaign.images.all_roles.pool)
        self.spread = Spread(campaign.images, campaign.config.seed)
        for image in self.state.places:
            self.spread.seen(image)
        self.guesses = restored(campaign.folder, self.pool)
        self.key = identity(campaign.folder.path).campaign
        self.round_seconds: float | None = None
        self._spent = self.state.spent()
        self._names = Counter(self.state.training_labels().values())
        self._first_asks()
        self._reopen_if_corrected()

    @property
    def state(self) -> State:
        """Where the campaign stands."""
        return self.campaign.state

    @property
    def total(self) -> int:
        """The budget."""
        return self.campaign.budget

    def spent(self) -> int:
        """Labels given."""
        return self._spent

    def classes(self) -> dict[str, int]:
        """Labels of each class that are trained on."""
        return {name: self._names.get(name, 0) for name in self.state.classes}

    def pace(self) -> Pace:
        """Measured; several people at once are faster."""
        return Pace(queue.seconds_a_label(self.history.seconds(), self.leases.working()), self.round_seconds)

    def behind(self) -> int:
        """Labels that the newest model has not seen."""
        newest = max(self.state.metrics, default=0)
        known = self.state.metrics[newest].labels if newest else 0
        return abs(sum(self.classes().values()) - int(known))

    def generation(self) -> int:
        """The round whose model asks."""
        return max(self.state.metrics, default=0)

    def next(self, session: str, who: str, have: Sequence[ImageId], want: int, when: When = "hidden") -> Served:
        """Images for a tab that has some already; what it no longer has is free for others."""
        with self.lock:
            self.leases.keep_only(session, have)
            self.leases.take(session, have)
            tasks: list[Task] = []
            taken = set(have) | self.leases.held(but=session)
            room = self._room(taken)
            for found in self._stream(who, want, taken):
                if len(tasks) == want or room <= 0:
                    break
                again = found.source == "again"
                if found.image in taken:
                    continue
                taken.add(found.image)
                room -= not again
                guess = self.guesses.about(found.image) if self.guesses and when != "hidden" else None
                tasks.append(Task(found.image, guess, again))
            self.leases.take(session, [task.image for task in tasks])
            return Served(tasks, self.generation(), self._finished() if not tasks and not have else "")

    def leave(self, session: str) -> None:
        """A tab is closed: what it had is free for others."""
        with self.lock:
            self.leases.leave(session)

    def grid(self, session: str, who: str, side: int, name: str | None, have: Sequence[ImageId] = ()) -> Served:
        """side² images that most members give to one class: the least agreed on, so that looking is worth it.

        They are only shown. Each is asked when its answer comes, so that a grid that nobody confirms costs nothing.
        ``have``: what the tab has besides; its grid before this one is free again.
        """
        with self.lock:
            guesses = self.guesses
            if guesses is None:
                raise InputError("grid", expected="a trained model", got="none yet", fix="Label on: it comes soon.")
            taken = set(have) | self.leases.held(but=session)
            askable, out = np.zeros(len(self.pool), np.bool_), taken | self.state.missing | self.state.places.keys()
            askable[[guesses.rows[i] for i in self.spread.ids if i not in out]] = True
            found = {c: guesses.likely(c, askable) for c in ([name] if name else self.state.classes)}
            best = max(found, key=lambda c: len(found[c]))
            count = min(side * side, len(found[best]), self._room(taken))
            if count < 1:
                raise InputError(
                    "grid", expected="images that most members give to one class", got="none that may still be asked",
                    fix="Choose another class, or go on one by one.",
                )  # fmt: skip
            ids = [self.pool[row] for row in found[best][:count]]
            self.leases.keep_only(session, have)
            self.leases.take(session, [*have, *ids])
            return Served([Task(i, guesses.about(i)) for i in ids], self.generation(), name=best)

    def answer(self, session: str, who: str, answers: Sequence[Answer]) -> Outcome:
        """Stores answers in this order; those in ``taken`` are durable."""
        out = Outcome()
        with self.lock:
            self.leases.renew(session)
            self._ask_what_was_shown(answers)
            for answer in answers:
                if answer.uid not in self.history.uids:
                    try:
                        self._store(who, answer)
                    except InputError as error:
                        out.refused.append(Refused(answer.uid, str(error)))
                        continue
                out.taken.append(answer.uid)
                self.leases.answered(session, answer.image)
                if answer.kind == "undo" and answer.image not in self.history.standing:
                    self.leases.take(session, [answer.image])  # it is on that tab's screen again
        self.changed.set()
        return out

    def without(self, gone: Iterable[ImageId]) -> None:
        """The trainer has looked at the folder anew: images that are gone are left out, those that are back are not."""
        with self.lock:
            if (found := frozenset(gone)) == self.state.missing:
                return
            self.state.missing = found
            self._names = Counter(self.state.training_labels().values())
            self.history.leave_out(found)
            self.spread.leave_out(found)
            self.asked.begin_anew()

    def add_class(self, name: str) -> list[str]:
        """A class that nobody thought of; the classes after it."""
        with self.lock:
            self.campaign.add_class(name)
            return list(self.state.classes)

    def extend(self, total: int) -> int:
        """Another budget; labelling goes on where it had ended."""
        with self.lock:
            self.campaign.reopen(total)
        self.changed.set()
        return self.total

    def order(self) -> int | None:
        """How many images a new round should ask for; None: it is not time to train."""
        with self.lock:
            given = self.classes()
            if self.state.ended or not any(given.values()):
                if not self.state.ended and not self.state.metrics and self._dry():
                    self.campaign.commit([Event("ended", 0, {"why": "the pool is exhausted and no image has a label"})])
                return None
            pace = self.pace()
            if self._over() or (not self.state.metrics and not self.cold()):
                return pace.depth
            if not self.state.metrics or self._left() <= 0:
                return None
            fresh = [] if self.behind() >= queue.STALE else self.asked.fresh()
            due = queue.due(self.behind(), len(fresh), pace) or (self._silent() and bool(self.spread.left))
            return pace.depth if due else None

    def trained(
        self, events: Sequence[Event], guesses: Mapping[str, Any] | None, seconds: float, upto: int | None = None
    ) -> None:
        """Commits a round: the asks before it are closed, its own is cut to what is still free.

        ``upto``: the last event that it knew of; a round that does not know the last labels is not the last.
        """
        with self.lock:
            round_ = events[0].round
            if round_ in self.state.metrics or self.state.ended:
                return
            room = self.total - self.spent() - len(self.asked.audit())
            kept = fitting(events, self.state, room=room, over=self._over() and not self._newer(upto))
            self._commit(kept)
            self.campaign.runner.delete_intermediate_weights(self.state)
            self.round_seconds = seconds
            if guesses is not None:
                self.guesses = Guesses.of(round_, ids=self.pool, **guesses)
                keep(self.campaign.folder, self.guesses)
        self.changed.set()

    def cold(self) -> bool:
        """No model yet, and classes without a label while there may still be one."""
        given = self.classes()
        if self.state.metrics:
            return False
        cap = self.campaign.config.cold_start.cap or 10 * len(self.state.classes)
        missing = not given or not all(given.values())
        return missing and sum(given.values()) < cap and not self._dry()

    def _stream(self, who: str, want: int, taken: Set[ImageId]) -> Iterator[Next]:
        audit = sum(len(ask.ids) for ask in self.state.asks if ask.purpose == "audit")
        stale = bool(self.state.metrics) and self.behind() >= queue.STALE
        now = Progress(self.spent(), self.total, audit, stale, self.cold(), self._trusted())
        yield from upcoming(self.asked, self.history, now, who)
        size = max(want, len(self.state.classes)) if now.cold else want * self.leases.working()
        yield from (Next(i, "query") for i in self._diverse(min(size, self._left()), taken))
        yield from last_resort(self.asked)

    def _trusted(self) -> bool:
        newest = self.state.metrics.get(self.generation())
        return newest is not None and newest.audit is not None and (newest.audit.accuracy or 0.0) >= TRUSTED

    def _diverse(self, count: int, taken: Set[ImageId]) -> list[ImageId]:
        found = self.spread.farthest(count, but=taken) if count > 0 else {}
        if found:
            self._ask("cold start", np.array(list(found)), np.array(list(found.values())))
        return list(found)

    def _ask_what_was_shown(self, answers: Sequence[Answer]) -> None:
        """Images that came in a grid and have an answer now, be it one by one; the grid may be of an earlier start."""
        given = [a.image for a in answers if a.kind != "undo" and a.image not in self.state.places]
        late = list(dict.fromkeys(i for i in given if i in self.spread))
        if late:
            guesses = [self.guesses.about(i) if self.guesses else None for i in late]
            self._ask("query", np.array(late), np.array([1.0 - g.agreement if g else 0.0 for g in guesses]))

    def _ask(self, purpose: str, ids: Any, utilities: Any) -> None:
        round_ = self.state.round
        part = sum(ask.round == round_ for ask in self.state.asks)
        self._commit([proposal_event(round_, part, purpose, ids, utilities)])

    def _commit(self, events: Sequence[Event]) -> None:
        self.campaign.commit(events)
        for event in events:
            for image in event.body["ids"] if event.kind == "proposed" else ():
                self.spread.seen(image)
        self.asked.refresh()

    def _first_asks(self) -> None:
        audit = self.campaign.images.roles.audit
        if len(audit) and not any(ask.purpose == "audit" for ask in self.state.asks):
            self._ask("audit", audit, np.zeros(len(audit)))
        self.asked.refresh()

    def _store(self, who: str, answer: Answer) -> None:
        name, shown = self._undo(answer) if answer.kind == "undo" else self._given(answer)
        before = self.state.labels.get(answer.image)
        self.campaign.accept({answer.image: name}, who=who, shown=shown, uids={answer.image: answer.uid})
        ask, rank = self.state.places[answer.image]
        for changed, by in ((before.name if before else None, -1), (name, 1)):
            self._spent += by * (changed is not None)
            if changed is not None and ask.purpose in TRAINED and answer.image not in self.state.missing:
                self._names[changed] += by
        body = {"id": answer.image, "class": name, "part": ask.part, "rank": rank, **shown}
        self.history.take([Event("answered", ask.round, body, who=who, uid=answer.uid, at=time.time())])
        self.asked.refresh()
        self._reopen_if_corrected()

    def _reopen_if_corrected(self) -> None:
        """After the end a last model learns what was corrected since, and is measured by it."""
        newest = self.state.measured_events.get(self.generation())
        if self.state.ended and self._newer(newest.number if newest else 0):
            self.campaign.reopen()

    def _newer(self, number: int | None) -> bool:
        """Whether an answer came after an event."""
        return number is not None and any(label.event > number for label in self.state.labels.values())

    def _given(self, answer: Answer) -> tuple[str | None, dict[str, Any]]:
        shown: dict[str, Any] = {"seconds": round(answer.seconds, 2)}
        guess = self._seen(answer)
        if guess is not None:
            shown["guess"] = {"class": guess.name, "agreement": guess.agreement, "shown": answer.when}
        if answer.grid:
            shown["grid"] = True
        if answer.again or answer.image in self.history.doubtful:
            shown["again"] = True
        if answer.kind in REASONS:
            return None, shown | {"reason": REASONS[answer.kind]}
        return answer.name or "", shown

    def _seen(self, answer: Answer) -> Guess | None:
        """The guess that an answer is stored with: what the person saw, else what the newest model says."""
        if answer.guess is None or answer.when == "hidden":
            return self.guesses.about(answer.image) if self.guesses else None
        if answer.guess.name not in self.state.classes:
            raise InputError(
                "guess", expected="one of the classes", got=repr(answer.guess.name), fix="Reload the page."
            )
        return answer.guess

    def _undo(self, answer: Answer) -> tuple[str | None, dict[str, Any]]:
        found = self.history.uids.get(answer.of)
        if found is None or found.image != answer.image:
            raise InputError("undo", expected="an answer to take back", got=answer.of or "none", fix="Label on.")
        standing = self.history.standing.get(answer.image)
        after = self.history.before(answer.of) if standing is found else standing
        reason = {"reason": UNDONE} if after is None else {"reason": after.reason} if after.name is None else {}
        return (after.name if after else None), {"undoes": answer.of, **reason}

    def _silent(self) -> bool:
        """Whether the newest model has asked for nothing: it was the last one, until the budget grew."""
        return not any(ask.purpose == "query" and ask.round == self.generation() for ask in self.state.asks)

    def _room(self, taken: Set[ImageId]) -> int:
        """What the budget has beyond the labels given and the images that are on screens."""
        return self.total - self.spent() - sum(i not in self.history.standing for i in taken)

    def _left(self) -> int:
        return self.total - self.spent() - self.asked.waiting() - len(self.history.returned)

    def _dry(self) -> bool:
        """Nothing was left out and nothing is awaited."""
        return not self.spread.left and not self.asked.open and not self.history.returned

    def _over(self) -> bool:
        return self.spent() >= self.total or self._dry()

    def _finished(self) -> str:
        if self.state.ended:
            return str(self.state.ended)
        return "budget" if self.spent() >= self.total else "the pool is exhausted" if self._dry() else ""
