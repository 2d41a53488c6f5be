"""The first ensemble of a grid: trained once for each seed, by whichever method comes first, and used by all others.

SHARED/ensemble/ holds its weights. SHARED/ensemble.json, which is written last, holds what they depend on, the versions
and CPU that they were trained with, and how long that took.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from versionspace.campaign.environment import numerics
from versionspace.campaign.learner import Learner
from versionspace.config import PATHS, Config, first_ensemble_settings
from versionspace.data import DATASETS
from versionspace.errors import InputError
from versionspace.store import Lock, canonical_json, write_file, write_folder
from versionspace.types import ImageId


@dataclass(frozen=True)
class TrainedEnsemble:
    """A fitted ensemble and the seconds that its training took."""

    learner: Learner
    seconds: float


@dataclass(frozen=True)
class FirstEnsemble:
    """The folder in which the methods of a grid share the first ensemble of one seed."""

    shared: Path

    @property
    def weights(self) -> Path:
        """The folder of the weights."""
        return self.shared / "ensemble"

    @property
    def _note(self) -> Path:
        return self.shared / "ensemble.json"

    def numerics(self) -> dict[str, Any] | None:
        """Return the `numerics` that it was trained under; None if it is not trained yet."""
        return self._read_note()["bits"] if self._note.exists() else None

    def train_or_load(
        self,
        config: Config,
        labels: Mapping[ImageId, str],
        train: Callable[[], Learner],
        load: Callable[[Path], Learner],
    ) -> TrainedEnsemble:
        """Return the first ensemble: trained and saved now, or loaded if another campaign trained it.

        Waits while another process trains it. Weights are float32 on disk as in memory: both ways give the same bits.
        Raises InputError if the folder holds the ensemble of another config or of other labels.
        """
        pairs = [[str(i), name] for i, name in labels.items()]
        start = canonical_json({"config": first_ensemble_settings(config), "labels": pairs})
        self.shared.mkdir(parents=True, exist_ok=True)
        with Lock(self.shared).take(wait=True):
            if not self._note.exists():
                began = time.perf_counter()
                learner = train()
                seconds = time.perf_counter() - began
                write_folder(self.weights, learner.save)
                note: dict[str, Any] = {"start": start, "seconds": seconds, "bits": numerics(config)}
                write_file(self._note, json.dumps(note).encode())
                return TrainedEnsemble(learner, seconds)
        note = self._read_note()
        if _without_path(note["start"]) != _without_path(start):
            raise InputError(
                str(self.shared), expected="the first ensemble of a grid with this config", got="that of another",
                fix="Choose another folder with --out, or remove this one.",
            )  # fmt: skip
        return TrainedEnsemble(load(self.weights), float(note["seconds"]))

    def copy_weights(self, to: Path) -> None:
        """Create a folder with the same files: hard links where the file system has them, else copies."""
        to.mkdir()
        for file in self.weights.iterdir():
            try:
                os.link(file, to / file.name)
            except OSError:
                shutil.copyfile(file, to / file.name)

    def _read_note(self) -> dict[str, Any]:
        note: dict[str, Any] = json.loads(self._note.read_text(encoding="utf-8"))
        return note


def _without_path(start: str) -> dict[str, Any]:
    """Return what a first ensemble depends on, without keys that are not set.

    A folder of images may be moved, since ids are hashes of their content, and a features file, which is compared.
    """
    values: dict[str, Any] = json.loads(start)
    data = values["config"]["data"]
    if data["name"] not in DATASETS:
        data |= {key.removeprefix("data."): "" for key in PATHS}
    values["config"]["data"] = {key: value for key, value in data.items() if value is not None}
    return values
