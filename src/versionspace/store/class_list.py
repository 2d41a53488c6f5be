"""The classes of a campaign, and what events change about them: names, order, keys and guidance.

The ledger stores the name that a class had when an event was written. A class that is renamed or merged later takes its
labels along: `ClassList.current` returns what a name of then is called now. The order in which classes were created
decides the outputs of models and never changes; the order in which the page shows them is separate.
"""

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from versionspace.store.events import Event


@dataclass(frozen=True)
class ClassEdit:
    """A class that was renamed, merged into another, or deleted."""

    kind: str
    """"renamed", "merged" or "deleted"."""
    event: int
    """Number of the event."""
    before: str
    after: str | None
    """The name from then on; None if the class was deleted."""

    @classmethod
    def of(cls, event: Event) -> "ClassEdit | None":
        """Return the edit that an event stores; None if it is an event of another kind.

        >>> ClassEdit.of(Event("merged", body={"class": "kitten", "into": "cat"})).apply("kitten")
        'cat'
        """
        if event.kind not in _AFTER:
            return None
        key = _AFTER[event.kind]
        return cls(event.kind, event.number, event.body["class"], None if key is None else event.body[key])

    @property
    def changes_labels(self) -> bool:
        """Whether labels now mean something else, so that a model trained before is out of date."""
        return self.kind != "renamed"

    def apply(self, name: str | None) -> str | None:
        """Return what a class of this name is called after the edit; None if it was deleted."""
        return self.after if name == self.before else name


_AFTER: dict[str, str | None] = {"renamed": "to", "merged": "into", "deleted": None}
"""By kind of event: the key of the name that the class has afterwards."""


@dataclass(frozen=True)
class ClassNote:
    """What people agreed on about a class."""

    key: str = ""
    """The key that chooses it on the page; empty for the default."""
    guidance: str = ""
    """A line that says what belongs to it."""


@dataclass
class ClassList:
    """The classes after some events."""

    names: list[str] = field(default_factory=list)
    """In the order in which they were created."""
    order: list[str] = field(default_factory=list)
    """The same names in the order in which the page shows them."""
    notes: dict[str, ClassNote] = field(default_factory=dict)
    edits: list[ClassEdit] = field(default_factory=list)
    edition: int = 0
    """Number of the last event that changed the list, its order or its notes."""

    def apply(self, event: Event) -> list[str]:
        """Update the list with an event and return what about the event contradicts the list."""
        problems = []
        if event.kind == "begun":
            self.names, self.order = list(event.body["classes"]), list(event.body["classes"])
        elif event.kind == "class":
            self._add(event.body["name"])
        elif event.kind == "ordered":
            self.order = reordered(self.order, event.body["classes"])
        elif event.kind == "described":
            problems = self._missing(event, event.body["class"])
            self._describe(event.body["class"], event.body)
        elif (edit := ClassEdit.of(event)) is not None:
            problems = self._missing(event, edit.before)
            problems += self._missing(event, edit.after) if edit.kind == "merged" and edit.after else []
            self._edit(edit)
        else:
            return []
        self.edition = event.number
        return problems

    def current(self, name: str, since: int = 0) -> str | None:
        """Return what the class that had this name after event ``since`` is called now; None if it was deleted.

        >>> listed = ClassList()
        >>> for event in (Event("begun", body={"classes": ["cat", "kitten"]}, number=1),
        ...               Event("merged", body={"class": "kitten", "into": "cat"}, number=2),
        ...               Event("renamed", body={"class": "cat", "to": "feline"}, number=3)):
        ...     problems = listed.apply(event)
        >>> listed.names, listed.current("kitten"), listed.current("cat", since=2)
        (['feline'], 'feline', 'feline')
        """
        found: str | None = name
        for edit in self.edits:
            if edit.event > since:
                found = edit.apply(found)
        return found

    def note(self, name: str) -> ClassNote:
        """Return key and guidance of a class, which may both be empty."""
        return self.notes.get(name, ClassNote())

    def like(self, name: str) -> str | None:
        """Return the class of this name, case and spaces apart; None if there is none."""
        exact = name if name in self.names else None
        return exact or next((one for one in self.names if plain_name(one) == plain_name(name)), None)

    def _missing(self, event: Event, name: str) -> list[str]:
        return [] if name in self.names else [f"event {event.number}: {name!r} is not a class"]

    def _add(self, name: str) -> None:
        if name not in self.names:
            self.names.append(name)
            self.order.append(name)

    def _describe(self, name: str, body: Mapping[str, str]) -> None:
        given = {key: body[key] for key in ("key", "guidance") if key in body}
        self.notes[name] = replace(self.note(name), **given)

    def _edit(self, edit: ClassEdit) -> None:
        self.edits.append(edit)
        note = self.notes.pop(edit.before, None)
        if edit.kind == "renamed" and edit.after is not None:
            self.names, self.order = _renamed(self.names, edit.apply), _renamed(self.order, edit.apply)
            if note is not None:
                self.notes[edit.after] = note
        else:
            self.names = [name for name in self.names if name != edit.before]
            self.order = [name for name in self.order if name != edit.before]


def _renamed(names: Iterable[str], apply: Callable[[str], str | None]) -> list[str]:
    return [apply(name) or name for name in names]


def reordered(names: list[str], wanted: Iterable[str]) -> list[str]:
    """Return the names in the wanted order; those that it does not list follow in their own.

    >>> reordered(["a", "b", "c"], ["c", "x", "a"])
    ['c', 'a', 'b']
    """
    first = [name for name in dict.fromkeys(wanted) if name in names]
    return first + [name for name in names if name not in first]


def plain_name(name: str) -> str:
    """Return a name without case and spaces: two classes that differ in nothing else are easily confused.

    >>> plain_name("Stop  sign") == plain_name("stop sign ")
    True
    """
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())
