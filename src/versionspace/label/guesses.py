"""A finished round: what of it still applies to the labels given meanwhile, and its guesses kept on disk."""

import zipfile
from collections.abc import Container, Sequence
from dataclasses import replace

import numpy as np

from versionspace.campaign import EXHAUSTED, SPENT, IdIndex
from versionspace.label.messages import Guesses
from versionspace.store import CampaignFolder, ClassList, Event, State, StoreError, read_arrays, write_arrays
from versionspace.types import ImageId

_FILE = ".guesses.npz"


def reconcile_round(events: Sequence[Event], state: State, *, room: int, is_last: bool, since: int = 0) -> list[Event]:
    """Return the events to commit for a round that was computed on older labels.

    Open asks are closed first. The round's own ask keeps at most ``room`` images that have no answer yet, and is
    dropped if none is left. An end because the budget is spent or the pool exhausted is dropped unless ``is_last``:
    answers may still be awaited. Classes that were renamed meanwhile are counted under their present names.
    """
    kept: list[Event] = []
    if any(state.is_unfinished(ask) for ask in state.asks if ask.purpose != "audit"):
        kept.append(Event("closed", state.round))
    for event in events:
        if event.kind == "proposed":
            ask = _unanswered_part(event, state.labels, room)
            kept += [ask] if ask.body["ids"] else []
        elif event.kind == "measured" and state.class_list.edits:
            counts = {state.class_list.current(name, since): n for name, n in event.body["classes"].items()}
            kept.append(replace(event, body={**event.body, "classes": counts}))
        elif event.kind != "ended" or is_last or event.body["why"] not in (SPENT, EXHAUSTED):
            kept.append(event)
    return kept


def _unanswered_part(event: Event, answered: Container[ImageId], room: int) -> Event:
    pairs = zip(event.body["ids"], event.body["utilities"], strict=True)
    kept = [(image, utility) for image, utility in pairs if image not in answered][: max(0, room)]
    ids, utilities = [image for image, _ in kept], [utility for _, utility in kept]
    return Event("proposed", event.round, {**event.body, "ids": ids, "utilities": utilities})


def save_guesses(folder: CampaignFolder, guesses: Guesses, event: int) -> None:
    """Write a round's guesses, so that grids are available at once after a restart.

    ``event``: number of the last event; classes may be renamed, merged or deleted after it.
    """
    names = {"round": np.array(guesses.round), "classes": np.array(guesses.classes), "event": np.array(event)}
    write_arrays(folder.path / _FILE, names | {"majority": guesses.majority, "agreement": guesses.agreement})


def load_guesses(folder: CampaignFolder, pool: IdIndex, listed: ClassList) -> Guesses | None:
    """Return the saved guesses; None if there are none, or if they do not fit this pool."""
    try:
        arrays = read_arrays(folder.path / _FILE)
        classes = [listed.current(name, int(arrays["event"])) for name in arrays["classes"].tolist()]
        return Guesses.of(int(arrays["round"]), classes, arrays["majority"], arrays["agreement"], pool)
    except (StoreError, KeyError, ValueError, zipfile.BadZipFile):
        return None
