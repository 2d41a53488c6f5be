"""Parsing of option values, and the exit codes.

0    success
1    a campaign failed, or a folder is damaged
2    invalid command or input; nothing was changed
130  stopped by Ctrl-C; nothing is lost
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from versionspace.errors import InputError

if TYPE_CHECKING:
    from versionspace.cluster import Cluster

FAILED = 1
REFUSED = 2
INTERRUPTED = 130

ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="local|auto|ray://HOST:PORT", show_default=False,
        help="Run on Ray: on this machine, on the cluster that it is part of, or on another one.",
    ),
]  # fmt: skip
ClusterSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--cluster-set", metavar="KEY=VALUE", show_default=False,
        help="Change a setting of the cluster, such as store=shared, cpus=4 or gpus=1; may be repeated.",
    ),
]  # fmt: skip


def read_names(text: str) -> list[str]:
    """Return the names in a comma-separated list.

    >>> read_names("gvd, pwd,")
    ['gvd', 'pwd']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def read_seeds(text: str) -> list[int]:
    """Return the numbers in a comma-separated list of numbers and ranges.

    >>> read_seeds("0-3,7")
    [0, 1, 2, 3, 7]
    """
    out: list[int] = []
    try:
        for part in read_names(text):
            first, dash, last = part.partition("-")
            out += range(int(first), int(last) + 1) if dash else [int(first)]
    except ValueError as error:
        raise InputError(
            "seeds", expected="whole numbers such as 0-3 or 0,2,5", got=repr(text), fix="Try 0-3."
        ) from error
    if not out:
        raise InputError("seeds", expected="at least one", got=repr(text), fix="For example 0-3.")
    return out


def read_cluster(address: str | None, settings: Sequence[str] | None, workers: int = 0) -> "Cluster | None":
    """Return the cluster of these options; None without an address. ``workers``: unless the settings name them.

    Raises InputError for an unknown address or setting, or for settings without an address.

    >>> read_cluster("local", ["cpus=2", "store=copy"]).copies
    True
    """
    if address is None:
        if settings:
            raise InputError("--cluster-set", expected="--cluster too", got=settings[0], fix="Add --cluster local.")
        return None
    from versionspace.cluster import cluster

    values: dict[str, Any] = {"workers": workers}
    for setting in settings or ():
        key, equals, text = setting.partition("=")
        if not equals:
            raise InputError("--cluster-set", expected="KEY=VALUE", got=repr(setting), fix="For example store=shared.")
        values[key.strip()] = _number_or_text(text.strip())
    return cluster(address, **values)


def _number_or_text(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
