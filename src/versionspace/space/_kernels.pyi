"""The compiled kernels; _kernels.c documents each function."""

from versionspace.types import Array

def votes(probs: Array, classes: int, is_double: bool, tolerance: float, out: Array, /) -> int: ...
def subspaces(votes: Array, itemsize: int, members: int, images: int, /) -> tuple[bytes, bytes, bytes]: ...
def mistakes(
    probs: Array,
    votes: Array,
    members: int,
    images: int,
    classes: int,
    masks: Array,
    starts: Array,
    listed: Array,
    shared: Array,
    leave_one_out: bool,
    exact: bool,
    begin: int,
    end: int,
    out: Array,
    /,
) -> None: ...
