"""How many members share a pass and how many images go in at once: tables, so that no bit depends on the machine.

Between group sizes a member drifts by rounding, so these numbers are part of what a run is, and are saved with it.
Small networks gain from sharing a pass; in large ones a convolution of one member fills a core by itself. Images larger
than those that the table was made for go in fewer at once, so that a pass takes about as much memory as with those.
"""

from dataclasses import dataclass, replace


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
