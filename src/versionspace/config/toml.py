"""From a preset's name or a TOML file to a `Config`, and back to text. Mistakes become sentences."""

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
"""Configs that come with the package."""


def read(preset_or_path: str | Path, changes: Iterable[str] = ()) -> Config:
    """A preset by name, or a TOML file; ``changes`` like ``"budget.total=200"`` are made on the way.

    >>> read("demo", ["budget.total=40"]).budget.total
    40
    """
    name = str(preset_or_path)
    if name in PRESETS:
        return read_text(preset_text(name), f"preset {name}", changes, preset=name)
    path = Path(name).expanduser()
    if not path.is_file():
        raise _unknown_preset(name, "a TOML file or a preset: ")
    try:
        return read_text(path.read_text(encoding="utf-8"), name, changes)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            name, expected="a TOML file that can be read", got=str(error), fix="Check the file."
        ) from error


def preset_text(name: str) -> str:
    """A preset as it is written, with its comments.

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


def read_text(text: str, name: str = "config", changes: Iterable[str] = (), preset: str = "") -> Config:
    """A config from TOML text.

    >>> read_text("[data]\\nname = 'digits'\\n[budget]\\ntotle = 5")
    Traceback (most recent call last):
    versionspace.errors.InputError: config: expected a known key, got budget.totle. Did you mean budget.total?
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            name, expected="TOML", got=str(error), fix="Strings need quotes; sections [brackets]."
        ) from error
    if preset:
        values["preset"] = preset
    for change in changes:
        _change(values, change)
    return validated(values, name)


def validated(values: Mapping[str, Any], name: str) -> Config:
    """Values as a `Config`, or a sentence about the first thing that is wrong."""
    with sentences(name):
        return Config.model_validate(dict(values))


@contextmanager
def sentences(name: str) -> Iterator[None]:
    """What pydantic refuses becomes a sentence about the first thing that is wrong."""
    try:
        yield
    except ValidationError as error:
        raise _explained(error, name) from error


def changed(config: Config, changes: Iterable[str]) -> Config:
    """A config with changes like ``"budget.total=200"``.

    >>> changed(read("demo"), ["budget.total=40"]).budget.total
    40
    """
    return read_text(written(config), "config", changes)


def written(config: Config) -> str:
    """A config as TOML: what is not set is left out.

    >>> read_text(written(read("demo"))) == read("demo")
    True
    """
    return tomli_w.dumps(_without_nothing(config.model_dump(mode="json")))


def _without_nothing(values: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in values.items():
        kept = _without_nothing(value) if isinstance(value, dict) else value
        if kept is not None and kept != {}:
            out[name] = kept
    return out


def _change(values: dict[str, Any], change: str) -> None:
    key, equals, text = change.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise InputError(
            "set", expected="section.key=value", got=repr(change), fix="For example --set budget.total=200."
        )
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()  # --set data.name=digits: quotes are a nuisance in a shell
    inner = values
    for part in parts[:-1]:
        inner = inner.setdefault(part, {})
        if not isinstance(inner, dict):
            raise InputError("set", expected="section.key=value", got=repr(change), fix=f"{part} is no section.")
    inner[parts[-1]] = value


def _explained(error: ValidationError, name: str) -> InputError:
    found = error.errors()
    first = next((e for e in found if e["type"] == "extra_forbidden"), found[0])  # a misspelt key is also a missing one
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        near = nearest(where, _keys(Config))
        fix = f"Did you mean {near}?" if near else f"Known: {', '.join(_beside(where))}."
        return InputError(name, expected="a known key", got=where, fix=fix)
    if first["type"] == "missing":
        return InputError(name, expected=f"a value for {where}", got="none", fix=f"Add {where} to it.")
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
    """Every key as section.key."""
    out = []
    for name, field in model.model_fields.items():
        inner = [t for t in (field.annotation, *get_args(field.annotation)) if isinstance(t, type)]
        sections = [t for t in inner if issubclass(t, BaseModel)]
        out += _keys(sections[0], f"{before}{name}.") if sections else []
        out.append(before + name)
    return out


def _beside(where: str) -> list[str]:
    section = where.rpartition(".")[0]
    return [key for key in _keys(Config) if key.rpartition(".")[0] == section]
