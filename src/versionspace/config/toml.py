"""Read a `Config` from a preset or a TOML file, and write it as TOML. Every mistake is an InputError."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import tomli_w
from pydantic import BaseModel, ValidationError

from versionspace.config.model import Config
from versionspace.errors import InputError
from versionspace.text import did_you_mean, nearest

_FOLDER = resources.files("versionspace.config") / "presets"

PRESETS: tuple[str, ...] = (
    "demo",
    "paper/mnist",
    "paper/fashion-mnist",
    "paper/svhn",
    "paper/stl10",
    "small/mnist",
    "small/fashion-mnist",
    "small/svhn",
    "small/stl10",
)
"""The names of the configs that come with the package."""


def read_config(preset_or_path: str | Path, changes: Iterable[str] = ()) -> Config:
    """Return the config of a preset or a TOML file, with changes such as ``"budget.total=200"``.

    Raises InputError if there is no such preset or file, or if a key or a value is invalid.

    >>> read_config("demo", ["budget.total=40"]).budget.total
    40
    """
    name = str(preset_or_path)
    if name in PRESETS:
        return parse_config(preset_text(name), f"preset {name}", changes, preset=name)
    path = Path(name).expanduser()
    if not path.is_file():
        raise _unknown_preset(name, "a TOML file or a preset: ")
    try:
        return parse_config(path.read_text(encoding="utf-8"), name, changes)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            name, expected="a TOML file that can be read", got=str(error), fix="Check the file."
        ) from error


def preset_text(name: str) -> str:
    """Return the TOML text of a preset, with its comments.

    >>> preset_text("demo").startswith("#")
    True
    """
    if name not in PRESETS:
        raise _unknown_preset(name, "a preset: ")
    return (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")


def _unknown_preset(name: str, before: str) -> InputError:
    folder = ", which is a folder" if Path(name).expanduser().is_dir() else ""
    return InputError(
        "config",
        expected=before + ", ".join(PRESETS),
        got=repr(name) + folder,
        fix=did_you_mean(name, PRESETS, "Check the path.", cutoff=0.4),
    )


def parse_config(text: str, name: str = "config", changes: Iterable[str] = (), preset: str = "") -> Config:
    """Return the config in a TOML text, with changes as in `read_config`. ``name``: how errors call the text.

    >>> parse_config("[data]\\nname = 'digits'\\n[budget]\\ntotle = 5")
    Traceback (most recent call last):
    versionspace.errors.InputError: config: expected a known key, got budget.totle. Did you mean budget.total?
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            name, expected="TOML", got=str(error), fix="Strings need quotes, and sections [brackets]."
        ) from error
    if preset:
        values["preset"] = preset
    for change in changes:
        _apply(change, values)
    return validate_config(values, name)


def validate_config(values: Mapping[str, Any], name: str) -> Config:
    """Return values as a `Config`. Raises InputError for the first invalid value; ``name``: what it calls them."""
    with as_input_errors(name):
        return Config.model_validate(dict(values))


@contextmanager
def as_input_errors(name: str) -> Iterator[None]:
    """Re-raise a pydantic ValidationError as an InputError about the first invalid value."""
    try:
        yield
    except ValidationError as error:
        raise _input_error(error, name) from error


def with_changes(config: Config, changes: Iterable[str]) -> Config:
    """Return a config with changes such as ``"budget.total=200"``.

    >>> with_changes(read_config("demo"), ["budget.total=40"]).budget.total
    40
    """
    return parse_config(to_toml(config), "config", changes)


def to_toml(config: Config) -> str:
    """Return a config as TOML, without values that are not set.

    >>> parse_config(to_toml(read_config("demo"))) == read_config("demo")
    True
    """
    return tomli_w.dumps(_without_unset(config.model_dump(mode="json")))


def _without_unset(values: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in values.items():
        kept = _without_unset(value) if isinstance(value, dict) else value
        if kept is not None and kept != {}:
            result[name] = kept
    return result


def _apply(change: str, values: dict[str, Any]) -> None:
    """Apply ``section.key=value`` to the values of a config."""
    key, equals, text = change.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise InputError(
            "set", expected="section.key=value", got=repr(change), fix="For example --set budget.total=200."
        )
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()  # --set data.name=digits needs no quotes in the shell
    inner = values
    for part in parts[:-1]:
        inner = inner.setdefault(part, {})
        if not isinstance(inner, dict):
            raise InputError("set", expected="section.key=value", got=repr(change), fix=f"{part} is not a section.")
    inner[parts[-1]] = value


def _input_error(error: ValidationError, name: str) -> InputError:
    errors = error.errors()
    # A misspelt key may also be reported as missing; the misspelling says more.
    first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        near = nearest(where, _keys(Config))
        fix = f"Did you mean {near}?" if near else f"Known: {', '.join(_beside(where))}."
        return InputError(name, expected="a known key", got=where, fix=fix)
    if first["type"] == "missing":
        return InputError(name, expected=f"a value for {where}", got="none", fix=f"Add {where}.")
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        return InputError(f"{name}: {cause.name}", expected=cause.expected, got=cause.got, fix=cause.fix)
    message = first["msg"].removeprefix("Value error, ")
    expected = message[0].lower() + message[1:]
    expected = expected.removeprefix("input should be ")
    return InputError(
        f"{name}: {where}" if where else name,
        expected=expected,
        got=repr(first["input"]) if where and not isinstance(first["input"], dict) else "something else",
        fix="See docs/campaigns.md for every key.",
    )


def _keys(model: type[BaseModel], before: str = "") -> list[str]:
    """Return every key, as section.key."""
    keys = []
    for name, field in model.model_fields.items():
        inner = [t for t in (field.annotation, *get_args(field.annotation)) if isinstance(t, type)]
        sections = [t for t in inner if issubclass(t, BaseModel)]
        keys += _keys(sections[0], f"{before}{name}.") if sections else []
        keys.append(before + name)
    return keys


def _beside(where: str) -> list[str]:
    """Return the known keys of the section that an unknown key is in."""
    section = where.rpartition(".")[0]
    return [key for key in _keys(Config) if key.rpartition(".")[0] == section]
