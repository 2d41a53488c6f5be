"""What crosses the seam between the web and the campaign behind it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from versionspace.types import Array, ImageId

Kind = Literal["class", "skip", "unsure", "bad", "undo"]
When = Literal["hidden", "after", "before"]
"""When the person sees the model's guess."""

REASONS: dict[str, str] = {"skip": "skipped", "unsure": "unsure", "bad": "bad image"}


@dataclass(frozen=True)
class Guess:
    """What most members say of an image, and the share of them that do."""

    name: str
    agreement: float


@dataclass(frozen=True)
class Answer:
    """What a person did, with a name of its own: sent twice it counts once."""

    uid: str
    kind: Kind
    image: ImageId
    name: str | None = None
    """The class, for kind "class"."""
    of: str = ""
    """For kind "undo": the answer that is taken back."""
    seconds: float = 0.0
    when: When = "hidden"
    grid: bool = False
    again: bool = False
    """A second look at an image that has a label."""
    guess: Guess | None = None
    """What the person saw before or after this answer. None: nothing, or a tab of an earlier version did not say."""


@dataclass(frozen=True)
class Refused:
    """An answer that cannot be stored, and why."""

    uid: str
    why: str


@dataclass(frozen=True)
class Outcome:
    """What became of answers."""

    taken: list[str] = field(default_factory=list)
    """Stored durably, now or earlier."""
    refused: list[Refused] = field(default_factory=list)


@dataclass(frozen=True)
class Task:
    """An image to answer."""

    image: ImageId
    guess: Guess | None = None
    again: bool = False


@dataclass(frozen=True)
class Served:
    """Images for one tab, in order."""

    tasks: list[Task]
    generation: int
    """The round whose model asks; when it changes, what a tab has in store is out of date."""
    finished: str = ""
    """Why there is nothing more to label; empty while there is, or while others have it on their screens."""
    name: str = ""
    """Of a grid: the class."""


@dataclass(frozen=True)
class Guesses:
    """A round's votes on the whole pool, in the order of its ids; an image that was gone has no votes: agreement 0."""

    round: int
    classes: tuple[str, ...]
    majority: Array
    agreement: Array
    rows: dict[ImageId, int]

    @classmethod
    def of(
        cls, round_: int, classes: Sequence[str], majority: Array, agreement: Array, ids: Sequence[ImageId]
    ) -> "Guesses":
        """Checked: one vote for each image."""
        if len(majority) != len(ids) or len(agreement) != len(ids):
            raise ValueError(f"{len(majority)} votes for {len(ids)} images")
        return cls(round_, tuple(classes), majority, agreement, {image: row for row, image in enumerate(ids)})

    def about(self, image: ImageId) -> Guess | None:
        """Of one image."""
        row = self.rows.get(image)
        if row is None or not self.agreement[row]:
            return None
        return Guess(self.classes[int(self.majority[row])], round(float(self.agreement[row]), 3))

    def likely(self, name: str, among: Array) -> Array:
        """Rows, of those that are True in ``among``, that most members give to a class: the least agreed on first."""
        if name not in self.classes:
            return np.empty(0, np.int64)
        fits = among & (self.majority == self.classes.index(name)) & (self.agreement >= 0.5)
        rows = np.flatnonzero(fits)
        return rows[np.argsort(self.agreement[rows], kind="stable")]
