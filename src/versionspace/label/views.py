"""Views of the ledger that the labelling page needs at every request, kept up to date event by event.

`Campaign.subscribe` hands every committed event to every view, first those of the past, then each new one. A view
depends on nothing but these events and the set of missing images, so it can be rebuilt from the ledger at any time.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from versionspace.store import TRAINING_PURPOSES, Answered, ClassEdit, Event, Proposed
from versionspace.types import ImageId


class View(Protocol):
    """A summary of the ledger."""

    def apply(self, event: Event) -> None:
        """Update the view with a committed event."""

    def set_missing(self, images: Iterable[ImageId]) -> None:
        """Leave out these images and no others; they may come back later."""


@dataclass(frozen=True)
class Views:
    """Several views that are updated together."""

    views: tuple[View, ...]

    def apply(self, event: Event) -> None:
        """Update every view with a committed event."""
        for view in self.views:
            view.apply(event)

    def set_missing(self, images: Iterable[ImageId]) -> None:
        """Leave these images and no others out of every view."""
        missing = frozenset(images)
        for view in self.views:
            view.set_missing(missing)


@dataclass
class LabelCounts:
    """Number of labels, in total and per class: a view of the ledger.

    >>> counts = LabelCounts()
    >>> counts.apply(Event("proposed", 1, {"part": 0, "purpose": "query", "ids": ["a", "b"], "utilities": [1, 0]}))
    >>> counts.apply(Event("answered", 1, {"id": "a", "class": "cat", "part": 0, "rank": 0}))
    >>> counts.spent, counts.per_class(["cat", "dog"])
    (1, {'cat': 1, 'dog': 0})
    """

    spent: int = 0
    """Labels given, including those of the audit and of missing images; skipped images cost nothing."""
    last_answer: int = 0
    """Number of the newest event that changed labels: an answer, or classes that were merged or deleted."""
    _missing: frozenset[ImageId] = frozenset()
    _class_of: dict[ImageId, str] = field(default_factory=dict)
    _training: set[ImageId] = field(default_factory=set)
    """Images that were asked to train on."""
    _per_class: Counter[str] = field(default_factory=Counter)
    _given: Counter[str] = field(default_factory=Counter)
    """Labels of each class, including those of the audit and of missing images."""

    def apply(self, event: Event) -> None:
        """Update the view with a committed event."""
        match event.kind:
            case "renamed" | "merged" | "deleted":
                self._edit(event)
            case "proposed":
                proposed = Proposed.from_body(event.body)
                for image in proposed.ids if proposed.purpose in TRAINING_PURPOSES else ():
                    self._count(image, -1)
                    self._training.add(image)
                    self._count(image, +1)
            case "answered":
                answered = Answered.from_body(event.body)
                self._answer(answered.id, answered.name)
                self.last_answer = event.number

    def set_missing(self, images: Iterable[ImageId]) -> None:
        """Leave these images and no others out of the counts per class."""
        self._missing = frozenset(images)
        self._per_class.clear()
        for image in self._class_of:
            self._count(image, +1)

    def per_class(self, classes: Iterable[str]) -> dict[str, int]:
        """Return the number of labels of each class that the model is trained on."""
        return {name: self._per_class[name] for name in classes}

    def given(self, name: str) -> int:
        """Return the number of labels of a class, including those of the audit and of missing images."""
        return self._given[name]

    def seen(self) -> set[str]:
        """Return the classes that have a label, be it only in the audit."""
        return {name for name, count in self._given.items() if count}

    def training(self) -> int:
        """Return the number of labels that the model is trained on."""
        return self._per_class.total()

    def _edit(self, event: Event) -> None:
        edit = ClassEdit.of(event)
        assert edit is not None
        for image in [image for image, name in self._class_of.items() if name == edit.before]:
            self._answer(image, edit.after)
        if edit.changes_labels:
            self.last_answer = event.number

    def _answer(self, image: ImageId, name: str | None) -> None:
        self._count(image, -1)
        if (before := self._class_of.pop(image, None)) is not None:
            self.spent -= 1
            self._given[before] -= 1
        if name is not None:
            self._class_of[image] = name
            self.spent += 1
            self._given[name] += 1
            self._count(image, +1)

    def _count(self, image: ImageId, change: int) -> None:
        if image in self._class_of and image in self._training and image not in self._missing:
            self._per_class[self._class_of[image]] += change
