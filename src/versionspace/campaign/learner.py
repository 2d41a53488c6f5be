"""The learners of campaigns: what a campaign requires of one, and a table of those that a config names.

A learner is an ensemble of networks, on pixels or on the features of a frozen extractor. Importing this module does not
import torch.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from versionspace.config import Config
from versionspace.ensemble import PRECOMPUTED, Sizes, Training, find_recipe, read_training, sizes
from versionspace.errors import InputError
from versionspace.features import DEFAULT_EXTRACTOR, available, make_extractor
from versionspace.types import Array, ArrayLike

if TYPE_CHECKING:
    from versionspace.ensemble import GroupTrainer, MemberHistory, Normalisation, Opinions

Member = int | Literal["all"]


class Learner(Protocol):
    """What a campaign requires of a learner; `versionspace.Ensemble` is one.

    Images are uint8 (N, H, W, channels), or features (N, F) from a file; M is the number of members, C that of classes.
    """

    members: int
    classes: int
    normalisation: "Normalisation | None"
    history_: "list[MemberHistory]"
    """What happened to each member in the last fit."""

    @property
    def weight_bytes(self) -> int:
        """The size of the weights of all members."""

    def fit(
        self,
        images: ArrayLike,
        labels: ArrayLike,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
        round: int = 0,  # noqa: A002 — the word people use
    ) -> Self:
        """Train all members from scratch; each round draws anew."""

    def statistics(self, images: ArrayLike, /) -> "Normalisation":
        """Return the normalisation for a pool of images."""

    def predict_proba(self, images: ArrayLike, members: bool = False) -> Array:
        """Return the mean of the members' probabilities (N, C), or with ``members`` all of them, (M, N, C)."""

    def votes(self, images: ArrayLike, /) -> Array:
        """Return votes (M, N)."""

    def opinions(self, images: ArrayLike, /) -> "Opinions":
        """Return votes (M, N) and their soft majority (N,)."""

    def features(self, images: ArrayLike, member: Member = 0) -> Array:
        """Return features (N, F) of one member, or (M, N, F)."""

    def mc_dropout_proba(self, images: ArrayLike, passes: int = 20, member: Member = 0) -> Array:
        """Return probabilities (passes, N, C) of one member with dropout on, or (M, passes, N, C)."""

    def perturbations(self, images: ArrayLike, member: Member = 0) -> Array:
        """Return the sizes of adversarial perturbations (N,) of one member, or (M, N)."""

    def only(self, member: int, /) -> Self:
        """Return a learner with one of the members."""

    def save(self, folder: str | Path, /) -> None:
        """Write the fitted members into a folder."""

    def to_onnx(self, path: str | Path, classes: Sequence[str] = (), member: int | None = None) -> float:
        """Write all members, or one, as an ONNX file; return its largest difference."""


def _make_ensemble(net: Any, **options: Any) -> Learner:
    from versionspace.ensemble import Ensemble

    return Ensemble(net, **options)


def _paper_training(config: Config, has_validation: bool) -> Training:
    """Without validation labels, the training loss is watched."""
    training = config.training_for(has_validation)
    if not has_validation and training.watch == "validation accuracy":
        return replace(training, watch="training loss")
    return training


def _recipe_training(config: Config, has_validation: bool) -> Training:
    return read_training(config.training or None, has_validation, find_recipe(config.ensemble.net))


@dataclass(frozen=True)
class LearnerKind:
    """What a campaign has to know about a network that a config names."""

    sizes: str = ""
    """Its entry in `versionspace.ensemble.SIZES`; "" for a user's own network."""
    read_training: Callable[[Config, bool], Training] = _paper_training
    """Returns the settings of a fit, from a config and whether there are validation labels."""
    make: Callable[..., Learner] = _make_ensemble
    """Makes an unfitted learner from the network, the extractor's name and the options of `make_learner`."""
    on_features: bool = False
    """Whether it sees the features of the config's extractor instead of pixels."""
    image_side: int | None = None
    """Pixels that the images of a person's folder are resized to, unless an extractor says so; None leaves it to the
    config."""


LEARNERS: dict[str, LearnerKind] = {
    "conv2": LearnerKind("conv2"),
    "conv3": LearnerKind("conv3"),
    "conv6": LearnerKind("conv6"),
    "resnet18": LearnerKind("resnet18"),
    # A small network trained from scratch needs few pixels, and is eight times as fast; a pretrained one needs as many
    # as it was made for.
    "small": LearnerKind("small", image_side=32),
    "heads": LearnerKind("heads", _recipe_training, on_features=True, image_side=160),
}
"""By the name in a config; another name is ``package.module:function`` of a user's own network."""
_OWN = LearnerKind()


def learner_kind(net: str) -> LearnerKind:
    """Return what is known about the network of this name."""
    return LEARNERS.get(net, _OWN)


def default_net() -> str:
    """Return the network for a person's folder: "heads" if the default extractor is installed, else "small"."""
    return "heads" if available(DEFAULT_EXTRACTOR) else "small"


def extractor_name(config: Config) -> str | None:
    """Return the name of the extractor whose features the learner sees; None for pixels and for features of a file."""
    uses_extractor = learner_kind(config.ensemble.net).on_features and not config.data.holds_vectors
    return config.ensemble.extractor if uses_extractor else None


def image_side(net: str, extractor: str) -> int | None:
    """Return the pixels that the images of a person's folder are resized to: as many as the extractor resizes to."""
    kind = learner_kind(net)
    return (make_extractor(extractor).side if kind.on_features else 0) or kind.image_side


def training_of(config: Config, has_validation: bool) -> Training:
    """Return the settings of a fit."""
    return learner_kind(config.ensemble.net).read_training(config, has_validation)


def group_sizes(config: Config, shape: tuple[int, int, int] | None = None) -> Sizes:
    """Return how many members and images go into one pass, for images (channels, height, width)."""
    return sizes(learner_kind(config.ensemble.net).sizes, shape)


def check_learner(config: Config) -> None:
    """Raise `InputError` if network or extractor cannot be used, or if the training settings are not accepted."""
    import_network(config.ensemble.net)
    training_of(config, has_validation=True)
    extractor = extractor_name(config)
    if extractor not in (None, DEFAULT_EXTRACTOR):
        make_extractor(extractor)


def make_learner(
    config: Config,
    classes: int,
    pool: Callable[[], Array],
    *,
    training: Training,
    normalisation: "Normalisation | None" = None,
    members: int | None = None,
    threads: int | None = None,
    progress: Any = False,
    trainer: "GroupTrainer | None" = None,
) -> Learner:
    """Return an unfitted learner. Without ``normalisation``, it has the statistics of the pool.

    ``trainer``: trains its groups of members elsewhere.
    """
    kind = learner_kind(config.ensemble.net)
    learner = kind.make(
        import_network(config.ensemble.net), members=members or config.ensemble.members, classes=classes,
        seed=config.seed, device=config.machine.device, training=training, threads=threads, progress=progress,
        normalisation=normalisation, trainer=trainer,
        extractor=PRECOMPUTED if config.data.holds_vectors else extractor_name(config),
    )  # fmt: skip
    if normalisation is None:
        learner.normalisation = learner.statistics(pool())
    return learner


def load_learner(config: Config, path: Path, threads: int | None = None, device: str | None = None) -> Learner:
    """Return the learner that a campaign saved; by default on the device that its config names."""
    from versionspace.ensemble import Ensemble

    net = import_network(config.ensemble.net)
    own = None if isinstance(net, str) else net
    return Ensemble.load(path, net=own, device=device or config.machine.device, threads=threads)


def import_network(net: str) -> Any:
    """Return the name of a network as it is; import ``package.module:function``."""
    if ":" not in net:
        return net
    module, _, name = net.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(
            "ensemble.net", expected="package.module:function that can be imported", got=repr(net), fix=f"{error}."
        ) from error
