"""Classify image files with an exported model."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from versionspace.campaign.learner import Learner
from versionspace.data import MAX_BYTES, UnreadableError, decode, decoding, frame, image_files
from versionspace.ensemble import Ensemble
from versionspace.errors import InputError
from versionspace.types import Array

_BATCH = 256
"""Number of images that are decoded and classified together."""


@dataclass(frozen=True)
class Prediction:
    """The members' prediction for one file."""

    file: Path
    name: str
    """The class with the highest mean probability; empty if the file cannot be read."""
    probability: float
    """The mean over members."""
    agreement: float
    """The share of members that vote for this class."""
    problem: str = ""
    """Why the file cannot be read."""


@dataclass(frozen=True)
class Model:
    """An exported ensemble: its members, the names of its classes, and how images are scaled."""

    learner: Learner
    classes: tuple[str, ...]
    height: int
    width: int
    channels: int
    fit: str

    def predict(self, files: Sequence[Path]) -> Iterator[Prediction]:
        """Yield a prediction for each file, in order; for a file that cannot be read, the problem."""
        to = frame((self.height, self.width), self.channels, self.fit)  # type: ignore[arg-type]
        for start in range(0, len(files), _BATCH):
            batch = files[start : start + _BATCH]
            pixels, readable, problems = [], [], {}
            with decoding():
                for file in batch:
                    try:
                        if file.stat().st_size > MAX_BYTES:
                            raise UnreadableError("the file is too large")
                        pixels.append(decode(file.read_bytes(), to))
                        readable.append(file)
                    except (UnreadableError, OSError) as error:
                        problems[file] = str(error)
            predictions = {one.file: one for one in self._classify(readable, pixels)} if readable else {}
            for file in batch:
                yield predictions.get(file) or Prediction(file, "", 0.0, 0.0, problems.get(file, ""))

    def _classify(self, files: list[Path], pixels: list[Array]) -> Iterator[Prediction]:
        probs_MNC = self.learner.predict_proba(np.stack(pixels)).astype(np.float64)
        mean_NC = probs_MNC.mean(axis=0)
        votes_MN = probs_MNC.argmax(axis=2)
        for i, file in enumerate(files):
            best = int(mean_NC[i].argmax())
            agreement = float((votes_MN[:, i] == best).mean())
            yield Prediction(file, self.classes[best], float(mean_NC[i, best]), agreement)


def load_model(folder: Path, device: str = "auto") -> Model:
    """Return the model that ``versionspace export --model safetensors`` wrote.

    Raises InputError if the folder does not contain one.
    """
    try:
        about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        height, width, channels = (int(side) for side in about["images"]["shape"])
        fit, classes = str(about["images"]["fit"]), tuple(str(name) for name in about["classes"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _not_a_model(folder, f"{type(error).__name__}: {error}") from error
    learner = Ensemble.load(folder, device=device)
    if len(classes) < learner.classes:  # there may be more: classes that were added after the last training
        raise _not_a_model(folder, f"{len(classes)} names for {learner.classes} classes")
    return Model(learner, classes, height, width, channels, fit)


def _not_a_model(folder: Path, got: str) -> InputError:
    return InputError(
        str(folder), expected="an exported model: model.json, ensemble.json and weights.safetensors", got=got,
        fix="Create one with `versionspace export CAMPAIGN --model safetensors`.",
    )  # fmt: skip


def find_images(paths: Sequence[Path]) -> list[Path]:
    """Return the given files, and for each folder the images in it and below, sorted, without hidden files.

    Links are followed. Raises InputError if a path does not exist or if there are no images.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += [path / file for file in image_files(path)]
        elif path.exists():
            found.append(path)
        else:
            raise InputError(
                str(path), expected="an image or a folder of images", got="a path that does not exist",
                fix="Check the path.",
            )  # fmt: skip
    if not found:
        raise InputError("images", expected="at least one image", got="none", fix="Check the folder.")
    return found
