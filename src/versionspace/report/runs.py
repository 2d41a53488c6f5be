"""Campaigns as numbers over labels: one `Run` each, read once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.errors import VersionspaceError
from versionspace.report.errors import ReportError
from versionspace.store import CampaignFolder, Record, Round, StoreError, campaigns, read_campaign
from versionspace.types import Floats, Ints


@dataclass(frozen=True)
class Run:
    """A campaign that has at least one ensemble."""

    record: Record
    rounds: tuple[Round, ...]
    """With an ensemble, by rising number of labels up to the last: a curve has one value at each. See `rising`."""

    @property
    def method(self) -> str:
        """Its query method."""
        return self.record.method

    @property
    def seed(self) -> int:
        """Its seed."""
        return self.record.seed

    @property
    def name(self) -> str:
        """``gvd/0``."""
        return f"{self.method}/{self.seed}"

    @property
    def finished(self) -> bool:
        """Whether it ended; else it is under way, or was left."""
        return bool(self.record.ended)

    @property
    def labels(self) -> Ints:
        """(R,): rising."""
        return np.array([r.labels for r in self.rounds], np.int64)

    @property
    def whole(self) -> "Run":
        """With every round that has an ensemble, as they came: numbers of labels may repeat, or fall."""
        return replace(self, rounds=self.record.measured_rounds())

    def series(self, where: str, what: str) -> Floats:
        """(R,): a metric on one of the sets "test", "pool", "validation", "reference"; NaN where not measured."""
        return np.array([_number(_metric(r, where, what)) for r in self.rounds], np.float64)

    def overall(self, *path: str) -> Floats:
        """(R,): a metric that belongs to no set, such as "diameter", or "audit" and "low"."""
        return np.array([_number(_inner(r.metrics, path)) for r in self.rounds], np.float64)


@dataclass(frozen=True)
class Found:
    """What was read, and sentences on what was not."""

    runs: tuple[Run, ...]
    notes: tuple[str, ...]


def find(dirs: Sequence[Path | str]) -> Found:
    """All campaigns in these folders, each once. One that cannot be read is left out with a sentence.

    An error if nothing is left: the first thing that went wrong, where something did.
    """
    folders: dict[Path, CampaignFolder] = {}
    for path in dirs:
        folders |= {folder.path.resolve(): folder for folder in campaigns(path)}
    runs, notes, errors = [], [], []
    for folder in folders.values():
        try:
            record = read_campaign(folder)
        except (StoreError, VersionspaceError) as error:
            errors.append(error)
            notes.append(f"{_short(folder)} was left out. {error}")
            continue
        rounds = rising(record.measured_rounds())
        if rounds:
            runs.append(Run(record, rounds))
        else:
            notes.append(f"{_short(folder)} was left out: it has no ensemble yet.")
    if not runs:
        if errors:
            raise errors[0]
        raise ReportError(
            ", ".join(str(path) for path in dirs) or "folders",
            expected="campaigns with at least one round",
            got=f"{len(folders)} without",
            fix="Wait for the first round, or pass the folder that `versionspace run` made.",
        )
    return Found(tuple(runs), tuple(notes))


def rising(rounds: Sequence[Round]) -> tuple[Round, ...]:
    """Those with fewer labels than every later one, so that the last round is the end.

    Of rounds with the same number of labels, as after one in which all images were skipped, the last stays; where
    labels were taken back, ensembles that still had them go.
    """
    kept: list[Round] = []
    for round_ in reversed(rounds):
        if not kept or round_.labels < kept[-1].labels:
            kept.append(round_)
    return tuple(reversed(kept))


def _short(folder: CampaignFolder) -> str:
    return "/".join(folder.path.resolve().parts[-2:])


def _metric(round_: Round, where: str, what: str) -> Any:
    return getattr(round_.metrics.sets.get(where), what, None) if round_.metrics else None


def _inner(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = getattr(value, name, None)
    return value


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float("nan")
