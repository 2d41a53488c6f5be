"""Records that the service exchanges with the web API and with the trainer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from versionspace.types import Array, ImageId

AnswerKind = Literal["class", "skip", "unsure", "bad", "undo"]
GuessTiming = Literal["hidden", "after", "before"]
"""When a person sees the model's guess: never, after the answer, or before it."""

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
    grid: bool = False
    second_look: bool = False
    """The image already had a label."""
    guess: Guess | None = None
    """The guess that the person saw, unless it was hidden. A newer model may guess otherwise by now."""


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
    classes: tuple[str, ...]
    majority: Array
    agreement: Array
    rows: dict[ImageId, int]

    @classmethod
    def of(
        cls, round_: int, classes: Sequence[str], majority: Array, agreement: Array, ids: Sequence[ImageId]
    ) -> "Guesses":
        """Return the votes by image; raise ValueError unless there is one vote for each id."""
        if len(majority) != len(ids) or len(agreement) != len(ids):
            raise ValueError(f"{len(majority)} votes for {len(ids)} images")
        return cls(round_, tuple(classes), majority, agreement, {image: row for row, image in enumerate(ids)})

    def about(self, image: ImageId) -> Guess | None:
        """Return the guess about an image; None if there is none."""
        row = self.rows.get(image)
        if row is None or not self.agreement[row]:
            return None
        return Guess(self.classes[int(self.majority[row])], round(float(self.agreement[row]), 3))

    def rows_of_class(self, name: str, among: Array) -> Array:
        """Return the rows where ``among`` is True and most members predict this class, least agreement first."""
        if name not in self.classes:
            return np.empty(0, np.int64)
        predicted = among & (self.majority == self.classes.index(name)) & (self.agreement >= 0.5)
        rows = np.flatnonzero(predicted)
        return rows[np.argsort(self.agreement[rows], kind="stable")]
