"""The compiled kernels; _kernels.c documents each function."""

from versionspace.types import Array

def votes(probs: Array, classes: int, is_double: bool, tolerance: float, out: Array, /) -> tuple[int, bool]: ...
def member_sums(probs: Array, is_double: bool, members: int, stride: int, begin: int, out: Array, /) -> None: ...
def row_sums(terms: Array, columns: int, out: Array, /) -> None: ...
def subspaces(votes: Array, itemsize: int, members: int, images: int, /) -> tuple[bytes, bytes, bytes]: ...
def mistakes(
    probs: Array,
    is_double: bool,
    votes: Array,
    members: int,
    images: int,
    classes: int,
    masks: Array,
    starts: Array,
    listed: Array,
    shared: Array,
    leave_one_out: bool,
    begin: int,
    end: int,
    out: Array,
    /,
) -> None: ...
def hard_mistakes(
    votes: Array,
    members: int,
    images: int,
    classes: int,
    starts: Array,
    listed: Array,
    shared: Array,
    leave_one_out: bool,
    begin: int,
    end: int,
    out: Array,
    /,
) -> None: ...
