"""How members are trained, and how many share a pass. Importing this module does not import torch.

Training follows the paper, by dataset (appendix, "Implementation Details"):

    mnist          RMSProp 1e-4, halved after 10 epochs without a better validation accuracy, until below 1e-5; batch 16
    others         SGD 1e-2 with momentum .8, divided by ten likewise, until below 1e-4; batch 32
    all            at most 200 epochs, no augmentation, the last weights are kept
    no-validation  as the others, but the training loss decides: for users without validation labels

The number of members in one pass, and of images when nothing is trained, come from a table, so that results do not
depend on the machine: between group sizes a member's weights drift by rounding. These numbers are part of what defines
a run, and are recorded with it. Small networks gain from sharing a pass; in large ones, a convolution of one member
keeps a core busy. Images larger than those of the table go in fewer at a time, so that a pass takes about the same
memory.
"""

import math
from dataclasses import dataclass, fields, replace
from typing import Literal

from versionspace.errors import InputError
from versionspace.types import is_count, is_number


@dataclass(frozen=True)
class Training:
    """Settings of one fit.

    >>> Training(epochs=50).rate
    0.01
    """

    optimiser: Literal["sgd", "rmsprop"] = "sgd"
    rate: float = 1e-2
    """The initial learning rate."""
    momentum: float = 0.8
    decay: float = 0.1
    """The factor of the rate at a plateau."""
    floor: float = 1e-4
    """Training stops when the rate falls below this."""
    patience: int = 10
    """A plateau is exactly this many consecutive epochs without a strict improvement."""
    epochs: int = 200
    """The maximum number of epochs."""
    batch: int = 32
    watch: Literal["validation accuracy", "training loss"] = "validation accuracy"
    """What must improve. The training loss must fall by a thousandth of itself to count as better."""

    def __post_init__(self) -> None:
        limits = {
            "optimiser": (self.optimiser in ("sgd", "rmsprop"), "'sgd' or 'rmsprop'"),
            "rate": (is_number(self.rate) and self.rate > 0, "a positive number"),
            "momentum": (is_number(self.momentum) and 0 <= self.momentum < 1, "a number of at least 0 and below 1"),
            "decay": (is_number(self.decay) and 0 < self.decay < 1, "a number between 0 and 1"),
            "floor": (is_number(self.floor) and self.floor > 0, "a positive number"),
            "patience": (is_count(self.patience), "a whole number of at least 1"),
            "epochs": (is_count(self.epochs), "a whole number of at least 1"),
            "batch": (is_count(self.batch), "a whole number of at least 1"),
            "watch": (
                self.watch in ("validation accuracy", "training loss"), "'validation accuracy' or 'training loss'",
            ),
        }  # fmt: skip
        for name, (valid, expected) in limits.items():
            if not valid:
                raise InputError(
                    f"training.{name}", expected=expected, got=repr(getattr(self, name)),
                    fix="See versionspace.Training.",
                )  # fmt: skip


PRECOMPUTED = "precomputed"
"""In place of an extractor: what is passed to an ensemble are features already."""

TRAININGS: dict[str, Training] = {
    "mnist": Training("rmsprop", rate=1e-4, decay=0.5, floor=1e-5, batch=16),
    "fashion-mnist": Training(),
    "svhn": Training(),
    "stl10": Training(),
    "no-validation": Training(watch="training loss"),
}
"""The paper's settings by dataset, and one for users without validation labels."""


@dataclass(frozen=True)
class Recipe:
    """How the members of one architecture are trained by default."""

    training: Training | None = None
    """The default settings; None for the paper's."""
    even_batches: bool = False
    """Whether batches are reduced to equal sizes (`even_batch`)."""
    retry_epochs: int | None = None
    """With the default settings, a group in which a member fits less than `ENOUGH` of its labels is trained again from
    the start for this many epochs."""

    def batch(self, count: int, training: Training) -> int:
        """Return the batch size for this many labelled images."""
        return even_batch(count, training.batch) if self.even_batches else training.batch

    def retry(self, training: Training) -> int | None:
        """Return the epochs of a second attempt; None if there is none."""
        return self.retry_epochs if training == self.training else None


ENOUGH = 0.99
"""The share of its labels that a member should fit."""
RECIPES: dict[str, Recipe] = {
    # On STL-10 members are about as accurate after 12 epochs as after 20 and disagree slightly more; with up to 1,500
    # labels the worst of 20 fits 99.8% of them. Wrong labels take longer to fit: of 1,000 labels, a tenth of them
    # wrong, members fitted 98.6% after 20 epochs and 99.9% after 60.
    "heads": Recipe(
        Training("rmsprop", rate=1e-3, epochs=12, batch=64, watch="training loss"), even_batches=True, retry_epochs=60
    ),
}
"""By the name of the architecture; others are trained as in the paper."""


def find_recipe(net: object) -> Recipe:
    """Return the recipe of an architecture, given by name or as a factory."""
    return RECIPES.get(net, Recipe()) if isinstance(net, str) else Recipe()


def even_batch(count: int, most: int) -> int:
    """Return the size of batches that divide ``count`` images evenly, the last batch being at most slightly smaller.

    A last batch of two images undoes part of what members have learnt: with 130 labels and batches of 64, SGD left one
    member with 93% of its labels, and a PWD four times as high.

    >>> even_batch(130, 64), even_batch(400, 64), even_batch(10, 64)
    (44, 58, 10)
    """
    return math.ceil(count / math.ceil(count / most))


def read_training(
    given: "Training | str | dict[str, object] | None", has_validation: bool = True, recipe: Recipe | None = None
) -> Training:
    """Return settings that are given as they are, by name, or as changes to the default.

    The default is the recipe's, or the paper's; without validation labels "no-validation".

    >>> read_training({"epochs": 5}).optimiser, read_training({"epochs": 5}, recipe=RECIPES["heads"]).optimiser
    ('sgd', 'rmsprop')
    """
    default = recipe.training if recipe is not None else None
    if given is None:
        return default or TRAININGS["fashion-mnist" if has_validation else "no-validation"]
    if isinstance(given, Training):
        return given
    if isinstance(given, str) and given in TRAININGS:
        return TRAININGS[given]
    names = [field.name for field in fields(Training)]
    if isinstance(given, dict) and set(given) <= set(names):
        base = default or (Training() if has_validation else TRAININGS["no-validation"])
        return replace(base, **given)  # type: ignore[arg-type]
    raise InputError(
        "training",
        expected=f"one of {', '.join(TRAININGS)}, a Training, or a dict with some of {', '.join(names)}",
        got=repr(given),
        fix="Pick a name, or change single settings: training={'epochs': 50}.",
    )


@dataclass(frozen=True)
class Sizes:
    """How much of one architecture goes into one pass."""

    group: int
    """Members."""
    images: int
    """Images, when nothing is trained."""


SIZES: dict[str, Sizes] = {
    "conv2": Sizes(group=5, images=256),
    "conv3": Sizes(group=5, images=256),
    "conv6": Sizes(group=5, images=128),
    "resnet18": Sizes(group=1, images=64),
    "small": Sizes(group=10, images=512),
    "heads": Sizes(group=10, images=512),
}
"""By the name of the architecture: every name that a config accepts."""
OTHERS = Sizes(group=4, images=128)
"""For a user's own network."""

_CHANNELS = 3
_SIDES: dict[str, int | None] = {"conv2": 32, "conv3": 32, "conv6": 32, "small": 32, "heads": None}
"""Pixels of the side of the images that the table was made for; None: features, which do not grow with the image."""
_OTHER_SIDE = 96
"""The paper's largest images, those of STL-10."""


def sizes(net: object, shape: tuple[int, int, int] | None = None) -> Sizes:
    """Return the entry of the table, with fewer images if an image (channels, height, width) is larger than its own.

    >>> sizes("small", (1, 8, 8)), sizes("small", (3, 64, 64))
    (Sizes(group=10, images=512), Sizes(group=10, images=128))
    """
    name = net if isinstance(net, str) else ""
    entry, side = SIZES.get(name, OTHERS), _SIDES.get(name, _OTHER_SIDE)
    if shape is None or side is None:
        return entry
    most = _CHANNELS * side**2
    numbers = max(shape[0], _CHANNELS) * shape[1] * shape[2]
    return entry if numbers <= most else replace(entry, images=max(1, entry.images * most // numbers))
