"""What differs between two configs, as far as it matters to a result."""

from typing import Any

from versionspace.config.model import Config
from versionspace.query.methods import TABLE

_OF_NO_MATTER = ("grid", "machine")
_NOTHING = "nothing"

VOTE = "query.vote"


def differences(before: Config, now: Config, but: tuple[str, ...] = ()) -> list[str]:
    """Keys that differ, as ``budget.total: 400 before, 200 now``; threads and the extent of a grid do not count.

    >>> from versionspace.config.toml import read
    >>> differences(read("demo"), read("demo", ["query.size=7", "machine.threads=1"]))
    ['query.size: 15 before, 7 now']
    """
    if not any(TABLE[method].takes_vote for method in (before.query.method, *before.grid.methods)):
        but = (*but, VOTE)  # nothing was asked by it so far
    old, new = settings(before, but), settings(now, but)
    return [
        f"{key}: {old.get(key, _NOTHING)} before, {new.get(key, _NOTHING)} now"
        for key in sorted(old | new)
        if old.get(key, _NOTHING) != new.get(key, _NOTHING)
    ]


def settings(config: Config, but: tuple[str, ...] = ()) -> dict[str, str]:
    """Everything that matters to a result, one line a key.

    >>> from versionspace.config.toml import read
    >>> settings(read("demo"))["query.size"]
    '15'
    """
    skipped = (*_OF_NO_MATTER, *but)
    return {
        key: _shown(value)
        for key, value in _flat(config.model_dump(mode="json")).items()
        if not any(key == one or key.startswith(one + ".") for one in skipped)
    }


def same_start(config: Config) -> dict[str, Any]:
    """What the first ensemble depends on: two campaigns that agree on this share it."""
    values = config.model_dump(mode="json")
    return {
        **{name: values[name] for name in ("seed", "data", "ensemble", "training", "oracle")},
        "audit": config.budget.audit,
    }


def _flat(values: dict[str, Any], before: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            out |= _flat(value, f"{before}{name}.")
        else:
            out[before + name] = value
    return out


def _shown(value: Any) -> str:
    return _NOTHING if value is None else repr(value)
