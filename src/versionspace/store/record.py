"""A campaign as it is read by status, report and export: frozen, and complete without the dataset."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from versionspace.config import Config
from versionspace.store.layout import Folder, names_in, read_arrays, read_config
from versionspace.store.ledger import Ledger
from versionspace.store.metrics import RoundMetrics
from versionspace.store.state import State, replay
from versionspace.types import Array, ImageId


@dataclass(frozen=True)
class Round:
    """An ensemble and what it asked. Round 0 has no ensemble: its asks are the audit and the first labels."""

    number: int
    labels: int
    """That the ensemble was trained on; 0 in round 0."""
    metrics: RoundMetrics | None
    """See docs/campaigns.md, "Metrics"; None where there is no ensemble."""
    asked: tuple[ImageId, ...]
    """Best first; the audit's are left out."""
    utilities: tuple[float, ...]
    purpose: str
    answers: Mapping[ImageId, str | None]
    """Names of classes; None: skipped. Images that nobody answered, or only when they were asked again, are missing."""
    seconds: Mapping[str, float]
    """By stage: "fit", "predict", "measure", "query"."""


@dataclass(frozen=True)
class Record:
    """All of a campaign."""

    folder: Folder
    config: Config
    classes: tuple[str, ...]
    rounds: tuple[Round, ...]
    audit: Mapping[ImageId, str | None]
    """Answers to the audit."""
    ended: str
    """Why; empty while it goes on."""
    spent: int
    """Labels given, the audit's included."""
    state: State

    @property
    def method(self) -> str:
        """Its query method."""
        return self.config.query.method

    @property
    def seed(self) -> int:
        """Its seed."""
        return self.config.seed

    @property
    def budget(self) -> int:
        """Labels that may be given, as it was last decided."""
        return self.state.budget(self.config.budget.total)

    def measured(self) -> tuple[Round, ...]:
        """Rounds that have an ensemble."""
        return tuple(r for r in self.rounds if r.metrics is not None)

    def split(self) -> dict[str, Array]:
        """Ids of pool, validation, test, initial, reference, audit; truth of test and names of files where known."""
        return read_arrays(self.folder.split)

    def files(self) -> dict[ImageId, str]:
        """Where each image of a folder lay when the campaign began; empty for a published dataset."""
        return names_in(self.split()) if self.state.split is not None else {}

    def votes(self, round_: int) -> Array | None:
        """(M, T): what the members of a round said of the test images; None without a test set, or where not all of
        it was there."""
        found = read_arrays(self.folder.votes(round_)).get("test")
        return found if found is None or found.shape[1] == len(self.split()["test"]) else None

    def truth(self) -> Array | None:
        """(T,): the classes of the test images; None where they are not known."""
        return self.split().get("test_truth")


def read(path: Path | str | Folder) -> Record:
    """Reads one campaign; its folder may be read-only, a copy, or in use."""
    folder = path if isinstance(path, Folder) else Folder(Path(path))
    with Ledger.view(folder.ledger) as ledger:
        events = ledger.events()
    config = read_config(folder.config)
    state = replay(events, ledger=folder.ledger)
    return Record(
        folder=folder,
        config=config,
        classes=tuple(state.classes),
        rounds=tuple(_round(state, number) for number in _numbers(state)),
        audit=_answers(state, [i for ask in state.asks if ask.purpose == "audit" for i in ask.ids]),
        ended=state.ended,
        spent=state.spent(),
        state=state,
    )


def _numbers(state: State) -> list[int]:
    return sorted({ask.round for ask in state.asks} | set(state.metrics))


def _round(state: State, number: int) -> Round:
    asks = [ask for ask in state.asks if ask.round == number and ask.purpose != "audit"]
    asked = tuple(i for ask in asks for i in ask.ids)
    metrics = state.metrics.get(number)
    event = state.measured.get(number)
    return Round(
        number=number,
        labels=metrics.labels if metrics else 0,
        metrics=metrics,
        asked=asked,
        utilities=tuple(u for ask in asks for u in ask.utilities),
        purpose=asks[0].purpose if asks else "",
        answers={i: name for i, name in _answers(state, asked).items() if state.labels[i].round == number},
        seconds=event.environment.get("seconds", {}) if event else {},
    )


def _answers(state: State, ids: "list[ImageId] | tuple[ImageId, ...]") -> dict[ImageId, str | None]:
    return {i: state.labels[i].name for i in ids if i in state.labels}


def as_ids(array: Array) -> tuple[ImageId, ...]:
    """Ids as Python's own numbers or strings, as the ledger keeps them."""
    return tuple(np.asarray(array).tolist())
