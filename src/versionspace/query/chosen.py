"""What a set method returns: images in the order in which it took them, with the score of each at its turn."""

from typing import NamedTuple

from versionspace.types import Floats, Ints


class Chosen(NamedTuple):
    """Indices of k images, best first, and their utilities."""

    indices: Ints
    utilities: Floats
