"""How many members share a pass and how many images go in at once: tables, so that no bit depends on the machine.

Between group sizes a member drifts by rounding, so these numbers are part of what a run is, and are saved with it.
Small networks gain from sharing a pass; in large ones a convolution of one member fills a core by itself.
"""

from dataclasses import dataclass


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


def sizes(net: object) -> Sizes:
    """The table's entry."""
    return SIZES.get(net, OTHERS) if isinstance(net, str) else OTHERS
