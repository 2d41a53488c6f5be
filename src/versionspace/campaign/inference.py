"""A classifier that was exported, on images it has never seen."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from versionspace.campaign.learner import Learner
from versionspace.data.folder.decode import MAX_BYTES, UnreadableError, decode, decoding, frame
from versionspace.data.folder.scan import image_files
from versionspace.ensemble import Ensemble
from versionspace.errors import InputError
from versionspace.types import Array

_AT_ONCE = 256
"""Images that are decoded and classified together."""


@dataclass(frozen=True)
class Prediction:
    """What the members say of one file."""

    file: Path
    name: str
    """The class; empty where the file cannot be read."""
    probability: float
    """The mean of the members'."""
    agreement: float
    """The share of members that vote for it."""
    problem: str = ""


@dataclass(frozen=True)
class Model:
    """Members, the names of their classes, and how images are brought to their size."""

    learner: Learner
    classes: tuple[str, ...]
    height: int
    width: int
    channels: int
    fit: str

    def predict(self, files: Sequence[Path]) -> Iterator[Prediction]:
        """File by file; one that cannot be read is said and does not stop the rest."""
        to = frame((self.height, self.width), self.channels, self.fit)  # type: ignore[arg-type]
        for start in range(0, len(files), _AT_ONCE):
            pixels, read, problems = [], [], {}
            with decoding():
                for file in files[start : start + _AT_ONCE]:
                    try:
                        if file.stat().st_size > MAX_BYTES:
                            raise UnreadableError("the file is too large")
                        pixels.append(decode(file.read_bytes(), to))
                        read.append(file)
                    except (UnreadableError, OSError) as error:
                        problems[file] = str(error)
            found = dict(self._classified(read, pixels)) if read else {}
            for file in files[start : start + _AT_ONCE]:
                yield found.get(file) or Prediction(file, "", 0.0, 0.0, problems.get(file, ""))

    def _classified(self, files: list[Path], pixels: list[Array]) -> Iterator[tuple[Path, Prediction]]:
        probs_MNC = self.learner.predict_proba(np.stack(pixels)).astype(np.float64)
        mean_NC = probs_MNC.mean(axis=0)
        votes_MN = probs_MNC.argmax(axis=2)
        for i, file in enumerate(files):
            best = int(mean_NC[i].argmax())
            agree = float((votes_MN[:, i] == best).mean())
            yield file, Prediction(file, self.classes[best], float(mean_NC[i, best]), agree)


def read_model(folder: Path, device: str = "auto") -> Model:
    """What ``versionspace export --model safetensors`` wrote."""
    try:
        about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        height, width, channels = (int(side) for side in about["images"]["shape"])
        fit, classes = str(about["images"]["fit"]), tuple(str(name) for name in about["classes"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _no_model(folder, f"{type(error).__name__}: {error}") from error
    learner = Ensemble.load(folder, device=device)
    if len(classes) < learner.classes:  # more: classes that were added after the last training
        raise _no_model(folder, f"{len(classes)} names for {learner.classes} classes")
    return Model(learner, classes, height, width, channels, fit)


def _no_model(folder: Path, got: str) -> InputError:
    return InputError(
        str(folder), expected="a folder with model.json, ensemble.json and weights.safetensors, as exported", got=got,
        fix="Make one with `versionspace export CAMPAIGN --model safetensors`.",
    )  # fmt: skip


def images_in(paths: Sequence[Path]) -> list[Path]:
    """Files as they are, and for folders the images below them, sorted; links are followed, hidden files left out."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += [path / file for file in image_files(path)]
        elif path.exists():
            found.append(path)
        else:
            raise InputError(str(path), expected="an image or a folder of images", got="nothing there", fix="Check it.")
    if not found:
        raise InputError("images", expected="one image at least", got="none", fix="Check the folder.")
    return found
