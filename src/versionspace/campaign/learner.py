"""The learner that a config names: networks trained from scratch, or heads on a pretrained backbone."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from versionspace.config import Config
from versionspace.ensemble.ensemble import Ensemble
from versionspace.ensemble.normalise import Normalisation
from versionspace.ensemble.predict import Opinions
from versionspace.ensemble.settings import Training
from versionspace.errors import InputError
from versionspace.types import Array

HEADS = "heads"


class Learner(Protocol):
    """What a campaign wants of a fitted ensemble."""

    members: int
    history_: list[Any]

    def predict_proba(self, images: Array, /) -> Array: ...  # noqa: D102
    def votes(self, images: Array, /) -> Array: ...  # noqa: D102
    def opinions(self, images: Array, /) -> Opinions: ...  # noqa: D102
    def features(self, images: Array, member: Any = 0) -> Array: ...  # noqa: D102
    def mc_dropout_proba(self, images: Array, passes: int = 20, member: Any = 0) -> Array: ...  # noqa: D102
    def perturbations(self, images: Array, member: Any = 0) -> Array: ...  # noqa: D102
    def save(self, folder: Any, /) -> None: ...  # noqa: D102
    def only(self, member: int, /) -> "Learner": ...  # noqa: D102
    def to_onnx(self, path: Any, classes: Sequence[str] = (), member: int | None = None) -> float: ...  # noqa: D102


def training_of(config: Config, has_validation: bool) -> Training:
    """The settings of a fit; without validation labels the training loss is watched."""
    if config.ensemble.net == HEADS:
        from versionspace.ensemble.heads import read_heads_training

        return read_heads_training(config.training or None)
    found = config.training_for(has_validation)
    if not has_validation and found.watch == "validation accuracy":
        return replace(found, watch="training loss")
    return found


def learner(
    config: Config,
    classes: int,
    pool: Callable[[], Array],
    *,
    training: Training,
    normalisation: Normalisation | None = None,
    members: int | None = None,
    threads: int | None = None,
    progress: Any = False,
) -> Ensemble:
    """An ensemble before its fit. Without ``normalisation``, the statistics of the pool are taken."""
    options: dict[str, Any] = {
        "members": members or config.ensemble.members, "classes": classes, "seed": config.seed,
        "device": config.machine.device, "training": training, "threads": threads, "progress": progress,
    }  # fmt: skip
    if config.ensemble.net == HEADS:
        from versionspace.ensemble.heads import Heads

        made = Heads(**options, normalisation=normalisation)
        made.normalisation = normalisation or made.statistics(pool())
        return made
    return Ensemble(network(config.ensemble.net), **options, normalisation=normalisation or Normalisation.of(pool()))


def loaded(config: Config, path: Path, threads: int | None = None, device: str | None = None) -> Ensemble:
    """Members that were saved with a campaign; by default on the device that its config names."""
    own = network(config.ensemble.net) if ":" in config.ensemble.net else None
    return Ensemble.load(path, net=own, device=device or config.machine.device, threads=threads)


def network(net: str) -> Any:
    """A name of ours, or ``package.module:function`` imported."""
    if ":" not in net:
        return net
    module, _, name = net.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(
            "ensemble.net", expected="package.module:function that can be imported", got=repr(net), fix=f"{error}."
        ) from error
