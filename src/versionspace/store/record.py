"""A campaign as status, report and export read it: frozen, and independent of the dataset."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from versionspace.config import Config
from versionspace.store.atomic import read_arrays
from versionspace.store.layout import CampaignFolder, read_stored_config, unpack_names
from versionspace.store.ledger import Ledger
from versionspace.store.metrics import RoundMetrics
from versionspace.store.state import State, replay
from versionspace.types import Array, ImageId


@dataclass(frozen=True)
class Round:
    """An ensemble and what it asked for. Round 0 has no ensemble: it asks for the audit and the first labels."""

    number: int
    labels: int
    """Number of labels that the ensemble was trained on; 0 in round 0."""
    metrics: RoundMetrics | None
    """None if the round has no ensemble."""
    asked: tuple[ImageId, ...]
    """Best first, without the audit."""
    utilities: tuple[float, ...]
    purpose: str
    """See `versionspace.store.events.Proposed`; empty if nothing was asked."""
    answers: Mapping[ImageId, str | None]
    """Class names, or None for skipped images. Images without an answer in this round are not among them."""
    seconds: Mapping[str, float]
    """By stage: "fit", "predict", "measure", "query"."""


@dataclass(frozen=True)
class Record:
    """Everything that a campaign's folder says about it."""

    folder: CampaignFolder
    config: Config
    classes: tuple[str, ...]
    rounds: tuple[Round, ...]
    audit: Mapping[ImageId, str | None]
    """Answers for the images of the audit."""
    ended: str
    """Why the campaign ended; empty while it continues."""
    spent: int
    """Number of labels given, including the audit."""
    state: State

    @property
    def method(self) -> str:
        """The query method."""
        return self.config.query.method

    @property
    def seed(self) -> int:
        """The random seed."""
        return self.config.seed

    @property
    def budget(self) -> int:
        """The number of labels that may be given, as last set."""
        return self.state.budget(self.config.budget.total)

    def measured_rounds(self) -> tuple[Round, ...]:
        """Return the rounds that have an ensemble."""
        return tuple(r for r in self.rounds if r.metrics is not None)

    def split(self) -> dict[str, Array]:
        """Return the ids of pool, validation, test, initial, reference and audit; if known, also the classes of the
        test images and the names of files."""
        return read_arrays(self.folder.split)

    def file_names(self) -> dict[ImageId, str]:
        """Return the file of each image when the campaign began; empty for a published dataset."""
        return unpack_names(self.split()) if self.state.split is not None else {}

    def votes(self, round_: int) -> Array | None:
        """Return the votes (M, T) of a round's members on the test images; None if there is no test set, or if some of
        its images were missing in that round."""
        votes = read_arrays(self.folder.votes(round_)).get("test")
        return votes if votes is None or votes.shape[1] == len(self.split()["test"]) else None

    def truth(self) -> Array | None:
        """Return the classes (T,) of the test images; None if they are unknown."""
        return self.split().get("test_truth")


def read_campaign(path: Path | str | CampaignFolder) -> Record:
    """Read one campaign. Its folder may be read-only, a copy, or in use. Raises StoreError if it cannot be read."""
    folder = path if isinstance(path, CampaignFolder) else CampaignFolder(Path(path))
    with Ledger.view(folder.ledger) as ledger:
        events = ledger.events()
    config = read_stored_config(folder.config)
    state = replay(events, ledger=folder.ledger)
    return Record(
        folder=folder,
        config=config,
        classes=tuple(state.classes),
        rounds=tuple(_round(state, number) for number in _round_numbers(state)),
        audit=_answers(state, [i for ask in state.asks if ask.purpose == "audit" for i in ask.ids]),
        ended=state.ended,
        spent=state.spent(),
        state=state,
    )


def _round_numbers(state: State) -> list[int]:
    return sorted({ask.round for ask in state.asks} | set(state.metrics))


def _round(state: State, number: int) -> Round:
    asks = [ask for ask in state.asks if ask.round == number and ask.purpose != "audit"]
    asked = tuple(i for ask in asks for i in ask.ids)
    metrics = state.metrics.get(number)
    event = state.measured_events.get(number)
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


def _answers(state: State, ids: Iterable[ImageId]) -> dict[ImageId, str | None]:
    return {i: state.labels[i].name for i in ids if i in state.labels}
