"""An ensemble on disk: ``ensemble.json`` and ``weights.safetensors``. No pickle; each appears whole or not at all."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from versionspace.ensemble.normalise import Normalisation
from versionspace.errors import InputError
from versionspace.files import replacing
from versionspace.nets.architectures import Shape
from versionspace.nets.stacks import first_names

FORMAT = 1


@dataclass(frozen=True)
class Saved:
    """All but the weights."""

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


def write(folder: Path, saved: Saved, state: dict[str, Tensor]) -> None:
    """Weights first, the description last: a folder with a description is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    weights, description = folder / "weights.safetensors", folder / "ensemble.json"
    with replacing(weights) as new:
        save_file({name: value.cpu().contiguous() for name, value in state.items()}, new)
    with replacing(description) as new:
        new.write_text(json.dumps({"format": FORMAT, **asdict(saved)}, indent=2))


def read(folder: Path) -> tuple[Saved, dict[str, Tensor]]:
    """What `write` wrote, or a sentence that says what is missing or wrong."""
    description = folder / "ensemble.json"
    try:
        found = json.loads(description.read_text())
        if found.pop("format") != FORMAT:
            raise ValueError("another format")
        found["normalisation"] = Normalisation(*(tuple(v) for v in found["normalisation"].values()))
        found["shape"] = tuple(found["shape"])
        return Saved(**found), load_file(folder / "weights.safetensors")
    except FileNotFoundError as error:
        raise InputError(
            "folder", expected="ensemble.json and weights.safetensors", got=f"no {error.filename}",
            fix="Pass a folder that Ensemble.save wrote.",
        ) from error  # fmt: skip
    except Exception as error:
        raise InputError(
            str(folder), expected="what Ensemble.save writes", got=f"{type(error).__name__}: {error}",
            fix="The files are damaged or from another version; save the ensemble again.",
        ) from error  # fmt: skip


def compare(folder: Path, saved: Saved, state: dict[str, Tensor], plain: nn.Module) -> None:
    """Whether weights (M, …) are those of the network, by names and shapes; the first difference is named."""
    has = plain.state_dict()
    wanted = {name: (saved.members, *has[name].shape) for name in first_names(plain).values()}
    for name, shape in wanted.items():
        if name not in state:
            raise _unlike(folder, f"weights of {name}, which the network has", "a file without")
        if tuple(state[name].shape) != shape:
            raise _unlike(folder, f"weights of {name} of shape {shape}", f"{tuple(state[name].shape)}")
    for name in state:
        if name not in wanted:
            raise _unlike(folder, "weights of the network alone", f"{name} too, which it does not have")


def _unlike(folder: Path, expected: str, got: str) -> InputError:
    return InputError(
        str(folder), expected=expected, got=got,
        fix="Load it with the network that it was trained with; both files must be of one save.",
    )  # fmt: skip
