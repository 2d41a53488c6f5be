"""Names of image files beside their ids in split.npz, so that an image that is gone can be named.

They are one array of bytes: a name may be long, and need not be text. Older folders have none.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from versionspace.store.replay import ImageId
from versionspace.types import Array

KEY = "files"
SETS = ("pool", "validation", "test")
"""Every image is in one of these; names are in their order."""


def packed(names: Sequence[str]) -> Array:
    """Names as bytes."""
    return np.frombuffer("\0".join(names).encode("utf-8", "surrogatepass"), np.uint8)


def names_in(arrays: Mapping[str, Array]) -> dict[ImageId, str]:
    r"""Where each image lay when the campaign began; empty where that was not stored.

    >>> arrays = {"pool": np.array(["ab", "cd"]), "validation": np.empty(0), "test": np.array(["ef"])}
    >>> names_in(arrays | {KEY: packed(["1.png", "caf\udce9.png", "x/3.png"])})
    {'ab': '1.png', 'cd': 'caf\udce9.png', 'ef': 'x/3.png'}
    >>> names_in(arrays)
    {}
    """
    if KEY not in arrays:
        return {}
    names = arrays[KEY].tobytes().decode("utf-8", "surrogatepass").split("\0")
    ids = [image for name in SETS for image in arrays[name].tolist()]
    return dict(zip(ids, names, strict=True))
