"""Record everything that affects bitwise reproducibility when a campaign begins; reject changes to it on resume."""

import hashlib
import logging
import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from versionspace.campaign.images import CampaignImages
from versionspace.campaign.learner import extractor_name, group_sizes, training_of
from versionspace.config import PATHS, VOTE, Config, Policy, flat_settings
from versionspace.data import DATASETS, Dataset
from versionspace.features import make_extractor
from versionspace.machine import cores
from versionspace.query import TABLE
from versionspace.runtime import arithmetic, pick_device
from versionspace.store import Event, State, StoreError, canonical_json

TRUTH = "truth"
"""Key in the body of a "split" event: a hash of the known labels."""

FEATURES = "features"
"""Key in the dataset of a "begun" event: the SHA-256 of a features file."""

ARITHMETIC = "arithmetic"
"""Key in the environment of an event: what decides how floating-point numbers are rounded."""

EXTRACTOR = "extractor"
"""Key in the body of a "begun" event: the identity of the learner's extractor."""

_log = logging.getLogger("versionspace.campaign")


def environment_events(
    config: Config,
    dataset: Dataset,
    state: State,
    *,
    threads: int | None,
    accept_different: bool,
    first_ensemble: Mapping[str, Any] | None = None,
    reopening: bool = False,
) -> list[Event]:
    """Return the event that records what a campaign runs under now; raise StoreError if that would change its results.

    A campaign whose results need not be reproducible resumes under any versions and settings of the training; what
    changed is recorded. A campaign that has ended may be read under any versions, and nothing is recorded, unless it is
    ``reopening``. ``first_ensemble``: the `numerics` under which the first ensemble of its grid was trained.
    """
    reproducible = Policy.of(config).reproducible
    body, environment = _body(config, dataset), _environment(config, threads)
    if state.begun is None:
        now = numerics(config)
        if first_ensemble is not None and not accept_different:
            _reject_other_numerics(first_ensemble, now, "grid")
        return [Event("begun", 0, body | _extractor(config), environment=environment | now)]
    if reproducible:
        _reject_other_settings(state.begun["config"], body["config"])
    upgrades = _changed_versions(state.environment if reproducible else state.latest_environment, environment)
    if state.ended and not reopening and (reproducible or not upgrades):
        return []
    changed = {key: body[key] for key in ("sizes", "training", "dataset", "net") if _differs(key, state.begun, body)}
    _reject_other_training(config, state.begun, changed, accept_different)
    _reject_other_extractor(state.begun, _extractor(config))
    if upgrades and not reproducible:
        _log.warning("%s. Labels are unchanged; models may differ in their last bits.", "; ".join(upgrades))
    now = numerics(config)
    if reproducible and not accept_different:
        _reject_other_numerics(state.environment, now, "campaign")
        if first_ensemble is not None and not state.metrics:
            _reject_other_numerics(first_ensemble, now, "grid")
    moved = {} if state.begun["dataset"]["name"] == config.data.name else {"images": config.data.name}
    return [Event("resumed", environment=environment | now | changed | moved)]


def numerics(config: Config) -> dict[str, Any]:
    """Return what can change a bit of a result and is no setting: versions, and how the CPU or device rounds.

    Without the device if results need not be reproducible: labelling continues where the device is not available.
    """
    if not Policy.of(config).reproducible:
        return {"versions": _versions()}
    return {"versions": _versions(), ARITHMETIC: arithmetic(pick_device(config.machine.device))}


def reject_other_classes(config: Config, dataset: Dataset, begun: Mapping[str, Any]) -> None:
    """Raise StoreError if the classes changed: labels of a folder are numbers, and would mean other classes."""
    before, now = list(begun["classes"]), _classes(config, dataset)
    if before != now:
        raise StoreError(
            "classes", expected=f"{', '.join(before)}, as when the campaign began", got=", ".join(now),
            fix="Restore the names of the class folders, or labels.csv, or begin anew in another folder.",
        )  # fmt: skip


def reject_other_labels(images: CampaignImages, split: Mapping[str, Any]) -> None:
    """Raise StoreError if the known labels are not those of when the campaign began; ``split``: body of that event."""
    if split[TRUTH] != images.digest():
        raise StoreError(
            "labels", expected="the labels of its images that the campaign began with", got="others",
            fix="Move files that are in another class folder back, restore labels.csv, or begin anew.",
        )  # fmt: skip


def reject_other_features(config: Config, dataset: Dataset, begun: Mapping[str, Any]) -> None:
    """Raise StoreError if the features come from a file with another content than when the campaign began."""
    if begun["dataset"].get(FEATURES, "") != dataset.features_sha256:
        raise StoreError(
            str(config.data.features or config.data.name), expected="the features that the campaign began with",
            got="a file with another content" + (", or other names in data.ids" if config.data.ids else ""),
            fix="Restore it, or begin anew in another folder; labels can be exported and imported there.",
        )  # fmt: skip


def _body(config: Config, dataset: Dataset) -> dict[str, Any]:
    height, width, channels = dataset.train.shape
    checksums = dict(dataset.checksums) if dataset.report is None else {}
    sha256 = hashlib.sha256(canonical_json(checksums).encode()).hexdigest()
    features = {FEATURES: dataset.features_sha256} if dataset.features_sha256 else {}
    return {
        "method": config.query.method,
        "seed": config.seed,
        "classes": _classes(config, dataset),
        "net": config.ensemble.net,
        "sizes": asdict(group_sizes(config, (channels, height, width))),
        "training": asdict(training_of(config, dataset.train.labels is not None)),
        "config": _settings(config),
        "dataset": {"name": config.data.name, "sha256": sha256, **features},
    }


def _environment(config: Config, threads: int | None) -> dict[str, Any]:
    return {
        "versions": _versions(),
        "python": platform.python_version(),
        "threads": threads or cores(),
        "device": config.machine.device,
        "host": platform.node(),
        "system": platform.platform(),
    }


def _classes(config: Config, dataset: Dataset) -> list[str]:
    return list(config.data.classes or dataset.classes)


def _settings(config: Config) -> dict[str, str]:
    """Return the settings that must not change.

    Not the path of a folder, which may be moved since its images are compared one by one, nor of a features file, whose
    content is compared; nor a vote that the method does not use.
    """
    path = () if config.data.name in DATASETS else PATHS
    unused = () if TABLE[config.query.method].takes_vote else (VOTE,)
    return flat_settings(config, ignore=("preset", *path, *unused))


def _reject_other_settings(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    changed = [
        f"{key}: {before.get(key, 'nothing')} before, {now.get(key, 'nothing')} now"
        for key in sorted({*before, *now})
        if before.get(key, "nothing") != now.get(key, "nothing")
    ]
    if changed:
        raise StoreError(
            "campaign.toml", expected="the settings that the campaign began with", got="; ".join(changed),
            fix="Restore them, or begin anew in another folder; Campaign.reopen changes the budget.",
        )  # fmt: skip


def _reject_other_training(
    config: Config, begun: Mapping[str, Any], changed: Mapping[str, Any], accept_different: bool
) -> None:  # fmt: skip
    fixed = {"dataset", "net"}
    if Policy.of(config).reproducible:
        fixed |= {"training"} if accept_different else {"training", "sizes"}
    for key in changed:
        if key in fixed:
            fix = "resume with --accept-different: results may then differ." if key == "sizes" else "begin anew."
            raise StoreError(
                f"{config.data.name}: {key}", expected=f"{begun[key]}, as when the campaign began",
                got=str(changed[key]), fix=f"Use the version of versionspace that began it, or {fix}",
            )  # fmt: skip


def _extractor(config: Config) -> dict[str, str]:
    """Return the identity of the learner's extractor; empty if it sees pixels."""
    name = extractor_name(config)
    return {} if name is None else {EXTRACTOR: make_extractor(name).identity}


def _reject_other_extractor(begun: Mapping[str, Any], now: Mapping[str, str]) -> None:
    """Raise StoreError if weights or preprocessing of the extractor changed: rounds could not be compared."""
    if EXTRACTOR in begun and begun[EXTRACTOR] != now.get(EXTRACTOR):
        raise StoreError(
            "ensemble.extractor", expected=f"{begun[EXTRACTOR]}, as when the campaign began",
            got=str(now.get(EXTRACTOR)),
            fix="Restore its weights and its preprocessing, or begin anew in another folder. hf:NAME@REVISION names a "
            "version on the hub.",
        )  # fmt: skip


def _reject_other_numerics(before: Mapping[str, Any], now: Mapping[str, Any], what: str) -> None:
    """``what`` began under ``before``: "campaign" or "grid"."""
    if changed := _changed_versions(before, now):
        raise StoreError(
            "versions", expected=f"those that the {what} began with", got="; ".join(changed),
            fix="Install those, or resume with --accept-different: results may then differ.",
        )  # fmt: skip
    if before[ARITHMETIC] != now[ARITHMETIC]:
        raise StoreError(
            "processor", expected=f"{before[ARITHMETIC]}, on which the {what} began", got=now[ARITHMETIC],
            fix="Resume there, or here with --accept-different: this one rounds differently, so that trained members "
            "differ and ask for other images.",
        )  # fmt: skip


def _changed_versions(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    known = before["versions"]
    return [
        f"{name} {known.get(name, 'none')} before, {installed} now"
        for name, installed in now["versions"].items()
        if known.get(name, "none") != installed
    ]


def _differs(key: str, begun: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether a value changed. Of a folder of images, the path does not count."""
    if key == "dataset" and now["dataset"]["name"] not in DATASETS:
        return bool(begun["dataset"]["sha256"] != now["dataset"]["sha256"])
    return bool(begun[key] != now[key])


def _versions() -> dict[str, str]:
    return {name: _version(name) for name in ("versionspace", "torch", "numpy")}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
