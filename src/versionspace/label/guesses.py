"""Taking in a round: what of it still fits the labels given meanwhile, and its guesses kept for the next start."""

import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from versionspace.label.messages import Guesses
from versionspace.store import CampaignFolder, Event, State, StoreError, read_arrays, write_arrays
from versionspace.types import ImageId

_GUESSES = ".guesses.npz"
_NOT_YET = ("budget", "the pool is exhausted")
"""Reasons to end that hold only once nothing is awaited any more."""


def fitting(events: Sequence[Event], state: State, *, room: int, over: bool) -> list[Event]:
    """The events to commit for a round that was computed on older labels.

    The asks before it are closed; its own is cut to what has no answer yet and to the ``room`` in the budget; an end
    for want of budget or images is left out unless all is ``over``.
    """
    kept: list[Event] = []
    if any(state.is_unfinished(ask) for ask in state.asks if ask.purpose != "audit"):
        kept.append(Event("closed", state.round))
    for found in events:
        event = _free(found, state.labels, room) if found.kind == "proposed" else found
        empty = event.kind == "proposed" and not event.body["ids"]
        too_early = event.kind == "ended" and not over and event.body["why"] in _NOT_YET
        if not empty and not too_early:
            kept.append(event)
    return kept


def _free(event: Event, labels: Mapping[ImageId, Any], room: int) -> Event:
    body = event.body
    both = [(i, u) for i, u in zip(body["ids"], body["utilities"], strict=True) if i not in labels][: max(0, room)]
    return Event("proposed", event.round, {**body, "ids": [i for i, _ in both], "utilities": [u for _, u in both]})


def keep(folder: CampaignFolder, guesses: Guesses) -> None:
    """Writes a round's guesses, so that a grid is there at once after a restart."""
    names = {"round": np.array(guesses.round), "classes": np.array(guesses.classes)}
    write_arrays(folder.path / _GUESSES, names | {"majority": guesses.majority, "agreement": guesses.agreement})


def restored(folder: CampaignFolder, pool: Sequence[ImageId]) -> Guesses | None:
    """What was kept; None where there is nothing, or not of this pool."""
    try:
        found = read_arrays(folder.path / _GUESSES)
        classes = found["classes"].tolist()
        return Guesses.of(int(found["round"]), classes, found["majority"], found["agreement"], pool)
    except (StoreError, KeyError, ValueError, zipfile.BadZipFile):
        return None
