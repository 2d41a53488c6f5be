"""Records that the service exchanges with the web API and with the trainer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from versionspace.campaign import IdIndex
from versionspace.store import ClassEdit
from versionspace.types import Array, ImageId

AnswerKind = Literal["class", "skip", "unsure", "bad", "undo"]
GuessTiming = Literal["hidden", "after", "before"]
"""When a person sees the model's guess: never, after the answer, or before it."""

SURE = 0.8
"""Share of members from which on a guess is sure enough for a grid, where people confirm many at a glance."""

REASONS: dict[str, str] = {"skip": "skipped", "unsure": "unsure", "bad": "bad image"}
"""The reason stored with an answer that has no class, by kind of answer."""


@dataclass(frozen=True)
class Guess:
    """The class that most members predict for an image, and their share."""

    name: str
    agreement: float


@dataclass(frozen=True)
class Answer:
    """An answer from a browser tab; its ``uid`` makes sending it twice harmless."""

    uid: str
    kind: AnswerKind
    image: ImageId
    name: str | None = None
    """The class, for kind "class"."""
    undoes: str = ""
    """The uid of the answer to take back, for kind "undo"."""
    seconds: float = 0.0
    guess_timing: GuessTiming = "hidden"
    grid: str = ""
    """The same for all answers of one grid; empty for an image answered on its own."""
    second_look: bool = False
    """The image already had a label."""
    guess: Guess | None = None
    """The guess that the person saw, unless it was hidden. A newer model may guess otherwise by now."""
    review: bool = False
    """Given in the review of all labels."""
    edition: int | None = None
    """`ClassList.edition` of the list of classes that the tab had; None if unknown."""


@dataclass(frozen=True)
class RefusedAnswer:
    """An answer that cannot be stored, and why."""

    uid: str
    why: str


@dataclass(frozen=True)
class AnswerOutcome:
    """Which answers were stored and which refused."""

    stored: list[str] = field(default_factory=list)
    """Uids of answers that are durable, now or since an earlier request."""
    refused: list[RefusedAnswer] = field(default_factory=list)


@dataclass(frozen=True)
class Question:
    """An image to answer."""

    image: ImageId
    guess: Guess | None = None
    second_look: bool = False


@dataclass(frozen=True)
class QuestionBatch:
    """Images for one browser tab, in order."""

    questions: list[Question]
    generation: int
    """The round whose model asks; when it changes, the images that a tab fetched ahead are out of date."""
    finished: str = ""
    """Why labelling is over; empty while images are left, or while others have the last ones on their screens."""
    name: str = ""
    """The class of a grid."""
    offers: dict[str, int] = field(default_factory=dict)
    """Classes that a grid is worthwhile for, with the number of its images, most first."""


@dataclass(frozen=True)
class PoolVotes:
    """The members' vote on every image of the pool, present or missing, in the order of the pool."""

    classes: tuple[str, ...]
    majority: Array
    """(N,): the class, by number, that most members predict."""
    agreement: Array
    """(N,): the share of members that do; 0 for an image that was missing."""


@dataclass(frozen=True)
class Guesses:
    """The votes of one round, by image."""

    round: int
    classes: tuple[str | None, ...]
    """The present name of each class; None for one that was deleted. Merged classes have the same name."""
    majority: Array
    agreement: Array
    ids: IdIndex

    @classmethod
    def of(
        cls, round_: int, classes: Sequence[str | None], majority: Array, agreement: Array, ids: Sequence[ImageId]
    ) -> "Guesses":
        """Return the votes by image; raise ValueError unless there is one vote for each id."""
        index = ids if isinstance(ids, IdIndex) else IdIndex(np.asarray(ids))
        if len(majority) != len(ids) or len(agreement) != len(ids):
            raise ValueError(f"{len(majority)} votes for {len(ids)} images")
        return cls(round_, tuple(classes), majority, agreement, index)

    def about(self, image: ImageId) -> Guess | None:
        """Return the guess about an image; None if there is none."""
        row = self.ids.row(image)
        name = None if row is None or not self.agreement[row] else self.classes[int(self.majority[row])]
        return None if row is None or name is None else Guess(name, round(float(self.agreement[row]), 3))

    def after_edit(self, edit: ClassEdit) -> "Guesses":
        """Return the same votes after a class was renamed, merged or deleted."""
        return replace(self, classes=tuple(map(edit.apply, self.classes)))

    def sure_of_class(self, name: str, among: Array) -> Array:
        """Return the rows where ``among`` is True and the members are sure of this class, least agreement first."""
        numbers = [number for number, one in enumerate(self.classes) if one == name]
        predicted = among & np.isin(self.majority, numbers) & (self.agreement >= SURE)
        rows = np.flatnonzero(predicted)
        return rows[np.argsort(self.agreement[rows], kind="stable")]

    def sure_by_class(self, among: Array) -> dict[str, int]:
        """Return how many rows `sure_of_class` has for each class, most first, without classes that have none."""
        sure = self.majority[among & (self.agreement >= SURE)]
        counts: Counter[str] = Counter()
        for name, count in zip(self.classes, np.bincount(sure, minlength=len(self.classes)).tolist(), strict=False):
            if name is not None and count:
                counts[name] += count
        return dict(counts.most_common())
