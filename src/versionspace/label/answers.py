"""What is stored with an answer: the class under its present name, what the person saw, and undo."""

from dataclasses import dataclass
from typing import Any

from versionspace.errors import InputError
from versionspace.label.history import WITHDRAWN, History
from versionspace.label.messages import REASONS, Answer, Guess
from versionspace.store import UNDONE, ClassList


@dataclass(frozen=True)
class StoredAnswer:
    """The class and the details of an "answered" event."""

    name: str | None
    details: dict[str, Any]


def label_to_store(answer: Answer, guess: Guess | None, history: History, classes: ClassList) -> StoredAnswer:
    """Return what to store for an answer that is not an undo. ``guess``: the model's, which the person did not see.

    A class that was renamed or merged since the tab read the list is stored under its present name. If it was deleted
    meanwhile, the answer is stored as withdrawn, and the image is asked again. Raises InputError for a guess that is
    missing or of no class.
    """
    details: dict[str, Any] = {"seconds": round(answer.seconds, 2)}
    seen = guess if answer.guess_timing == "hidden" else _seen_guess(answer, classes)
    if seen is not None:
        details["guess"] = {"class": seen.name, "agreement": seen.agreement, "shown": answer.guess_timing}
    if answer.grid:
        details["grid"] = answer.grid
    if answer.review:
        details["review"] = True
    if answer.second_look or history.is_doubtful(answer.image):
        details["again"] = True
    if answer.kind in REASONS:
        return StoredAnswer(None, details | {"reason": REASONS[answer.kind]})
    given = answer.name or ""
    name = _present_name(given, answer.edition, classes)
    if name is None:
        return StoredAnswer(None, details | {"reason": UNDONE, WITHDRAWN: given})
    return StoredAnswer(name, details)


def undo_to_store(answer: Answer, history: History) -> StoredAnswer:
    """Return what to store for an undo. Raises InputError if it names no answer to this image."""
    undone = history.by_uid.get(answer.undoes)
    if undone is None or undone.image != answer.image:
        raise InputError(
            "undo", expected="an earlier answer to this image", got=answer.undoes or "none", fix="Keep labelling."
        )
    current = history.current.get(answer.image)
    after = history.previous(answer.undoes) if current is undone else current
    reason = {"reason": UNDONE} if after is None else {"reason": after.reason} if after.name is None else {}
    return StoredAnswer(after.name if after else None, {"undoes": answer.undoes, **reason})


def _present_name(name: str, edition: int | None, classes: ClassList) -> str | None:
    """Return what a class is called now that a tab knew by this name; None if it was deleted."""
    now = name if edition is None else classes.current(name, edition)
    # Grids and guesses on the screen may be older than the list of classes.
    return now if now is None or now in classes.names else classes.current(name)


def _seen_guess(answer: Answer, classes: ClassList) -> Guess:
    """Return the guess that the person saw; a newer model may guess otherwise by now."""
    if answer.guess is None:
        raise InputError("guess", expected="one of the classes", got="none", fix="Reload the page.")
    name = answer.guess.name
    now = _present_name(name, answer.edition, classes)
    if now is not None and now not in classes.names:
        raise InputError("guess", expected="one of the classes", got=repr(name), fix="Reload the page.")
    return Guess(now or name, answer.guess.agreement)
