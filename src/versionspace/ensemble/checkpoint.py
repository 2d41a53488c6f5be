"""An ensemble on disk: ``ensemble.json``, ``weights.safetensors`` and, with an extractor, ``backbone.json``.

Files are written atomically and contain no pickle. ``ensemble.json`` is written last: a folder that has it is complete.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from versionspace.ensemble.normalise import Normalisation
from versionspace.errors import InputError
from versionspace.features import DEFAULT_EXTRACTOR
from versionspace.files import replacing
from versionspace.nets import FEATURE_NETS, Shape, first_names

FORMAT = 1
DESCRIPTION, WEIGHTS, BACKBONE = "ensemble.json", "weights.safetensors", "backbone.json"


@dataclass(frozen=True)
class Description:
    """Everything about an ensemble except its weights and its extractor."""

    net: str | None
    """The name of the architecture; None for a user's own."""
    shape: Shape
    classes: int
    members: int
    seed: int
    round: int
    normalisation: Normalisation
    training: dict[str, Any]
    dtype: str
    history: list[dict[str, Any]]
    names: list[Any] | None = None
    """The classes, if they are not the numbers from 0."""


@dataclass(frozen=True)
class Backbone:
    """The extractor whose features an ensemble sees."""

    identity: str
    side: int
    image: tuple[int, int, int]
    """Height, width and channels of the images of the fit."""
    name: str | None
    """The extractor's name; None for a user's own."""

    def to_body(self) -> dict[str, Any]:
        """Return the content of ``backbone.json``, which does not name the default extractor."""
        body = {"weights": self.identity, "side": self.side, "image": self.image}
        return body if self.name == DEFAULT_EXTRACTOR else body | {"extractor": self.name}

    @staticmethod
    def from_body(body: dict[str, Any]) -> "Backbone":
        """Read the content of ``backbone.json``."""
        height, width, channels = body["image"]
        name = body.get("extractor", DEFAULT_EXTRACTOR)
        return Backbone(str(body["weights"]), int(body["side"]), (height, width, channels), name)


@dataclass(frozen=True)
class Checkpoint:
    """What a folder contains."""

    description: Description
    backbone: Backbone | None
    """None for networks that see pixels."""
    state: dict[str, Tensor]


def write_checkpoint(folder: Path, description: Description, state: dict[str, Tensor]) -> None:
    """Write weights and description; `InputStage.save` has written the rest."""
    with replacing(folder / WEIGHTS) as new:
        save_file({name: value.cpu().contiguous() for name, value in state.items()}, new)
    with replacing(folder / DESCRIPTION) as new:
        new.write_text(json.dumps({"format": FORMAT, **asdict(description)}, indent=2))


def read_checkpoint(folder: Path) -> Checkpoint:
    """Read a folder that `Ensemble.save` wrote; raise `InputError` if a file is missing or damaged."""
    try:
        body = json.loads((folder / DESCRIPTION).read_text())
        if body.pop("format") != FORMAT:
            raise ValueError("another format")
        body["normalisation"] = Normalisation(*(tuple(v) for v in body["normalisation"].values()))
        body["shape"] = tuple(body["shape"])
        description = Description(**body)
        state = load_file(folder / WEIGHTS)
        backbone = None
        if description.net in FEATURE_NETS or (folder / BACKBONE).exists():
            backbone = Backbone.from_body(json.loads((folder / BACKBONE).read_text()))
    except FileNotFoundError as error:
        raise InputError(
            "folder", expected=f"{DESCRIPTION}, {WEIGHTS} and, with an extractor, {BACKBONE}",
            got=f"no {error.filename}", fix="Pass a folder that Ensemble.save wrote.",
        ) from error  # fmt: skip
    except Exception as error:
        raise InputError(
            str(folder), expected="what Ensemble.save writes", got=f"{type(error).__name__}: {error}",
            fix="The files are damaged or from another version; save the ensemble again.",
        ) from error  # fmt: skip
    return Checkpoint(description, backbone, state)


def check_weights(folder: Path, members: int, state: dict[str, Tensor], plain: nn.Module) -> None:
    """Raise `InputError` at the first name or shape in which weights (M, …) differ from those of the network."""
    values = plain.state_dict()
    expected = {name: (members, *values[name].shape) for name in first_names(plain).values()}
    for name, shape in expected.items():
        if name not in state:
            raise _mismatch(folder, f"weights of {name}, which the network has", "a file without them")
        if tuple(state[name].shape) != shape:
            raise _mismatch(folder, f"weights of {name} of shape {shape}", f"{tuple(state[name].shape)}")
    for name in state:
        if name not in expected:
            raise _mismatch(folder, "only weights of the network", f"{name} as well, which it does not have")


def _mismatch(folder: Path, expected: str, got: str) -> InputError:
    return InputError(
        str(folder), expected=expected, got=got,
        fix="Load it with the network that it was trained with; both files must be from the same save.",
    )  # fmt: skip
