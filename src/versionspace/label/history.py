"""Every answer in the order it was given: the current answer to each image, corrections, and undo."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from versionspace.store import Answered, Event
from versionspace.types import ImageId

UNDONE = "undone"
"""The reason stored with an undo that leaves an image without an answer."""
CONFIDENT = 0.9
"""Share of members from which on a guess is confident."""


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
        """Return the last answers of one person that still count, newest first."""
        latest: list[AnswerRecord] = []
        for answer in reversed(self._by_person.get(who, ())):
            if len(latest) == count:
                break
            if not answer.undone and self.current.get(answer.image) is answer:
                latest.append(answer)
        return latest

    def recent_seconds(self, count: int = 60) -> list[float]:
        """Return the seconds that each of the last ``count`` answers took, where measured."""
        return [float(a.details["seconds"]) for a in self.answers[-count:] if a.details.get("seconds")]

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
        guess = answer.details.get("guess") or {}
        contradicts = guess.get("agreement", 0.0) >= CONFIDENT and guess.get("class") != answer.name
        earlier = answer.earlier
        differs = earlier is not None and earlier.who != answer.who and earlier.name not in (None, answer.name)
        if answer.name is not None and (contradicts or differs):
            self._doubtful[answer.image] = None
