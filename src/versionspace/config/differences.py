"""The differences between two configs, as far as they affect a result."""

from typing import Any

from versionspace.config.model import Config
from versionspace.query import TABLE

_WITHOUT_EFFECT = ("grid", "machine")
"""Sections that do not affect the result of a campaign."""
_NOTHING = "nothing"

VOTE = "query.vote"
PATHS = ("data.name", "data.features", "data.ids")
"""Keys that name files of the user, which may be moved."""


def differences(before: Config, now: Config, ignore: tuple[str, ...] = ()) -> list[str]:
    """Return the keys that differ, as ``budget.total: 400 before, 200 now``.

    Left out are keys that do not affect a result (threads, device, the methods and seeds of a grid), and the keys and
    sections in ``ignore``.

    >>> from versionspace.config.toml import read_config
    >>> differences(read_config("demo"), read_config("demo", ["query.size=7", "machine.threads=1"]))
    ['query.size: 15 before, 7 now']
    """
    if not any(TABLE[method].takes_vote for method in (before.query.method, *before.grid.methods)):
        ignore = (*ignore, VOTE)  # no campaign has used it so far
    old, new = flat_settings(before, ignore), flat_settings(now, ignore)
    return [
        f"{key}: {old.get(key, _NOTHING)} before, {new.get(key, _NOTHING)} now"
        for key in sorted(old | new)
        if old.get(key, _NOTHING) != new.get(key, _NOTHING)
    ]


def flat_settings(config: Config, ignore: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the settings that affect a result, by ``section.key``, except the keys and sections in ``ignore``.

    >>> from versionspace.config.toml import read_config
    >>> flat_settings(read_config("demo"))["query.size"]
    '15'
    """
    left_out = (*_WITHOUT_EFFECT, *ignore)
    return {
        key: _NOTHING if value is None else repr(value)
        for key, value in _flatten(config.model_dump(mode="json")).items()
        if not any(key == name or key.startswith(name + ".") for name in left_out)
    }


def first_ensemble_settings(config: Config) -> dict[str, Any]:
    """Return the settings that the first ensemble depends on: campaigns that agree on them share it."""
    values = config.model_dump(mode="json")
    return {
        **{name: values[name] for name in ("seed", "data", "ensemble", "training", "oracle")},
        "audit": config.budget.audit,
    }


def _flatten(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat
