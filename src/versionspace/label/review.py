"""The review of all labels: rows to filter, and what the audit says about each class.

Only the audit measures: its images were drawn at random, and the model was not trained on them. That a label the model
was trained on differs from its guess is no measurement, but a hint that the label may be wrong.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from versionspace.extras import require
from versionspace.label.history import AnswerRecord
from versionspace.label.messages import Guess
from versionspace.label.service import LabelService
from versionspace.types import ImageId

Show = Literal["all", "doubt", "differs", "audit", "mistakes", "unsure", "bad", "skipped"]
SHOWS: tuple[Show, ...] = ("all", "doubt", "differs", "audit", "mistakes", "unsure", "bad", "skipped")
_REASONS: dict[str, str] = {"unsure": "unsure", "bad": "bad image", "skipped": "skipped"}
CONFIDENCE = 0.95
"""Of the intervals of each class, one by one."""


@dataclass(frozen=True)
class ReviewRow:
    """The current answer to one image."""

    image: ImageId
    answer: AnswerRecord
    guess: Guess | None
    """The newest model's; None if it has none."""
    audit: bool
    """Whether the image belongs to the audit, which the model is not trained on."""
    doubtful: bool
    """Whether a second look is due: the label contradicts a confident guess, or two people differ."""
    checked: bool
    """Whether it had a second look."""

    @property
    def differs(self) -> bool:
        """Whether the label is another class than the model's guess."""
        return self.answer.name is not None and self.guess is not None and self.guess.name != self.answer.name

    def is_shown(self, show: Show) -> bool:
        """Return whether the row belongs to one of the lists."""
        match show:
            case "all":
                return True
            case "doubt":
                return self.doubtful
            case "differs":
                return self.differs and not self.audit
            case "audit":
                return self.audit
            case "mistakes":
                return self.differs and self.audit
            case _:
                return self.answer.name is None and (self.answer.reason or "skipped") == _REASONS[show]


@dataclass(frozen=True)
class ReviewFilter:
    """Which rows to return."""

    show: Show = "all"
    name: str | None = None
    """The class of the label."""
    guess: str | None = None
    """The class that the model guesses."""
    who: str | None = None
    offset: int = 0
    limit: int = 100


@dataclass(frozen=True)
class ReviewPage:
    """Some of the rows that pass a filter."""

    rows: list[ReviewRow]
    total: int
    offset: int
    counts: dict[Show, int]
    """How many rows each list has, with the same class, guess and person."""
    people: list[str]


@dataclass(frozen=True)
class ClassAccuracy:
    """What the audit says about one class."""

    name: str
    images: int
    """Images of the audit with this label."""
    right: int
    """How many of them the model assigns to this class."""
    guessed: int
    """Images of the audit that the model assigns to this class, whatever their label."""
    low: float
    high: float
    """The interval of the accuracy, for this class alone."""


@dataclass(frozen=True)
class AuditReview:
    """The newest model on the audit."""

    round: int
    """Of the model; 0 if there is none, or if it has no guesses."""
    images: int = 0
    """Images with a label and a guess."""
    right: int = 0
    waiting: int = 0
    """Images of the audit without a label."""
    classes: list[ClassAccuracy] = field(default_factory=list)
    """Classes that are a label or a guess in the audit, in the order of the page."""
    cells: dict[tuple[str, str], int] = field(default_factory=dict)
    """Number of images by label and guess."""


def review_page(service: LabelService, wanted: ReviewFilter) -> ReviewPage:
    """Return the rows that pass a filter: newest first; hints for mistakes by the share of members, unchecked first.

    An offset past the end returns the last rows. It costs a pass over all answers.
    """
    with service.lock:
        rows = list(_rows(service))
    people = sorted({row.answer.who for row in rows})
    rows = [row for row in rows if _matches(row, wanted)]
    counts: dict[Show, int] = {show: sum(row.is_shown(show) for row in rows) for show in SHOWS}
    shown = [row for row in rows if row.is_shown(wanted.show)]
    shown.sort(key=lambda row: -row.answer.at)
    if wanted.show in ("doubt", "differs", "mistakes"):
        shown.sort(key=lambda row: (row.checked, -(row.guess.agreement if row.guess else 0.0)))
    offset = min(wanted.offset, max(0, len(shown) - 1) // wanted.limit * wanted.limit)
    return ReviewPage(shown[offset : offset + wanted.limit], len(shown), offset, counts, people)


def audit_review(service: LabelService) -> AuditReview:
    """Return accuracy per class and the confusion matrix of the newest model on the audit."""
    with service.lock:
        guesses, waiting = service.guesses, len(service.asks.of_audit())
        order = list(service.state.class_list.order)
        rows = [row for row in _rows(service) if row.audit]
    if guesses is None:
        return AuditReview(0, waiting=waiting)
    cells = Counter((row.answer.name, row.guess.name) for row in rows if row.answer.name is not None and row.guess)
    given, guessed = Counter[str](), Counter[str]()
    for (name, guess), count in cells.items():
        given[name or ""] += count
        guessed[guess] += count
    classes = [
        _class_accuracy(name, given[name], cells[name, name], guessed[name])
        for name in order
        if given[name] or guessed[name]
    ]
    right = sum(one.right for one in classes)
    known = {(name, guess): count for (name, guess), count in cells.items() if name is not None}
    return AuditReview(guesses.round, sum(given.values()), right, waiting, classes, known)


def earlier_answers(service: LabelService, image: ImageId) -> list[AnswerRecord]:
    """Return every answer that was given to an image, newest first, also those that were undone."""
    with service.lock:
        return [answer for answer in reversed(service.history.answers) if answer.image == image]


def _rows(service: LabelService) -> Iterator[ReviewRow]:
    guesses, history, audit = service.guesses, service.history, service.asks.audit_images
    for image, answer in history.current.items():
        guess = guesses.about(image) if guesses else None
        yield ReviewRow(
            image, answer, guess, image in audit, history.is_doubtful(image), history.is_checked(image)
        )  # fmt: skip


def _matches(row: ReviewRow, wanted: ReviewFilter) -> bool:
    if wanted.name is not None and row.answer.name != wanted.name:
        return False
    if wanted.guess is not None and (row.guess is None or row.guess.name != wanted.guess):
        return False
    return wanted.who is None or row.answer.who == wanted.who


def _class_accuracy(name: str, images: int, right: int, guessed: int) -> ClassAccuracy:
    """Return the share of right images with its exact binomial interval (Clopper and Pearson 1934)."""
    beta, alpha = require("scipy.stats").beta, 1.0 - CONFIDENCE
    low = float(beta.ppf(alpha / 2, right, images - right + 1)) if right else 0.0
    high = float(beta.ppf(1 - alpha / 2, right + 1, images - right)) if right < images else 1.0
    return ClassAccuracy(name, images, right, guessed, low, high)
