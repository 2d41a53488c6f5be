"""The campaign behind the labelling page: serves images, stores answers and commits rounds.

One lock guards everything, and this is the only writer of the ledger. What a request needs is read from views that
`Campaign.subscribe` keeps up to date, so that its cost does not grow with the number of labels.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Any

import numpy as np

from versionspace.campaign import EXHAUSTED, SPENT, UNLABELLED, Campaign, proposal_event
from versionspace.errors import InputError
from versionspace.label import pacing
from versionspace.label.auth import identity
from versionspace.label.cold_start import FarthestFirst
from versionspace.label.guesses import load_guesses, reconcile_round, save_guesses
from versionspace.label.history import UNDONE, History
from versionspace.label.leases import ImageLeases
from versionspace.label.messages import (
    REASONS,
    Answer,
    AnswerOutcome,
    Guess,
    Guesses,
    GuessTiming,
    Question,
    QuestionBatch,
    RefusedAnswer,
)
from versionspace.label.pacing import LabellingPace
from versionspace.label.queue import Conditions, OpenAsks, QueuedImage, fallback_order, question_order
from versionspace.label.trainer_messages import RoundResult
from versionspace.label.views import LabelCounts, Views
from versionspace.store import Event, State, as_ids
from versionspace.types import ImageId

TRUSTED_ACCURACY = 0.8
"""Accuracy on the audit from which on a confident guess of the model outweighs a quick click."""


class LabelService:
    """Questions, answers and rounds of one campaign. Every method may be called from any thread."""

    def __init__(self, campaign: Campaign, clock: Callable[[], float] = time.monotonic) -> None:
        self.campaign, self.lock = campaign, threading.RLock()
        self.changed = threading.Event()
        """Set whenever it may be time to train."""
        self.leases, self.history, self.asks, self.counts = ImageLeases(clock), History(), OpenAsks(), LabelCounts()
        self.farthest_first = FarthestFirst(campaign.images, campaign.config.seed)
        self._views = Views((self.history, self.asks, self.counts, self.farthest_first))
        self.pool = as_ids(campaign.images.all_roles.pool)
        self.guesses = load_guesses(campaign.folder, self.pool)
        self.campaign_key = identity(campaign.folder.path).campaign
        self.round_seconds: float | None = None
        campaign.subscribe(self._views.apply)
        self._views.set_missing(self.state.missing)
        self._ask_audit()
        self._reopen_if_corrected()

    @property
    def state(self) -> State:
        """The campaign's state."""
        return self.campaign.state

    @property
    def budget(self) -> int:
        """Number of labels that may be given."""
        return self.campaign.budget

    def spent(self) -> int:
        """Return the number of labels given."""
        return self.counts.spent

    def class_counts(self) -> dict[str, int]:
        """Return the number of labels of each class that the model is trained on."""
        return self.counts.per_class(self.state.classes)

    def pace(self) -> LabellingPace:
        """Return the measured speed of labelling and training."""
        seconds = pacing.seconds_per_label(self.history.recent_seconds(), self.leases.active_sessions())
        return LabellingPace(seconds, self.round_seconds)

    def newest_round(self) -> int:
        """Return the round of the newest model; 0 if there is none."""
        return next(reversed(self.state.metrics), 0)

    def labels_behind(self) -> int:
        """Return the number of labels that the newest model was not trained on."""
        newest = self.state.metrics.get(self.newest_round())
        return abs(self.counts.training() - (newest.labels if newest else 0))

    def next_questions(
        self, session: str, who: str, have: Sequence[ImageId], want: int, timing: GuessTiming = "hidden"
    ) -> QuestionBatch:
        """Return up to ``want`` images for a tab that still has ``have``; all others it held are released."""
        with self.lock:
            self.leases.release_except(session, have)
            self.leases.acquire(session, have)
            questions: list[Question] = []
            on_screens = set(have) | self.leases.held(exclude=session)
            room = self._room(on_screens)
            for queued in self._queue(who, want, on_screens):
                if len(questions) == want or room <= 0:
                    break
                if queued.image in on_screens:
                    continue
                second_look = queued.source == "second look"
                on_screens.add(queued.image)
                room -= not second_look
                guess = self._guess(queued.image) if timing != "hidden" else None
                questions.append(Question(queued.image, guess, second_look))
            self.leases.acquire(session, [question.image for question in questions])
            finished = self._finished() if not questions and not have else ""
            return QuestionBatch(questions, self.newest_round(), finished)

    def end_session(self, session: str) -> None:
        """Release the images of a tab that was closed."""
        with self.lock:
            self.leases.end_session(session)

    def grid(self, session: str, side: int, name: str | None, have: Sequence[ImageId] = ()) -> QuestionBatch:
        """Return up to side² images that most members assign to one class, those they agree on least first.

        The images are only leased; each is asked once its answer arrives, so a grid that is not confirmed costs
        nothing. ``have``: images that the tab keeps besides the grid; its previous grid is released. Raises
        InputError without a model, or if no image is left. ``name``: the class; None takes the one with most images.
        """
        with self.lock:
            guesses = self.guesses
            if guesses is None:
                raise InputError(
                    "grid", expected="a trained model", got="none yet",
                    fix="Keep labelling: the first model is trained soon.",
                )  # fmt: skip
            on_screens = set(have) | self.leases.held(exclude=session)
            unavailable = on_screens | self.state.missing | self.state.places.keys()
            available = np.zeros(len(self.pool), np.bool_)
            available[[guesses.rows[i] for i in self.farthest_first.ids if i not in unavailable]] = True
            rows = {c: guesses.rows_of_class(c, available) for c in ([name] if name else self.state.classes)}
            best = max(rows, key=lambda c: len(rows[c]))
            count = min(side * side, len(rows[best]), self._room(on_screens))
            if count < 1:
                raise InputError(
                    "grid", expected="images that most members assign to one class", got="none that may still be asked",
                    fix="Choose another class, or continue one by one.",
                )  # fmt: skip
            images = [self.pool[row] for row in rows[best][:count]]
            self.leases.release_except(session, have)
            self.leases.acquire(session, [*have, *images])
            return QuestionBatch([Question(i, guesses.about(i)) for i in images], self.newest_round(), name=best)

    def answer(self, session: str, who: str, answers: Sequence[Answer]) -> AnswerOutcome:
        """Store answers in order and return which are durable and which were refused."""
        outcome = AnswerOutcome()
        with self.lock:
            self.leases.renew(session)
            self._ask_answered_grid(answers)
            for answer in answers:
                if answer.uid not in self.history.by_uid:
                    try:
                        self._store(who, answer)
                    except InputError as error:
                        outcome.refused.append(RefusedAnswer(answer.uid, str(error)))
                        continue
                outcome.stored.append(answer.uid)
                self.leases.release_answered(session, answer.image)
                if answer.kind == "undo" and answer.image not in self.history.current:
                    self.leases.acquire(session, [answer.image])  # it is on that tab's screen again
        self.changed.set()
        return outcome

    def set_missing(self, images: Iterable[ImageId]) -> None:
        """Leave out the images that the trainer found missing, and take back in those that are present again."""
        with self.lock:
            missing = frozenset(images)
            if missing != self.state.missing:
                self.state.missing = missing
                self._views.set_missing(missing)

    def add_class(self, name: str) -> list[str]:
        """Add a class and return all classes."""
        with self.lock:
            self.campaign.add_class(name)
            return list(self.state.classes)

    def set_budget(self, total: int) -> int:
        """Change the budget and return it; a campaign that had ended is reopened."""
        with self.lock:
            self.campaign.reopen(total)
        self.changed.set()
        return self.budget

    def next_round_size(self) -> int | None:
        """Return how many images a new round should ask for; None if it is not time to train.

        Ends the campaign if every image was answered and none has a label.
        """
        with self.lock:
            if self.state.ended:
                return None
            if not self.counts.training():
                if not self.state.metrics and self._is_exhausted():
                    self.campaign.commit([Event("ended", 0, {"why": UNLABELLED})])
                return None
            pace = self.pace()
            if self._is_over() or (not self.state.metrics and not self.in_cold_start()):
                return pace.ask_size
            if not self.state.metrics or self._unplanned_budget() <= 0:
                return None
            unanswered = 0 if self._is_stale() else len(self.asks.of_newest_round())
            model_may_ask = not self.asks.has_query(self.newest_round()) and self.farthest_first.left > 0
            is_due = pacing.round_is_due(self.labels_behind(), unanswered, pace) or model_may_ask
            return pace.ask_size if is_due else None

    def commit_round(self, result: RoundResult, seconds: float) -> None:
        """Commit a round that took this many seconds: earlier asks are closed, its own is cut to what is still free.

        A round that was trained without the latest answers does not end the campaign.
        """
        with self.lock:
            round_ = result.events[0].round
            if round_ in self.state.metrics or self.state.ended:
                return
            room = self.budget - self.spent() - len(self.asks.of_audit())
            outdated = result.last_event is not None and self.counts.last_answer > result.last_event
            is_last = self._is_over() and not outdated
            self.campaign.commit(reconcile_round(result.events, self.state, room=room, is_last=is_last))
            self.campaign.runner.delete_intermediate_weights(self.state)
            self.round_seconds = seconds
            if (votes := result.votes) is not None:
                self.guesses = Guesses.of(round_, votes.classes, votes.majority, votes.agreement, self.pool)
                save_guesses(self.campaign.folder, self.guesses)
        self.changed.set()

    def in_cold_start(self) -> bool:
        """Return whether there is no model yet and some class has no label but may still get one."""
        if self.state.metrics:
            return False
        counts = self.class_counts()
        cap = self.campaign.config.cold_start.cap or 10 * len(self.state.classes)
        is_incomplete = not counts or not all(counts.values())
        return is_incomplete and sum(counts.values()) < cap and not self._is_exhausted()

    def _queue(self, who: str, want: int, on_screens: Set[ImageId]) -> Iterator[QueuedImage]:
        cold_start = self.in_cold_start()
        now = Conditions(self.spent(), self.budget, self._is_stale(), cold_start, self._is_trusted())
        yield from question_order(self.asks, self.history, now, who)
        size = max(want, len(self.state.classes)) if cold_start else want * self.leases.active_sessions()
        yield from (QueuedImage(i, "query") for i in self._ask_diverse(size, on_screens))
        yield from fallback_order(self.asks)

    def _is_stale(self) -> bool:
        """Return whether there is a model and it is too many labels behind to ask."""
        return bool(self.state.metrics) and self.labels_behind() >= pacing.STALE_LABELS

    def _is_trusted(self) -> bool:
        newest = self.state.metrics.get(self.newest_round())
        return newest is not None and newest.audit is not None and (newest.audit.accuracy or 0.0) >= TRUSTED_ACCURACY

    def _ask_audit(self) -> None:
        audit = self.campaign.images.roles.audit
        if len(audit) and not self.asks.audit_images:
            self._ask("audit", audit, np.zeros(len(audit)))

    def _ask_diverse(self, count: int, on_screens: Set[ImageId]) -> list[ImageId]:
        count = min(count, self._unplanned_budget())
        chosen = self.farthest_first.choose(count, exclude=on_screens) if count > 0 else {}
        if chosen:
            self._ask("cold start", np.array(list(chosen)), np.array(list(chosen.values())))
        return list(chosen)

    def _ask_answered_grid(self, answers: Sequence[Answer]) -> None:
        """Ask the images that were shown in a grid and are answered now, possibly after a restart."""
        images = [a.image for a in answers if a.kind != "undo" and a.image not in self.state.places]
        images = list(dict.fromkeys(i for i in images if i in self.farthest_first))
        if images:
            guesses = [self._guess(image) for image in images]
            self._ask("query", np.array(images), np.array([1.0 - g.agreement if g else 0.0 for g in guesses]))

    def _ask(self, purpose: str, ids: Any, utilities: Any) -> None:
        round_ = self.state.round
        self.campaign.commit([proposal_event(round_, self.asks.count_in(round_), purpose, ids, utilities)])

    def _store(self, who: str, answer: Answer) -> None:
        name, details = self._undo(answer) if answer.kind == "undo" else self._label(answer)
        self.campaign.accept({answer.image: name}, who=who, shown=details, uids={answer.image: answer.uid})
        self._reopen_if_corrected()

    def _reopen_if_corrected(self) -> None:
        """Reopen a campaign that was answered after its end, so that a last model is trained on the corrections."""
        newest = self.state.measured_events.get(self.newest_round())
        if self.state.ended and self.counts.last_answer > (newest.number if newest else 0):
            self.campaign.reopen()

    def _label(self, answer: Answer) -> tuple[str | None, dict[str, Any]]:
        """Return the class and the details to store with an answer that is not an undo."""
        details: dict[str, Any] = {"seconds": round(answer.seconds, 2)}
        guess = self._guess(answer.image) if answer.guess_timing == "hidden" else self._seen_guess(answer)
        if guess is not None:
            details["guess"] = {"class": guess.name, "agreement": guess.agreement, "shown": answer.guess_timing}
        if answer.grid:
            details["grid"] = True
        if answer.second_look or self.history.is_doubtful(answer.image):
            details["again"] = True
        if answer.kind in REASONS:
            return None, details | {"reason": REASONS[answer.kind]}
        return answer.name or "", details

    def _undo(self, answer: Answer) -> tuple[str | None, dict[str, Any]]:
        """Return the class and the details to store with an undo."""
        undone = self.history.by_uid.get(answer.undoes)
        if undone is None or undone.image != answer.image:
            raise InputError(
                "undo", expected="an earlier answer to this image", got=answer.undoes or "none", fix="Keep labelling."
            )
        current = self.history.current.get(answer.image)
        after = self.history.previous(answer.undoes) if current is undone else current
        reason = {"reason": UNDONE} if after is None else {"reason": after.reason} if after.name is None else {}
        return (after.name if after else None), {"undoes": answer.undoes, **reason}

    def _guess(self, image: ImageId) -> Guess | None:
        return self.guesses.about(image) if self.guesses else None

    def _seen_guess(self, answer: Answer) -> Guess:
        """Return the guess that the person saw; a newer model may guess otherwise by now."""
        if answer.guess is None or answer.guess.name not in self.state.classes:
            got = "none" if answer.guess is None else repr(answer.guess.name)
            raise InputError("guess", expected="one of the classes", got=got, fix="Reload the page.")
        return answer.guess

    def _room(self, on_screens: Set[ImageId]) -> int:
        """Return the budget beyond the labels given and the unlabelled images on screens."""
        return self.budget - self.spent() - sum(image not in self.history.current for image in on_screens)

    def _unplanned_budget(self) -> int:
        """Return the budget beyond the labels given and the answers awaited."""
        return self.budget - self.spent() - self.asks.awaited() - len(self.history.returned)

    def _is_exhausted(self) -> bool:
        """Return whether every image was asked and answered."""
        return not self.farthest_first.left and not self.asks.any_left() and not self.history.returned

    def _is_over(self) -> bool:
        return self.spent() >= self.budget or self._is_exhausted()

    def _finished(self) -> str:
        if self.state.ended:
            return self.state.ended
        return SPENT if self.spent() >= self.budget else EXHAUSTED if self._is_exhausted() else ""
