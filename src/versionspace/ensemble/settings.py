"""How members are trained: the paper's settings, by dataset (appendix, "Implementation Details").

mnist          RMSProp 1e-4, halved after 10 epochs without a better validation accuracy, until below 1e-5; batch 16
others         SGD 1e-2 with momentum .8, divided by ten likewise, until below 1e-4; batch 32
all            at most 200 epochs, no augmentation, the last weights are kept
no-validation  as the others, but the training loss decides: for people who have no validation labels

How many members share a pass and how many images go in at once: tables, so that no bit depends on the machine.

Between group sizes a member drifts by rounding, so these numbers are part of what a run is, and are saved with it.
Small networks gain from sharing a pass; in large ones a convolution of one member fills a core by itself. Images larger
than those that the table was made for go in fewer at once, so that a pass takes about as much memory as with those.
"""

from dataclasses import dataclass, fields, replace
from typing import Literal

from versionspace.errors import InputError
from versionspace.types import is_count, is_number


@dataclass(frozen=True)
class Sizes:
    """For one architecture."""

    group: int
    """Members in one pass."""
    images: int
    """Images in one pass when nothing is trained."""


SIZES: dict[str, Sizes] = {
    "conv2": Sizes(group=5, images=256),
    "conv3": Sizes(group=5, images=256),
    "conv6": Sizes(group=5, images=128),
    "resnet18": Sizes(group=1, images=64),
    "small": Sizes(group=10, images=512),
    "heads": Sizes(group=10, images=512),
}
OTHERS = Sizes(group=4, images=128)
"""For a user's own network."""

_CHANNELS = 3
_SIDES = {"conv2": 32, "conv3": 32, "conv6": 32, "small": 32}
_OTHER_SIDE = 96
"""Pixels of the side of the images that the table was made for: the largest of the paper's, STL-10's being 96."""


def sizes(net: object, shape: tuple[int, int, int] | None = None) -> Sizes:
    """The table's entry, with fewer images at once where an image (channels, height, width) is larger than its own.

    >>> sizes("small", (1, 8, 8)), sizes("small", (3, 64, 64))
    (Sizes(group=10, images=512), Sizes(group=10, images=128))
    """
    name = net if isinstance(net, str) else ""
    found = SIZES.get(name, OTHERS)
    if shape is None or name == "heads":  # heads see features, of one length for images of any size
        return found
    most = _CHANNELS * _SIDES.get(name, _OTHER_SIDE) ** 2
    numbers = max(shape[0], _CHANNELS) * shape[1] * shape[2]
    return found if numbers <= most else replace(found, images=max(1, found.images * most // numbers))


@dataclass(frozen=True)
class Training:
    """Settings of one fit.

    >>> Training(epochs=50).rate
    0.01
    """

    optimiser: Literal["sgd", "rmsprop"] = "sgd"
    rate: float = 1e-2
    """The learning rate at the start."""
    momentum: float = 0.8
    decay: float = 0.1
    """What the rate is multiplied by on a plateau."""
    floor: float = 1e-4
    """Training stops once the rate is below this."""
    patience: int = 10
    """A plateau is exactly so many epochs in a row without a strict improvement."""
    epochs: int = 200
    """At most so many."""
    batch: int = 32
    watch: Literal["validation accuracy", "training loss"] = "validation accuracy"
    """What must improve. The training loss must fall by a thousandth of itself to count."""

    def __post_init__(self) -> None:
        limits = {
            "optimiser": (self.optimiser in ("sgd", "rmsprop"), "'sgd' or 'rmsprop'"),
            "rate": (is_number(self.rate) and self.rate > 0, "a positive number"),
            "momentum": (is_number(self.momentum) and 0 <= self.momentum < 1, "0 up to 1, without 1"),
            "decay": (is_number(self.decay) and 0 < self.decay < 1, "a number between 0 and 1"),
            "floor": (is_number(self.floor) and self.floor > 0, "a positive number"),
            "patience": (is_count(self.patience), "a whole number of at least 1"),
            "epochs": (is_count(self.epochs), "a whole number of at least 1"),
            "batch": (is_count(self.batch), "a whole number of at least 1"),
            "watch": (self.watch in ("validation accuracy", "training loss"), "one of the two things to watch"),
        }
        for name, (fine, expected) in limits.items():
            if not fine:
                raise InputError(
                    f"training.{name}",
                    expected=expected,
                    got=repr(getattr(self, name)),
                    fix="See versionspace.Training.",
                )


TRAININGS: dict[str, Training] = {
    "mnist": Training("rmsprop", rate=1e-4, decay=0.5, floor=1e-5, batch=16),
    "fashion-mnist": Training(),
    "svhn": Training(),
    "stl10": Training(),
    "no-validation": Training(watch="training loss"),
}
"""The paper's settings by dataset, and one for people without validation labels."""


def read_training(given: "Training | str | dict[str, object] | None", has_validation: bool = True) -> Training:
    """Settings, by name, as they are, or as changes to the paper's default."""
    if given is None:
        return TRAININGS["fashion-mnist" if has_validation else "no-validation"]
    if isinstance(given, Training):
        return given
    if isinstance(given, str) and given in TRAININGS:
        return TRAININGS[given]
    names = [field.name for field in fields(Training)]
    if isinstance(given, dict) and set(given) <= set(names):
        return Training(**given)  # type: ignore[arg-type]
    raise InputError(
        "training",
        expected=f"one of {', '.join(TRAININGS)}, a Training, or a dict with some of {', '.join(names)}",
        got=repr(given),
        fix="Pick a name, or change single settings: training={'epochs': 50}.",
    )
