"""Under what a campaign runs: versions, sizes, settings, classes. Written down at its start, compared ever after."""

import hashlib
import logging
import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from versionspace.campaign.images import Pictures
from versionspace.campaign.learner import group_sizes, training_of
from versionspace.config import VOTE, Config, flat_settings
from versionspace.data import DATASETS, Dataset
from versionspace.machine import cores
from versionspace.query.methods import TABLE
from versionspace.runtime import arithmetic, pick_device
from versionspace.store import Event, Ledger, StoreError, canonical_json, replay
from versionspace.types import Array

TRUTH = "truth"
"""In the event of a split: a hash of the labels that a campaign with known ones goes by."""

ROUNDING = "arithmetic"
"""Among what a campaign runs under: what rounds."""

_log = logging.getLogger("versionspace.campaign")


def agree(
    config: Config, dataset: Dataset, ledger: Ledger, threads: int | None, accept_different: bool, *,
    on: bool = False, grid: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Writes down what could move a bit before anything is trained; on resume, refuses what would.

    With a person nothing is to be repeated to the bit: what is other than before is written down again. One that has
    ended is looked at under any versions, unless it is to go ``on``. ``grid``: what the first ensemble was trained
    under, with which a new campaign of a grid is to start.
    """
    state, person = replay(ledger.events(), ledger=ledger.path), config.oracle.kind == "person"
    height, width, channels = dataset.train.images.shape[1:]
    table = group_sizes(config, (channels, height, width))
    checks = dict(dataset.checksums) if dataset.report is None else {}
    body: dict[str, Any] = {
        "method": config.query.method,
        "seed": config.seed,
        "classes": list(config.data.classes or dataset.classes),
        "net": config.ensemble.net,
        "sizes": asdict(table),
        "training": asdict(training_of(config, dataset.train.labels is not None)),
        "config": _settings(config),
        "dataset": {"name": config.data.name, "sha256": hashlib.sha256(canonical_json(checks).encode()).hexdigest()},
    }
    environment: dict[str, Any] = {
        "versions": _versions(),
        "python": platform.python_version(),
        "threads": threads or cores(),
        "device": config.machine.device,
        "host": platform.node(),
        "system": platform.platform(),
    }
    if state.begun is None:
        now = bits(config)
        if grid is not None and not accept_different:
            _same_bits(grid, now, "grid")
        ledger.append([Event("begun", 0, body, environment=environment | now)])
        return
    if not person:
        _same_settings(state.begun, body)
    changed = _others(state.latest_environment if person else state.environment, environment)
    if state.ended and not on and not (person and changed):
        return
    other = {name: body[name] for name in ("sizes", "training", "dataset", "net") if _differ(name, state.begun, body)}
    for name in (n for n in other if n in ("dataset", "net") or not (person or (accept_different and n == "sizes"))):
        rather = "go on with --accept-different: the numbers may then differ in their last bits."
        raise StoreError(
            f"{config.data.name}: {name}", expected=f"{state.begun[name]}, as when the campaign began",
            got=str(body[name]),
            fix=f"Go back to the version that began it, or {rather if name == 'sizes' else 'begin anew.'}",
        )  # fmt: skip
    if changed and person:
        _log.warning("%s. Labels are as they were; models may differ in their last bits.", "; ".join(changed))
    now = bits(config)
    if not (person or accept_different):
        _same_bits(state.environment, now, "campaign")
        if grid is not None and not state.metrics:
            _same_bits(grid, now, "grid")
    ledger.append([Event("resumed", environment=environment | now | other | _moved(state.begun, config))])


def bits(config: Config) -> dict[str, Any]:
    """What could move a bit and is no setting: versions, and what rounds.

    With a person nothing is repeated to the bit, and a device that is not there is the trainer's to name.
    """
    if config.oracle.kind == "person":
        return {"versions": _versions()}
    return {"versions": _versions(), ROUNDING: arithmetic(pick_device(config.machine.device))}


def _others(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    before = then["versions"]
    return [
        f"{name} {before.get(name, 'none')} before, {here} now"
        for name, here in now["versions"].items()
        if before.get(name, "none") != here
    ]


def _same_bits(then: Mapping[str, Any], now: Mapping[str, Any], what: str) -> None:
    """Ledgers and grids of older versions do not know what rounded."""
    if changed := _others(then, now):
        raise StoreError(
            "versions", expected=f"those that the {what} began with", got="; ".join(changed),
            fix="Install those, or go on with --accept-different: the numbers may then differ in their last bits.",
        )  # fmt: skip
    before, here = then.get(ROUNDING), now.get(ROUNDING)
    if before is not None and here is not None and before != here:
        raise StoreError(
            "processor", expected=f"{before}, on which the {what} began", got=here,
            fix="Go on there, or here with --accept-different: it rounds otherwise, and what is trained on other last "
            "bits asks for other images.",
        )  # fmt: skip


def _differ(name: str, begun: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Of a folder only the images count, which are compared one by one, and not where it lies."""
    if name == "dataset" and now["dataset"]["name"] not in DATASETS:
        return bool(begun["dataset"]["sha256"] != now["dataset"]["sha256"])
    return bool(begun[name] != now[name])


def _moved(begun: Mapping[str, Any], config: Config) -> dict[str, str]:
    name = config.data.name
    return {} if begun["dataset"]["name"] == name else {"images": name}


def same_classes(config: Config, dataset: Dataset, begun: Mapping[str, Any]) -> None:
    """Labels of a folder are numbers of its classes: with other classes they would be those of others."""
    before, now = list(begun["classes"]), list(config.data.classes or dataset.classes)
    if before != now:
        raise StoreError(
            "classes", expected=f"{', '.join(before)}, as when the campaign began", got=", ".join(now),
            fix="Name the folders of the classes, or labels.csv, as they were, or begin anew.",
        )  # fmt: skip


def same_truth(pictures: Pictures, split: Mapping[str, Any], test: Array | None) -> None:
    """A campaign with known labels goes by those that it began with; ``test``: what was stored of them.

    Older campaigns kept those of the test images alone.
    """
    now = pictures.truth("test")
    same_test = test is None or (now is not None and np.array_equal(test, now))
    if not same_test or (TRUTH in split and split[TRUTH] != pictures.digest()):
        raise StoreError(
            "labels", expected="the labels of its images that the campaign began with", got="others",
            fix="Put files that were moved to another class, or labels.csv, back as they were, or begin anew.",
        )  # fmt: skip


def _settings(config: Config) -> dict[str, str]:
    """A folder may be moved, its images are compared one by one; and a vote is only of some methods."""
    moves = () if config.data.name in DATASETS else ("data.name",)
    unused = () if TABLE[config.query.method].takes_vote else (VOTE,)
    return flat_settings(config, ignore=("preset", *moves, *unused))


def _same_settings(begun: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    """Half of a campaign with other settings would be neither. Older ledgers know the method and the seed."""
    before = begun.get("config") or {"query.method": repr(begun["method"]), "seed": repr(begun["seed"])}
    now = body["config"]
    changed = [
        f"{key}: {before[key]} before, {now[key]} now" for key in before if now.get(key, before[key]) != before[key]
    ]
    if changed:
        raise StoreError(
            "campaign.toml", expected="the settings that the campaign began with", got="; ".join(changed),
            fix="Put them back, or begin anew in another folder; Campaign.reopen changes the budget.",
        )  # fmt: skip


def _versions() -> dict[str, str]:
    return {name: _version(name) for name in ("versionspace", "torch", "numpy")}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
