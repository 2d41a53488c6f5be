"""Whether a folder is whole: the ledger replayed, every file it names there and unchanged, metrics recomputed.

A campaign in use may go on meanwhile: a round that is committed lets the weights of the one before it go. What seems
wrong is therefore looked at again with the newest ledger, and only what is wrong by that counts.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from versionspace.config import Config, Policy
from versionspace.errors import VersionspaceError
from versionspace.files import sha256
from versionspace.space import pairwise_disagreement
from versionspace.store.errors import MALFORMED
from versionspace.store.layout import Folder, campaigns, named, read_arrays, read_config
from versionspace.store.ledger import Event, Ledger
from versionspace.store.state import State, replay
from versionspace.types import ImageId

_LOOKS = 5
"""Times at most that a campaign in use is looked at."""


@dataclass(frozen=True)
class _Look:
    """What is wrong, by a ledger up to its event of this number."""

    problems: list[str]
    last: int = 0


def verify(path: Path | str) -> dict[Path, list[str]]:
    """What is wrong with each campaign of a folder; empty lists where nothing is."""
    return {folder.path: _problems(folder) for folder in campaigns(path)}


def _problems(folder: Folder) -> list[str]:
    found = _looked(folder)
    for _ in range(_LOOKS - 1):
        if not found.problems:
            break
        before, found = found, _looked(folder)
        if found.last == before.last:
            break
    return found.problems


def _looked(folder: Folder) -> _Look:
    found: list[str] = []
    last = 0
    try:
        config = read_config(folder.config)
        if not folder.ledger.exists():
            # Without any file it was killed before its first event: there was nothing to lose yet.
            return _Look(["ledger.sqlite is missing"] if folder.lost() else [])
        with Ledger.view(folder.ledger) as ledger:
            found += ledger.damage()
            events = ledger.events()
        state = replay(events, ledger=folder.ledger)
        last = state.last
        found += state.problems
        found += _unlike(folder, config, events, state)
    except (VersionspaceError, OSError, *MALFORMED) as error:
        found.append(f"{type(error).__name__}: {error}")  # and the other campaigns of a grid are looked at all the same
    return _Look(found, last)


def _unlike(folder: Folder, config: Config, events: Sequence[Event], state: State) -> list[str]:
    """What is other than the ledger says."""
    if state.begun is None:
        return []
    found = []
    if state.begun.get("method") != config.query.method or state.begun.get("seed") != config.seed:
        found.append("campaign.toml is of another method or seed than the ledger")
    reproducible = Policy.of(config).reproducible  # else people may answer late and correct their labels
    if reproducible:
        found += _overdrawn(events, config.budget.total)
    wrong = {path: problem for path, sha in named(folder, config, state).items() if (problem := _file(path, sha))}
    found += wrong.values()
    for round_ in state.measured:
        if folder.votes(round_) not in wrong:
            found += _diameter(folder, state, round_)
    return found + _order(state, fewer=not reproducible or _taken_back(events))


def _overdrawn(events: Sequence[Event], total: int) -> list[str]:
    """Proposals that ask for more than the budget has left. Answers that come late may exceed it."""
    found, state = [], State()
    for event in events:
        replay([event], state)
        if event.kind == "proposed":
            waiting = sum(len(state.unanswered(ask)) for ask in state.asks if not ask.closed)
            budget = state.budget(total)
            if state.spent() + waiting > budget:
                found.append(f"event {event.number}: asks for label {state.spent() + waiting} of a budget of {budget}")
    return found


def _taken_back(events: Sequence[Event]) -> bool:
    """Whether an image that had a label was skipped afterwards."""
    had: set[ImageId] = set()
    for event in events:
        if event.kind == "answered":
            if event.body["class"] is not None:
                had.add(event.body["id"])
            elif event.body["id"] in had:
                return True
    return False


def _diameter(folder: Folder, state: State, round_: int) -> list[str]:
    sets = state.metrics[round_].sets
    if "test" not in sets or pairwise_disagreement(read_arrays(folder.votes(round_))["test"]) == sets["test"].pwd:
        return []
    return [f"round {round_}: the diameter in the ledger is not that of the votes"]


def _order(state: State, *, fewer: bool) -> list[str]:
    """Rounds follow each other, and labels only ever grow, unless people take some back."""
    found = []
    rounds = sorted(state.metrics)
    if rounds and rounds != list(range(rounds[0], rounds[0] + len(rounds))):
        found.append(f"rounds are missing: {rounds}")
    for before, after in itertools.pairwise(rounds):
        if not fewer and state.metrics[after].labels < state.metrics[before].labels:
            found.append(f"round {after} was trained on fewer labels than round {before}")
    return found


def _file(path: Path, wanted: str) -> str:
    try:
        found = sha256(path) if path.is_file() else None
    except FileNotFoundError:  # gone since it was looked for
        found = None
    if found is None:
        return f"{path.name} is missing in {path.parent.name}"
    return "" if found == wanted else f"{path.parent.name}/{path.name} is not what was written"
