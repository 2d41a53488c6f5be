"""Classify image files, or the rows of features files, with an exported model."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.campaign.datasets import image_shape
from versionspace.campaign.learner import Learner
from versionspace.config import Config
from versionspace.data import (
    MAX_BYTES,
    FeatureTable,
    UnreadableError,
    decode,
    decoding,
    frame,
    image_files,
    is_features_file,
    read_features,
)
from versionspace.ensemble import Ensemble
from versionspace.errors import InputError
from versionspace.types import ArrayLike, ImageId

_BATCH = 256
"""Number of images that are decoded and classified together."""
_ROWS = 8192
"""Number of rows of a features file that are classified together."""


@dataclass(frozen=True)
class Prediction:
    """The members' prediction for one file, or for one row of a features file."""

    item: Path | ImageId
    """The file, or the id of the row."""
    name: str
    """The class with the highest mean probability; empty if the file cannot be read."""
    probability: float
    """The mean over members."""
    agreement: float
    """The share of members that vote for this class."""
    problem: str = ""
    """Why the file cannot be read."""


@dataclass(frozen=True)
class ModelInputs:
    """What a model classifies: images of one size, or features."""

    height: int
    width: int
    channels: int
    """Of features: their number, and the other two are 1."""
    fit: str
    """How images are made square; empty for a model on features."""

    @classmethod
    def of(cls, config: Config, learner: Learner) -> "ModelInputs":
        """Return the inputs of a campaign's members. A features file need not exist any more."""
        if config.data.holds_vectors:
            assert learner.normalisation is not None
            return cls(1, 1, len(learner.normalisation.mean), "")
        height, width, channels = image_shape(config)
        return cls(height, width, channels, config.data.fit or "crop")

    @classmethod
    def from_about(cls, about: Mapping[str, Any]) -> "ModelInputs":
        """Return what `to_about` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        if "features" in about:
            return cls(1, 1, int(about["features"]), "")
        height, width, channels = (int(side) for side in about["images"]["shape"])
        return cls(height, width, channels, str(about["images"]["fit"]))

    def to_about(self) -> dict[str, Any]:
        """Return the part of model.json that describes the inputs."""
        if not self.fit:
            return {"features": self.channels}
        return {"images": {"shape": (self.height, self.width, self.channels), "fit": self.fit}}


@dataclass(frozen=True)
class Model:
    """A trained ensemble: its members, the names of its classes, and what they classify."""

    learner: Learner
    classes: tuple[str, ...]
    inputs: ModelInputs

    def predict(self, paths: str | Path | Sequence[str | Path]) -> Iterator[Prediction]:
        """Yield a prediction for each image in these files and folders, or for each row of these features files.

        They come in order; for an image that cannot be read, the problem. Raises InputError, before anything is
        classified, if a path does not exist or is not what the model classifies.
        """
        given = [Path(path).expanduser() for path in ([paths] if isinstance(paths, str | Path) else paths)]
        if self.inputs.fit:
            return self._predict_images(find_images(given))
        return self._predict_rows([self._open_features(path) for path in given])

    def _open_features(self, path: Path) -> FeatureTable:
        if not is_features_file(path):
            raise InputError(
                str(path), expected=f"a features file with {self.inputs.channels} features, which the model uses",
                got="a folder" if path.is_dir() else "another file",
                fix="Compute features as for the training, and save them with numpy.save.",
            )  # fmt: skip
        table = read_features(path)
        if table.features.shape[1] != self.inputs.channels:
            raise InputError(
                str(path), expected=f"{self.inputs.channels} features in each row, as the model was trained on",
                got=str(table.features.shape[1]), fix="Compute them as for the training.",
            )  # fmt: skip
        return table

    def _predict_rows(self, tables: Sequence[FeatureTable]) -> Iterator[Prediction]:
        for table in tables:
            for start in range(0, len(table), _ROWS):
                block = slice(start, start + _ROWS)
                yield from self.classify(table.ids[block].tolist(), table.features[block])

    def _predict_images(self, files: Sequence[Path]) -> Iterator[Prediction]:
        to = frame((self.inputs.height, self.inputs.width), self.inputs.channels, self.inputs.fit)  # type: ignore[arg-type]
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
            found = self.classify(readable, np.stack(pixels)) if readable else ()
            predictions = {one.item: one for one in found}
            for file in batch:
                yield predictions.get(file) or Prediction(file, "", 0.0, 0.0, problems.get(file, ""))

    def classify(self, items: Sequence[Path | ImageId], images: ArrayLike) -> Iterator[Prediction]:
        """Yield a prediction for each item. ``images``: their pixels as the model sees them, or features (N, F)."""
        probs_MNC = self.learner.predict_proba(images, members=True).astype(np.float64)
        mean_NC = probs_MNC.mean(axis=0)
        best_N = mean_NC.argmax(axis=1)
        agreement_N = (probs_MNC.argmax(axis=2) == best_N).mean(axis=0)
        for item, best, probability, agreement in zip(
            items, best_N.tolist(), mean_NC.max(axis=1).tolist(), agreement_N.tolist(), strict=True
        ):
            yield Prediction(item, self.classes[best], probability, agreement)


def load_model(folder: Path, device: str = "auto") -> Model:
    """Return the model that ``versionspace export --model safetensors`` wrote.

    Raises InputError if the folder does not contain one.
    """
    try:
        about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        classes, inputs = tuple(str(name) for name in about["classes"]), ModelInputs.from_about(about)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _not_a_model(folder, f"{type(error).__name__}: {error}") from error
    learner = Ensemble.load(folder, device=device)
    if len(classes) < learner.classes:  # there may be more: classes that were added after the last training
        raise _not_a_model(folder, f"{len(classes)} names for {learner.classes} classes")
    return Model(learner, classes, inputs)


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
        elif is_features_file(path):
            raise InputError(
                str(path), expected="images, since the model was trained on pixels", got="a features file",
                fix="Pass the images themselves.",
            )  # fmt: skip
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
