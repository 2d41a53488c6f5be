"""Verification of a campaign's folder: replay the ledger, check every file that it lists, recompute the diameters.

A campaign in use may commit a round meanwhile, which deletes the weights of the round before it. Therefore a folder
with problems is checked again while its ledger grows, and only the problems of the last check are reported.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from versionspace.config import Config, Policy
from versionspace.errors import VersionspaceError
from versionspace.files import sha256
from versionspace.space import pairwise_disagreement
from versionspace.store.atomic import read_arrays
from versionspace.store.errors import MALFORMED
from versionspace.store.events import Answered, Event
from versionspace.store.layout import CampaignFolder, campaigns, read_stored_config, required_files
from versionspace.store.ledger import Ledger
from versionspace.store.state import State, replay
from versionspace.types import ImageId

_MAX_CHECKS = 5
"""How often a campaign in use is checked at most."""


@dataclass(frozen=True)
class _Check:
    """The problems found with a ledger up to its event of this number."""

    problems: list[str]
    last_event: int = 0


def verify(path: Path | str) -> dict[Path, list[str]]:
    """Return the problems of each campaign in a folder; an empty list if a campaign has none."""
    return {folder.path: _problems(folder) for folder in campaigns(path)}


def _problems(folder: CampaignFolder) -> list[str]:
    check = _check(folder)
    for _ in range(_MAX_CHECKS - 1):
        if not check.problems:
            break
        before, check = check, _check(folder)
        if check.last_event == before.last_event:
            break
    return check.problems


def _check(folder: CampaignFolder) -> _Check:
    problems: list[str] = []
    last_event = 0
    try:
        config = read_stored_config(folder.config)
        if not folder.ledger.exists():
            # Without any results either, the process was killed before its first event, and nothing was lost.
            return _Check(["ledger.sqlite is missing"] if folder.lost_ledger() else [])
        with Ledger.view(folder.ledger) as ledger:
            problems += ledger.damage()
            events = ledger.events()
        state = replay(events, ledger=folder.ledger)
        last_event = state.last_event
        problems += state.problems
        problems += _contradictions(folder, config, events, state)
    except (VersionspaceError, OSError, *MALFORMED) as error:
        problems.append(f"{type(error).__name__}: {error}")  # do not stop: a grid has other campaigns to check
    return _Check(problems, last_event)


def _contradictions(folder: CampaignFolder, config: Config, events: Sequence[Event], state: State) -> list[str]:
    """Return what contradicts the ledger: in the config, in the files, and in the ledger itself."""
    if state.begun is None:
        return []
    problems = []
    if state.begun.get("method") != config.query.method or state.begun.get("seed") != config.seed:
        problems.append("campaign.toml has another method or seed than the ledger")
    reproducible = Policy.of(config).reproducible  # otherwise a person may answer late, and correct earlier answers
    if reproducible:
        problems += _over_budget(events, config.budget.total)
    required = required_files(folder, config, state)
    wrong = {path: problem for path, expected in required.items() if (problem := _file_problem(path, expected))}
    problems += wrong.values()
    for round_ in state.metrics:
        if folder.votes(round_) not in wrong:
            problems += _wrong_diameter(folder, state, round_)
    return problems + _wrong_order(state, may_shrink=not reproducible or _withdrawn_label(events))


def _over_budget(events: Sequence[Event], total: int) -> list[str]:
    """Return the proposals that ask for more labels than the budget has left. Late answers may exceed the budget."""
    problems, state = [], State()
    for event in events:
        replay([event], state)
        if event.kind == "proposed":
            waiting = sum(len(state.unanswered(ask)) for ask in state.asks if not ask.closed)
            needed, budget = state.spent() + waiting, state.budget(total)
            if needed > budget:
                problems.append(f"event {event.number}: asks for label {needed} of a budget of {budget}")
    return problems


def _withdrawn_label(events: Sequence[Event]) -> bool:
    """Return whether an image was skipped after it had a label."""
    labelled: set[ImageId] = set()
    for event in events:
        if event.kind == "answered":
            answer = Answered.from_body(event.body)
            if answer.name is not None:
                labelled.add(answer.id)
            elif answer.id in labelled:
                return True
    return False


def _wrong_diameter(folder: CampaignFolder, state: State, round_: int) -> list[str]:
    sets = state.metrics[round_].sets
    if "test" not in sets or pairwise_disagreement(read_arrays(folder.votes(round_))["test"]) == sets["test"].pwd:
        return []
    return [f"round {round_}: the diameter in the ledger is not that of the votes"]


def _wrong_order(state: State, *, may_shrink: bool) -> list[str]:
    """Return rounds that are missing, and unless labels were withdrawn, rounds trained on fewer labels than before."""
    problems = []
    rounds = sorted(state.metrics)
    if rounds and rounds != list(range(rounds[0], rounds[0] + len(rounds))):
        problems.append(f"rounds are missing: {rounds}")
    for before, after in itertools.pairwise(rounds):
        if not may_shrink and state.metrics[after].labels < state.metrics[before].labels:
            problems.append(f"round {after} was trained on fewer labels than round {before}")
    return problems


def _file_problem(path: Path, expected: str) -> str:
    try:
        actual = sha256(path) if path.is_file() else None
    except FileNotFoundError:  # deleted since
        actual = None
    if actual is None:
        return f"{path.name} is missing in {path.parent.name}"
    return "" if actual == expected else f"{path.parent.name}/{path.name} differs from what was written"
