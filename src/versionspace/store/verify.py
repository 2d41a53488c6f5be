"""Whether a folder is whole: the ledger replayed, every file it names there and unchanged, metrics recomputed."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from versionspace.config import read_text
from versionspace.errors import VersionspaceError
from versionspace.space import pairwise_disagreement
from versionspace.store.events import Event
from versionspace.store.folder import Folder, campaigns, read_arrays, sha256
from versionspace.store.ledger import Ledger
from versionspace.store.replay import ImageId, State, replay


def verify(path: Path | str) -> dict[Path, list[str]]:
    """What is wrong with each campaign of a folder; empty lists where nothing is."""
    return {folder.path: _problems(folder) for folder in campaigns(path)}


def _problems(folder: Folder) -> list[str]:
    try:
        config = read_text(folder.config.read_text(encoding="utf-8"), str(folder.config))
        if not folder.ledger.exists():
            return []  # killed before its first event: nothing to lose yet
        with Ledger.view(folder.ledger) as ledger:
            found = ledger.damage()
            events = ledger.events()
        state = replay(events)
    except (VersionspaceError, OSError, UnicodeDecodeError, KeyError, TypeError) as error:
        return [f"{type(error).__name__}: {error}"]
    found += state.problems
    if state.begun is None:
        return found
    if state.begun.get("method") != config.query.method or state.begun.get("seed") != config.seed:
        found.append("campaign.toml is of another method or seed than the ledger")
    person = config.oracle.kind == "person"  # who may answer late, and correct what she skipped or labelled
    if not person:
        found += _overdrawn(events, config.budget.total)
    if state.split is not None:
        found += _file(folder.split, state.split["sha256"])
    ends = {min(state.measured, default=0), max(state.measured, default=0)}
    for round_, event in state.measured.items():
        found += _round(folder, round_, event, weights=config.keep == "all" or round_ in ends)
    return found + _order(state, fewer=person or _taken_back(events))


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
    named: set[ImageId] = set()
    for event in events:
        if event.kind == "answered":
            if event.body["class"] is not None:
                named.add(event.body["id"])
            elif event.body["id"] in named:
                return True
    return False


def _round(folder: Folder, round_: int, event: Event, *, weights: bool) -> list[str]:
    body = event.body
    path = folder.votes(round_)
    found = _file(path, body["votes_sha256"])
    if not found and "test" in body["sets"]:
        votes = read_arrays(path)["test"]
        if pairwise_disagreement(votes) != body["sets"]["test"]["pwd"]:
            found.append(f"round {round_}: the diameter in the ledger is not that of the votes")
    for name, wanted in body.get("weights_sha256", {}).items() if weights else ():
        found += _file(folder.weights(round_) / name, wanted)
    return found


def _order(state: State, *, fewer: bool) -> list[str]:
    """Rounds follow each other, and labels only ever grow, unless people take some back."""
    found = []
    rounds = sorted(state.metrics)
    if rounds and rounds != list(range(rounds[0], rounds[0] + len(rounds))):
        found.append(f"rounds are missing: {rounds}")
    for before, after in itertools.pairwise(rounds):
        if not fewer and state.metrics[after]["labels"] < state.metrics[before]["labels"]:
            found.append(f"round {after} was trained on fewer labels than round {before}")
    return found


def _file(path: Path, wanted: str) -> list[str]:
    if not path.is_file():
        return [f"{path.name} is missing in {path.parent.name}"]
    return [] if sha256(path) == wanted else [f"{path.parent.name}/{path.name} is not what was written"]
