"""The campaign behind the labelling page: serves images, stores answers and commits rounds.

One lock guards everything, and this is the only writer of the ledger. What a request needs is read from views that
`Campaign.subscribe` keeps up to date, so that its cost does not grow with the number of labels.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from versionspace.campaign import (
    EXHAUSTED,
    SPENT,
    UNLABELLED,
    Campaign,
    IdIndex,
    among,
    cold_start_size,
    final_model_due,
    final_model_note,
    proposal_event,
)
from versionspace.errors import InputError
from versionspace.label import pacing
from versionspace.label.answers import label_to_store, undo_to_store
from versionspace.label.auth import identity
from versionspace.label.cold_start import CoveringImages
from versionspace.label.guesses import load_guesses, reconcile_round, save_guesses
from versionspace.label.history import History
from versionspace.label.leases import ImageLeases
from versionspace.label.messages import (
    SURE,
    Answer,
    AnswerOutcome,
    Guess,
    Guesses,
    GuessTiming,
    Question,
    QuestionBatch,
    RefusedAnswer,
)
from versionspace.label.model_check import check_is_due, random_images_left
from versionspace.label.pacing import LabellingPace
from versionspace.label.queue import Conditions, OpenAsks, QueuedImage, fallback_order, question_order
from versionspace.label.results import ResultFiles
from versionspace.label.trainer_messages import RoundResult, SampleFeatures
from versionspace.label.views import LabelCounts, Views
from versionspace.store import ClassEdit, Event, State
from versionspace.types import ImageId

_log = logging.getLogger("versionspace.label")
TRUSTED_ACCURACY = 0.8
"""Accuracy on the audit from which on a confident guess of the model outweighs a quick click."""
LEAST_PER_CLASS = 2
"""The first model is trained as soon as two classes have this many labels each."""


class LabelService:
    """Questions, answers and rounds of one campaign. Every method may be called from any thread."""

    def __init__(self, campaign: Campaign, clock: Callable[[], float] = time.monotonic) -> None:
        self.campaign, self.lock = campaign, threading.RLock()
        self.changed = threading.Event()
        """Set whenever it may be time to train."""
        self.leases, self.history, self.asks, self.counts = ImageLeases(clock), History(), OpenAsks(), LabelCounts()
        herd, colours = campaign.config.cold_start.method != "random", not campaign.images.decoded_on_access
        self.covering = CoveringImages(campaign.images, campaign.config.seed, herd=herd, colours=colours)
        self._views = Views((self.history, self.asks, self.counts, self.covering))
        self.pool = IdIndex(campaign.images.all_roles.pool)
        self.guesses: Guesses | None = None
        self.campaign_key = identity(campaign.folder.path).campaign
        self.round_seconds: float | None = None
        self.unreadable: dict[ImageId, str] = {}  # among the missing images: with the reason
        self.results = ResultFiles(campaign.folder.path)
        campaign.subscribe(self._apply)
        self.guesses = load_guesses(campaign.folder, self.pool, campaign.state.class_list)
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
        return LabellingPace(seconds, self.round_seconds, self.counts.training())

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
            self.leases.renew(session, who)
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
        """Return up to side² images that the members are sure belong to one class, those they agree on least first.

        The images are only leased; each is asked once its answer arrives, so a grid that is not confirmed costs
        nothing. ``have``: images that the tab keeps besides the grid; its previous grid is released. Raises
        InputError without a model, or if no image is left. ``name``: the class; None takes the one with most images.
        The reply also has the number of such images of every class.
        """
        with self.lock:
            guesses = self.guesses
            if guesses is None:
                raise InputError(
                    "grid", expected="a trained model", got="none yet",
                    fix="Keep labelling: the first model is trained soon.",
                )  # fmt: skip
            on_screens = set(have) | self.leases.held(exclude=session)
            available = among(self.pool.keys, self.covering.ids.keys)
            available[self.pool.rows(on_screens | self.state.missing | self.state.places.keys())] = False
            offers = guesses.sure_by_class(available)
            best = name or next(iter(offers), "")
            rows = guesses.sure_of_class(best, available)
            count = min(side * side, len(rows), self._room(on_screens))
            if count < 1:
                raise InputError(
                    "grid", expected=f"images that at least {SURE:.0%} of the members assign to one class",
                    got="none that may still be asked", fix="Choose another class, or continue one by one.",
                )  # fmt: skip
            images = [self.pool[row] for row in rows[:count]]
            self.leases.release_except(session, have)
            self.leases.acquire(session, [*have, *images])
            questions = [Question(i, guesses.about(i)) for i in images]
            return QuestionBatch(questions, self.newest_round(), name=best, offers=offers)

    def answer(self, session: str, who: str, answers: Sequence[Answer]) -> AnswerOutcome:
        """Store answers in order and return which are durable and which were refused."""
        outcome = AnswerOutcome()
        with self.lock:
            self.leases.renew(session, who)
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

    def set_missing(self, images: Iterable[ImageId], unreadable: Mapping[ImageId, str] | None = None) -> None:
        """Leave out these images, and those that are ``unreadable`` for a reason; take back in all others."""
        with self.lock:
            self.unreadable = dict(unreadable or {})
            missing = frozenset(images) | self.unreadable.keys()
            if missing != self.state.missing:
                self.state.missing = missing
                self._views.set_missing(missing)

    def edit_classes(self, edit: Callable[[Campaign], None]) -> None:
        """Change the classes; where labels change their class, a new model is trained."""
        with self.lock:
            edit(self.campaign)
            self._reopen_if_corrected()
        self.changed.set()

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
            if check_is_due(self) or self.results.train_since or self._has_outdated_classes():
                return pace.ask_size
            if not self.state.metrics or self._unplanned_budget() <= 0:
                return None
            unanswered = 0 if self._is_stale() else len(self.asks.of_newest_round())
            model_may_ask = not self.asks.has_query(self.newest_round()) and self.covering.left > 0
            is_due = pacing.round_is_due(self.labels_behind(), unanswered, pace) or model_may_ask
            return pace.ask_size if is_due else None

    def commit_round(self, result: RoundResult, seconds: float) -> None:
        """Commit a round that took this many seconds: earlier asks are closed, its own is cut to what is still free.

        A round that was trained without the latest answers does not end the campaign. One that was trained before
        classes were merged or deleted is discarded.
        """
        with self.lock:
            round_ = result.events[0].round
            since = self.state.last_event if result.last_event is None else result.last_event
            edits = [edit for edit in self.state.class_list.edits if edit.event > since]
            if round_ in self.state.metrics or self.state.ended or any(edit.changes_labels for edit in edits):
                return
            room = self.budget - self.spent() - len(self.asks.of_audit())
            outdated = result.last_event is not None and self.counts.last_answer > result.last_event
            is_last = self._is_over() and not outdated
            events = reconcile_round(result.events, self.state, room=room, is_last=is_last, since=since)
            self.campaign.commit(events)
            self.campaign.runner.delete_intermediate_weights(self.state)
            self.round_seconds = seconds
            self.results.model_trained(result.last_event)
            if (votes := result.votes) is not None:
                names = [self.state.class_list.current(name, since) for name in votes.classes]
                self.guesses = Guesses.of(round_, names, votes.majority, votes.agreement, self.pool)
                save_guesses(self.campaign.folder, self.guesses, self.state.last_event)
        self.changed.set()

    def final_model_due(self) -> bool:
        """Return whether labelling has ended and the final model, which also learns from the audit, is not trained."""
        with self.lock:
            return final_model_due(self.campaign.runner, self.state)

    def commit_final_model(self, body: Mapping[str, Any], last_event: int) -> None:
        """Commit a final model that was trained on the events up to this one, unless answers came since."""
        with self.lock:
            if self.final_model_due() and self.counts.last_answer <= last_event:
                self.campaign.commit([Event("final", self.state.round, body)])
                _log.info("%s", final_model_note(self.state))

    def in_cold_start(self) -> bool:
        """Return whether there is no model yet, and too few labels to train one."""
        if self.state.metrics or self._is_exhausted():
            return False
        counts = self.class_counts()
        enough = cold_start_size(self.campaign.config, len(self.state.classes), self.budget)
        comparable = sum(count >= LEAST_PER_CLASS for count in counts.values()) >= 2
        return not comparable and sum(counts.values()) < enough

    def set_features(self, sample: SampleFeatures) -> None:
        """Choose covering images among this sample, by these features, from now on."""
        with self.lock:
            self.covering.set_features(sample.ids, sample.features)

    def _queue(self, who: str, want: int, on_screens: Set[ImageId]) -> Iterator[QueuedImage]:
        cold_start = self.in_cold_start()
        now = Conditions(
            self.spent(), self.budget, self._is_stale(), cold_start, self._is_trusted(), random_images_left(self) > 0
        )
        yield from question_order(self.asks, self.history, now, who)
        size = max(want, len(self.state.classes)) if cold_start else want * self.leases.active_sessions()
        yield from (QueuedImage(i, "query") for i in self._ask_covering(size, on_screens))
        yield from fallback_order(self.asks)

    def _is_stale(self) -> bool:
        """Return whether there is a model and it is too many labels behind to ask."""
        return bool(self.state.metrics) and self.labels_behind() >= pacing.STALE_LABELS

    def _has_outdated_classes(self) -> bool:
        """Return whether classes were merged or deleted since the newest model was trained."""
        names = self.state.model_classes.get(self.newest_round(), ())
        return None in names or len(set(names)) < len(names)

    def _apply(self, event: Event) -> None:
        self._views.apply(event)
        if self.guesses is not None and (edit := ClassEdit.of(event)) is not None:
            self.guesses = self.guesses.after_edit(edit)

    def _is_trusted(self) -> bool:
        newest = self.state.metrics.get(self.newest_round())
        return newest is not None and newest.audit is not None and (newest.audit.accuracy or 0.0) >= TRUSTED_ACCURACY

    def _ask_audit(self) -> None:
        audit = self.campaign.images.roles.audit
        if len(audit) and not self.asks.audit_images:
            self._ask("audit", audit, np.zeros(len(audit)))

    def _ask_covering(self, count: int, on_screens: Set[ImageId]) -> list[ImageId]:
        count = min(count, self._unplanned_budget())
        chosen = self.covering.choose(count, exclude=on_screens) if count > 0 else {}
        if chosen:
            self._ask("cold start", np.array(list(chosen)), np.array(list(chosen.values())))
        return list(chosen)

    def _ask_answered_grid(self, answers: Sequence[Answer]) -> None:
        """Ask the images that were shown in a grid and are answered now, possibly after a restart."""
        images = [a.image for a in answers if a.kind != "undo" and a.image not in self.state.places]
        images = list(dict.fromkeys(i for i in images if i in self.covering))
        if images:
            guesses = [self._guess(image) for image in images]
            self._ask("query", np.array(images), np.array([1.0 - g.agreement if g else 0.0 for g in guesses]))

    def _ask(self, purpose: str, ids: Any, utilities: Any) -> None:
        round_ = self.state.round
        self.campaign.commit([proposal_event(round_, self.asks.count_in(round_), purpose, ids, utilities)])

    def _store(self, who: str, answer: Answer) -> None:
        if answer.kind == "undo":
            stored = undo_to_store(answer, self.history)
        else:
            stored = label_to_store(answer, self._guess(answer.image), self.history, self.state.class_list)
        self.campaign.accept(
            {answer.image: stored.name}, who=who, shown=stored.details, uids={answer.image: answer.uid}
        )
        self._reopen_if_corrected()

    def _reopen_if_corrected(self) -> None:
        """Reopen a campaign that was answered after its end, so that a last model is trained on the corrections."""
        newest = self.state.measured_events.get(self.newest_round())
        if self.state.ended and self.counts.last_answer > (newest.number if newest else 0):
            self.campaign.reopen()

    def _guess(self, image: ImageId) -> Guess | None:
        return self.guesses.about(image) if self.guesses else None

    def _room(self, on_screens: Set[ImageId]) -> int:
        """Return the budget beyond the labels given and the unlabelled images on screens."""
        return self.budget - self.spent() - sum(image not in self.history.current for image in on_screens)

    def _unplanned_budget(self) -> int:
        """Return the budget beyond the labels given and the answers awaited."""
        return self.budget - self.spent() - self.asks.awaited() - len(self.history.returned)

    def _is_exhausted(self) -> bool:
        """Return whether every image was asked and answered."""
        return not self.covering.left and not self.asks.any_left() and not self.history.returned

    def _is_over(self) -> bool:
        return self.spent() >= self.budget or self._is_exhausted()

    def _finished(self) -> str:
        if self.state.ended:
            return self.state.ended
        return SPENT if self.spent() >= self.budget else EXHAUSTED if self._is_exhausted() else ""
