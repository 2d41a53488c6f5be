"""Changes to the classes of a campaign: added, renamed, merged, deleted, ordered, described. Each is one event."""

from collections.abc import Sequence
from typing import Any

from versionspace.errors import InputError
from versionspace.store import Event, State, reordered

LEAST_CLASSES = 2
"""A model needs so many classes to tell apart."""
MAX_GUIDANCE = 200
"""Characters of the line that says what belongs to a class."""


class ClassEdits:
    """The methods of `versionspace.Campaign` that change its classes.

    Labels keep their class through every change, and the ledger keeps every answer as it was given. A model that was
    trained before a merger or a deletion is out of date: it is not exported, and the next round replaces it.
    """

    state: State

    def commit(self, events: Sequence[Event]) -> None:
        """Append events to the ledger."""
        raise NotImplementedError

    def add_class(self, name: str) -> None:
        """Add a class that was not among the first ones; it counts from the next round on.

        A class that exists already is left as it is. Raises InputError if one exists that differs only in case or
        spaces.
        """
        self._check_name(name)
        if name not in self.state.classes:
            self._reject_existing(name)
            self._edit("class", name=name)

    def rename_class(self, name: str, to: str, *, who: str = "") -> None:
        """Give a class another name; its labels and models have that name from now on.

        Raises InputError if there is no such class, or if another one has that name, case and spaces apart.
        """
        self._require_class(name)
        self._check_name(to)
        if to != name:
            self._reject_existing(to, except_for=name)
            self._edit("renamed", who, **{"class": name, "to": to})

    def merge_classes(self, name: str, into: str, *, who: str = "") -> None:
        """Count all labels of one class as labels of another, and drop the first. It cannot be taken back.

        Raises InputError if one of them is unknown, if both are the same, or if fewer than two classes would be left.
        """
        self._require_class(name)
        self._require_class(into)
        if name == into:
            raise InputError("class", expected="two different classes", got=f"{name!r} twice", fix="Choose another.")
        self._require_more_classes(name)
        self._edit("merged", who, **{"class": name, "into": into})

    def delete_class(self, name: str, *, who: str = "") -> None:
        """Drop a class and its labels: their images count as unanswered, and the page asks for them again.

        Raises InputError if there is no such class, or if fewer than two would be left.
        """
        self._require_class(name)
        self._require_more_classes(name)
        self._edit("deleted", who, **{"class": name})

    def order_classes(self, names: Sequence[str], *, who: str = "") -> None:
        """Change the order in which the page shows the classes; those that are not listed follow in their own order.

        Numbers of classes and outputs of models do not change.
        """
        order = reordered(self.state.class_list.order, names)
        if order != self.state.class_list.order:
            self._edit("ordered", who, classes=order)

    def describe_class(
        self, name: str, *, key: str | None = None, guidance: str | None = None, who: str = ""
    ) -> None:  # fmt: skip
        """Change the key that chooses a class on the page, or its line of guidance; None leaves one as it is.

        An empty key stands for the default. Raises InputError if there is no such class, if the key is not one letter
        or digit or is that of another class, or if the guidance has more than one line or is too long.
        """
        self._require_class(name)
        listed, changes = self.state.class_list, dict[str, str]()
        note = listed.note(name)
        if key is not None and (key := key.lower()) != note.key:
            if key and (len(key) != 1 or not key.isalnum()):
                raise InputError("key", expected="one letter or digit, or none", got=repr(key), fix="Choose another.")
            taken = next((one for one in listed.names if key and listed.note(one).key == key), None)
            if taken is not None:
                raise InputError("key", expected="a key that is free", got=f"{key}, the key of “{taken}”",
                                 fix="Choose another, or change that one first.")  # fmt: skip
            changes["key"] = key
        if guidance is not None and (guidance := guidance.strip()) != note.guidance:
            if len(guidance) > MAX_GUIDANCE or not guidance.isprintable():
                raise InputError(
                    "guidance", expected=f"a line of at most {MAX_GUIDANCE} characters",
                    got=f"{len(guidance)} characters" if guidance.isprintable() else "several lines",
                    fix="Shorten it.",
                )  # fmt: skip
            changes["guidance"] = guidance
        if changes:
            self._edit("described", who, **{"class": name}, **changes)

    def _edit(self, kind: str, who: str = "", **body: Any) -> None:
        self.commit([Event(kind, self.state.round, body, who=who)])

    def _check_name(self, name: str) -> None:
        if not name.strip():
            raise InputError("class", expected="a name", got=repr(name), fix="Pass one that is not empty.")

    def _require_class(self, name: str) -> None:
        if name not in self.state.classes:
            listed = self.state.class_list
            now = next((one for edit in listed.edits if edit.before == name and (one := listed.current(name))), None)
            raise InputError(
                "class", expected="one of the classes", got=f"“{name}”" + (f", now “{now}”" if now else ""),
                fix="It may have been renamed, merged or deleted meanwhile. Look at the list again.",
            )  # fmt: skip

    def _require_more_classes(self, name: str) -> None:
        if len(self.state.classes) <= LEAST_CLASSES:
            raise InputError(
                "class", expected=f"at least {LEAST_CLASSES} classes that remain",
                got=f"{len(self.state.classes) - 1} without “{name}”", fix="Add another class first.",
            )  # fmt: skip

    def _reject_existing(self, name: str, except_for: str | None = None) -> None:
        listed = self.state.class_list
        found = listed.like(name)
        if found is not None and found != except_for:
            raise InputError(
                "class", expected="a new name", got=f"“{name}”, which exists already as “{found}”"
                if found != name else f"“{name}”, which exists already",
                fix="Use that class. Two classes that mean the same can be merged.",
            )  # fmt: skip
