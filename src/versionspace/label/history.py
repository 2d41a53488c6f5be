"""Every answer in the order it was given: the current answer to each image, corrections, and undo."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from versionspace.store import Answered, ClassEdit, Event
from versionspace.types import ImageId

CONFIDENT = 0.9
"""Share of members from which on a guess is confident."""
WITHDRAWN = "withdrawn"
"""The detail that names the class of an answer that was deleted before the answer arrived."""


@dataclass
class AnswerRecord:
    """One stored answer."""

    image: ImageId
    name: str | None
    """The class; None if the image was skipped, unsure or bad."""
    who: str
    uid: str
    at: float
    """Seconds since 1970."""
    details: Mapping[str, Any]
    """What else was stored: seconds, the guess and how it was shown, the reason for having no class."""
    earlier: "AnswerRecord | None" = None
    """The answer that this one replaced."""
    undone: bool = False

    @property
    def reason(self) -> str:
        """Why there is no class; empty if there is one."""
        return str(self.details.get("reason", ""))

    @property
    def grid(self) -> str:
        """The same for all answers of one grid; empty for an image answered on its own."""
        return str(self.details.get("grid", ""))


@dataclass
class History:
    """Answers so far: a view of the ledger."""

    answers: list[AnswerRecord] = field(default_factory=list)
    """In the order given; undos are not among them."""
    current: dict[ImageId, AnswerRecord] = field(default_factory=dict)
    """The answer that counts for each image; an image whose only answer was undone has none."""
    by_uid: dict[str, AnswerRecord | None] = field(default_factory=dict)
    """Every stored answer by its own id; None for an undo."""
    _missing: frozenset[ImageId] = frozenset()
    _by_person: dict[str, list[AnswerRecord]] = field(default_factory=dict)
    _returned: dict[ImageId, str] = field(default_factory=dict)
    _doubtful: dict[ImageId, None] = field(default_factory=dict)
    _rechecked: set[ImageId] = field(default_factory=set)

    def apply(self, event: Event) -> None:
        """Update the view with a committed event."""
        if (edit := ClassEdit.of(event)) is not None:
            self._edit(edit)
        if event.kind != "answered":
            return
        answered = Answered.from_body(event.body)
        image, uid = answered.id, event.uid or f"event-{event.number}"
        if "undoes" in answered.details:
            self._undo(image, str(answered.details["undoes"]), uid, event.who)
            return
        earlier = self.current.get(image)
        answer = AnswerRecord(image, answered.name, event.who, uid, event.at, answered.details, earlier)
        self.answers.append(answer)
        self._by_person.setdefault(event.who, []).append(answer)
        self.by_uid[uid] = self.current[image] = answer
        self._returned.pop(image, None)
        if WITHDRAWN in answered.details:
            self._withdraw(answer)
        else:
            self._update_doubt(answer)

    def set_missing(self, images: Iterable[ImageId]) -> None:
        """Leave these images and no others out of `returned` and `doubtful`."""
        self._missing = frozenset(images)

    @property
    def returned(self) -> dict[ImageId, str]:
        """Images whose only answer was undone, and by whom, oldest first: they are asked again."""
        return {image: who for image, who in self._returned.items() if image not in self._missing}

    @property
    def doubtful(self) -> list[ImageId]:
        """Images whose label deserves a second look: it contradicts a confident guess, or two people differ.

        An image that had its second look is never doubtful again.
        """
        return [image for image in self._doubtful if image not in self._missing]

    def is_checked(self, image: ImageId) -> bool:
        """Return whether an image had a second look."""
        return image in self._rechecked

    def is_doubtful(self, image: ImageId) -> bool:
        """Return whether an image is among `doubtful`."""
        return image in self._doubtful and image not in self._missing

    def previous(self, uid: str) -> AnswerRecord | None:
        """Return the answer that an undo of this one restores; None if the image is then without an answer."""
        answer = self.by_uid.get(uid)
        earlier = answer.earlier if answer else None
        while earlier is not None and earlier.undone:
            earlier = earlier.earlier
        return earlier

    def latest_by(self, who: str, count: int) -> list[AnswerRecord]:
        """Return the last answers of one person that still count, newest first; a grid is listed as a whole."""
        latest: list[AnswerRecord] = []
        for answer in reversed(self._by_person.get(who, ())):
            if len(latest) >= count and not (answer.grid and answer.grid == latest[-1].grid):
                break
            if not answer.undone and self.current.get(answer.image) is answer:
                latest.append(answer)
        return latest

    def recent_seconds(self, count: int = 60) -> list[float]:
        """Return the seconds that each of the last ``count`` answers took, where measured.

        Answers of a grid, which cost a fraction of a look, and answers that were undone are left out.
        """
        recent = islice(reversed(self.answers), 10 * count)
        single = (a for a in recent if a.details.get("seconds") and not a.grid and not a.undone)
        return [float(answer.details["seconds"]) for answer in islice(single, count)][::-1]

    def _edit(self, edit: ClassEdit) -> None:
        """Follow a class that was renamed or merged; withdraw the answers of one that was deleted."""
        for answer in self.answers:
            guess = answer.details.get("guess")
            if guess and guess["class"] == edit.before and edit.after is not None:
                answer.details = {**answer.details, "guess": {**guess, "class": edit.after}}
            if answer.name == edit.before and edit.after is not None:
                answer.name = edit.after
            elif answer.name == edit.before:
                self._withdraw(answer)
        for image in list(self._doubtful):
            if (current := self.current.get(image)) is not None and not _is_contradicted(current):
                del self._doubtful[image]

    def _withdraw(self, answer: AnswerRecord) -> None:
        """Let an answer no longer count; if it was the current one, the image is asked again."""
        answer.undone = True
        if self.current.get(answer.image) is answer:
            del self.current[answer.image]
            self._returned[answer.image] = answer.who
            self._doubtful.pop(answer.image, None)

    def _undo(self, image: ImageId, undone: str, uid: str, who: str) -> None:
        self.by_uid[uid] = None
        answer = self.by_uid.get(undone)
        if answer is None:
            return
        answer.undone = True
        if self.current.get(image) is not answer:
            return
        earlier = self.previous(undone)
        if earlier is None:
            del self.current[image]
            self._returned[image] = who
        else:
            self.current[image] = earlier
        self._doubtful.pop(image, None)

    def _update_doubt(self, answer: AnswerRecord) -> None:
        if answer.details.get("again"):
            self._rechecked.add(answer.image)
        if answer.image in self._rechecked:
            self._doubtful.pop(answer.image, None)
            return
        if _is_contradicted(answer):
            self._doubtful[answer.image] = None


def _is_contradicted(answer: AnswerRecord) -> bool:
    """Return whether a label differs from a confident guess, or from the label that somebody else gave before."""
    guess = answer.details.get("guess") or {}
    by_model = guess.get("agreement", 0.0) >= CONFIDENT and guess.get("class") != answer.name
    earlier = answer.earlier
    by_person = earlier is not None and earlier.who != answer.who and earlier.name not in (None, answer.name)
    return answer.name is not None and (by_model or by_person)
