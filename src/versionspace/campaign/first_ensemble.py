"""The first ensemble of a grid: trained once for each seed, for whichever method comes first, and taken by all others.

SHARED/ensemble/ holds its weights, SHARED/ensemble.json, which is written last, what they depend on, under what they
were trained, and how long that took.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from versionspace.campaign.environment import bits
from versionspace.campaign.learner import Learner
from versionspace.config import Config, first_ensemble_settings
from versionspace.data import DATASETS
from versionspace.errors import InputError
from versionspace.store import Lock, canonical_json, write_file, write_folder
from versionspace.types import ImageId

_BITS = "bits"


@dataclass(frozen=True)
class First:
    """Where the methods of one seed of a grid keep it."""

    shared: Path

    @property
    def ensemble(self) -> Path:
        """The weights."""
        return self.shared / "ensemble"

    @property
    def _note(self) -> Path:
        return self.shared / "ensemble.json"

    def bits(self) -> dict[str, Any] | None:
        """Under what it was trained; None where nobody knows or nothing is there yet."""
        try:
            found: dict[str, Any] | None = json.loads(self._note.read_text(encoding="utf-8")).get(_BITS)
        except FileNotFoundError:
            return None
        return found

    def trained(self, config: Config, given: Mapping[ImageId, str], fit: Callable[[], Learner]) -> float:
        """Trains it unless that was done; the seconds that it took. Whoever comes meanwhile waits."""
        start = canonical_json(
            {"config": first_ensemble_settings(config), "labels": [[str(i), name] for i, name in given.items()]}
        )
        self.shared.mkdir(parents=True, exist_ok=True)
        with Lock(self.shared).take(wait=True):
            if not self._note.exists():
                begun = time.perf_counter()
                fitted = fit()
                seconds = time.perf_counter() - begun
                write_folder(self.ensemble, fitted.save)
                note = {"start": start, "seconds": seconds, _BITS: bits(config)}
                write_file(self._note, json.dumps(note).encode())
            found = json.loads(self._note.read_text(encoding="utf-8"))
        if _start(found["start"]) != _start(start):
            raise InputError(
                str(self.shared), expected="the first ensemble of a grid with this config", got="that of another",
                fix="Choose another folder with --out, or remove this one.",
            )  # fmt: skip
        return float(found["seconds"])

    def link(self, to: Path) -> None:
        """Its files once more, without using more disk where the disk can."""
        to.mkdir()
        for file in self.ensemble.iterdir():
            try:
                os.link(file, to / file.name)
            except OSError:
                shutil.copyfile(file, to / file.name)


def _start(text: str) -> dict[str, Any]:
    """What a first ensemble depends on; not where a folder of images lies, whose ids are of their content."""
    found: dict[str, Any] = json.loads(text)
    data = found["config"]["data"]
    return found if data["name"] in DATASETS else found | {"config": found["config"] | {"data": data | {"name": ""}}}
