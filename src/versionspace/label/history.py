"""Every answer in the order it came, from the ledger: what stands, what it replaced, and what an undo brings back."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from versionspace.store import Event
from versionspace.types import ImageId

UNDONE = "undone"
"""The reason of an answer that only takes another back."""


@dataclass
class Given:
    """One answer."""

    image: ImageId
    name: str | None
    """The class; None: skipped, unsure, a bad image, or taken back."""
    who: str
    uid: str
    at: float
    shown: Mapping[str, Any]
    earlier: "Given | None" = None
    """What stood for this image before."""
    undone: bool = False

    @property
    def reason(self) -> str:
        """Why there is no class."""
        return str(self.shown.get("reason", ""))


@dataclass
class History:
    """Answers so far; the same from a ledger replayed as from answers one by one."""

    given: list[Given] = field(default_factory=list)
    """Undos are left out."""
    standing: dict[ImageId, Given] = field(default_factory=dict)
    """The last word on each image; missing where it was taken back."""
    uids: dict[str, Given | None] = field(default_factory=dict)
    """Every event's own id; None: an undo."""
    gone: frozenset[ImageId] = frozenset()
    """Images that are not there at present, and may come back."""
    rechecked: set[ImageId] = field(default_factory=set)
    last: int = 0
    """Number of the last event taken in."""
    _returned: dict[ImageId, str] = field(default_factory=dict)
    _doubtful: dict[ImageId, None] = field(default_factory=dict)

    @property
    def returned(self) -> dict[ImageId, str]:
        """Images whose only answer was taken back, and by whom: to be asked again, the last one first."""
        return {image: who for image, who in self._returned.items() if image not in self.gone}

    @property
    def doubtful(self) -> list[ImageId]:
        """Labels worth a second look: against a sure guess, or two people differ. Looked at once."""
        return [image for image in self._doubtful if image not in self.gone]

    def take(self, events: Iterable[Event]) -> None:
        """Takes events in."""
        for event in events:
            self.last = max(self.last, event.number)
            if event.kind == "answered":
                self._answered(event)

    def before(self, uid: str) -> Given | None:
        """What an undo of this answer brings back; None: nothing, the image is asked again."""
        found = self.uids.get(uid)
        earlier = found.earlier if found else None
        while earlier is not None and earlier.undone:
            earlier = earlier.earlier
        return earlier

    def leave_out(self, images: Iterable[ImageId]) -> None:
        """These are gone, and no others: they are neither asked again nor looked at twice until they are back."""
        self.gone = frozenset(images)

    def by(self, who: str, count: int) -> list[Given]:
        """The last answers of one person that stand, the newest first."""
        out: list[Given] = []
        for found in reversed(self.given):
            if len(out) == count:
                break
            if found.who == who and not found.undone and self.standing.get(found.image) is found:
                out.append(found)
        return out

    def seconds(self, count: int = 60) -> list[float]:
        """What the last answers took."""
        return [float(g.shown["seconds"]) for g in self.given[-count:] if g.shown.get("seconds")]

    def _answered(self, event: Event) -> None:
        body = event.body
        shown = {k: v for k, v in body.items() if k not in ("id", "class", "part", "rank")}
        image, uid = body["id"], event.uid or f"event-{event.number}"
        if "undoes" in shown:
            self._undo(image, str(shown["undoes"]), uid, event.who)
            return
        found = Given(image, body["class"], event.who, uid, event.at, shown, self.standing.get(image))
        self.given.append(found)
        self.uids[uid] = found
        self.standing[image] = found
        self._returned.pop(image, None)
        self._doubt(found)

    def _undo(self, image: ImageId, undoes: str, uid: str, who: str) -> None:
        self.uids[uid] = None
        found = self.uids.get(undoes)
        if found is None:
            return
        found.undone = True
        if self.standing.get(image) is not found:
            return
        earlier = self.before(undoes)
        if earlier is None:
            del self.standing[image]
            self._returned[image] = who
        else:
            self.standing[image] = earlier
        self._doubtful.pop(image, None)

    def _doubt(self, found: Given) -> None:
        if found.shown.get("again"):
            self.rechecked.add(found.image)
        if found.image in self.rechecked:
            self._doubtful.pop(found.image, None)
            return
        guess = found.shown.get("guess") or {}
        sure = guess.get("agreement", 0.0) >= 0.9 and guess.get("class") != found.name
        before = found.earlier
        differ = before is not None and before.who != found.who and before.name not in (None, found.name)
        if found.name is not None and (sure or differ):
            self._doubtful[found.image] = None
