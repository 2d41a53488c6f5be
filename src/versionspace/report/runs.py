"""Campaigns as series of metrics over labels: one `CampaignRun` per campaign folder."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from versionspace.errors import VersionspaceError
from versionspace.report.errors import ReportError
from versionspace.store import CampaignFolder, Record, Round, RoundMetrics, campaigns, read_campaign
from versionspace.types import Floats, Ints


@dataclass(frozen=True)
class CampaignRun:
    """A campaign with at least one trained ensemble."""

    record: Record
    rounds: tuple[Round, ...]
    """Rounds with an ensemble, by strictly increasing number of labels; see `increasing_rounds`."""

    @property
    def method(self) -> str:
        """Its query method."""
        return self.record.method

    @property
    def seed(self) -> int:
        """Its random seed."""
        return self.record.seed

    @property
    def name(self) -> str:
        """Method and seed, such as ``gvd/0``."""
        return f"{self.method}/{self.seed}"

    @property
    def finished(self) -> bool:
        """Whether the campaign ended; otherwise it is running or was interrupted."""
        return bool(self.record.ended)

    @property
    def labels(self) -> Ints:
        """(R,): the number of labels in each round, strictly increasing."""
        return np.array([r.labels for r in self.rounds], np.int64)

    def with_all_rounds(self) -> "CampaignRun":
        """Return the run with every round that has an ensemble: numbers of labels may then repeat or decrease."""
        return replace(self, rounds=self.record.measured_rounds())

    def set_metric(self, set_name: str, metric: str) -> Floats:
        """Return (R,) a metric of `SetMetrics` on "test", "pool", "validation" or "reference"; NaN if not measured."""
        sets = [m.sets.get(set_name) for m in self._metrics()]
        return _floats([None if found is None else getattr(found, metric) for found in sets])

    def round_metric(self, metric: str) -> Floats:
        """Return (R,) a metric of `RoundMetrics`, such as "diameter"; NaN if not measured."""
        return _floats([getattr(m, metric) for m in self._metrics()])

    def audit_metric(self, metric: str) -> Floats:
        """Return (R,) a metric of `AuditMetrics`, such as "accuracy"; NaN without an audit."""
        return _floats([None if m.audit is None else getattr(m.audit, metric) for m in self._metrics()])

    def _metrics(self) -> list[RoundMetrics]:
        return [r.metrics for r in self.rounds if r.metrics is not None]


@dataclass(frozen=True)
class LoadedRuns:
    """The runs that could be read, and a note about every folder that was skipped."""

    runs: tuple[CampaignRun, ...]
    notes: tuple[str, ...]


def load_runs(dirs: Sequence[Path | str]) -> LoadedRuns:
    """Read all campaigns in these folders, each once. One that cannot be read is skipped with a note.

    If none can be used, raises the first error, or `ReportError` if no campaign has an ensemble yet.
    """
    folders: dict[Path, CampaignFolder] = {}
    for path in dirs:
        folders |= {folder.path.resolve(): folder for folder in campaigns(path)}
    runs, notes, errors = [], [], []
    for folder in folders.values():
        try:
            record = read_campaign(folder)
        except VersionspaceError as error:
            errors.append(error)
            notes.append(f"{_short_path(folder)} was skipped. {error}")
            continue
        rounds = increasing_rounds(record.measured_rounds())
        if rounds:
            runs.append(CampaignRun(record, rounds))
        else:
            notes.append(f"{_short_path(folder)} was skipped: it has no trained ensemble yet.")
    if not runs:
        if errors:
            raise errors[0]
        raise ReportError(
            ", ".join(str(path) for path in dirs) or "folders",
            expected="a campaign with at least one trained ensemble",
            got=f"{len(folders)} without",
            fix="Wait for the first round, or pass the folder that `versionspace run` created.",
        )
    return LoadedRuns(tuple(runs), tuple(notes))


def increasing_rounds(rounds: Sequence[Round]) -> tuple[Round, ...]:
    """Return the rounds with fewer labels than every later round, so that the last round is always kept.

    If several rounds have the same number of labels, as after a query whose images were all skipped, the last one is
    kept. If labels were withdrawn, rounds that still had them are dropped.
    """
    kept: list[Round] = []
    for round_ in reversed(rounds):
        if not kept or round_.labels < kept[-1].labels:
            kept.append(round_)
    return tuple(reversed(kept))


def _short_path(folder: CampaignFolder) -> str:
    return "/".join(folder.path.resolve().parts[-2:])


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)
