"""Open the dataset that a config names: a published one, a folder of images or a features file, which may be moved."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.campaign.file_features import computed_from_files
from versionspace.campaign.images import CampaignImages, Roles, draw_roles, subsets_with_other_folders
from versionspace.config import Config, DataConfig, Policy, answered_by_person
from versionspace.data import (
    DATASETS,
    Dataset,
    fetch,
    frame,
    info,
    is_features_file,
    is_folder,
    load,
    pair_with_features,
    read_features,
)
from versionspace.errors import InputError
from versionspace.text import printable


class Datasets:
    """The datasets that one process has opened and the roles that it has drawn, so that it does neither twice.

    >>> from versionspace.config import read_config
    >>> datasets, config = Datasets(), read_config("demo")
    >>> datasets.open(config) is datasets.open(config)
    True
    """

    def __init__(self) -> None:
        self._opened: dict[Any, Dataset] = {}
        self._roles: dict[Any, Roles] = {}

    def open(self, config: Config, campaign: Path | None = None) -> Dataset:
        """Return the config's dataset; ``campaign`` as for `open_dataset`."""
        key = _key(config)
        if key not in self._opened:
            self._opened[key] = open_dataset(config, campaign)
        return self._opened[key]

    def remember(self, config: Config, dataset: Dataset) -> None:
        """Return this dataset from now on whenever the config's is opened."""
        self._opened[_key(config)] = dataset

    def draw(self, config: Config) -> CampaignImages:
        """Return the images of a new campaign. Methods with the same seed share their roles."""
        dataset = self.open(config)
        key = (*_key(config), config.seed, config.budget.audit)
        if key not in self._roles:
            self._roles[key] = draw_roles(config, dataset)
        return CampaignImages(dataset, self._roles[key])


def _key(config: Config) -> tuple[DataConfig, Policy]:
    """Return what a dataset depends on. A folder is the same by a relative and by an absolute path."""
    return with_absolute_images(config).data, Policy.of(config)


def open_dataset(config: Config, campaign: Path | None = None) -> Dataset:
    """Return the config's dataset.

    ``campaign``: the folder of a campaign that began with it. If its images are no longer where they were, the error
    says how to resume it with their new location.
    """
    data = config.data
    if campaign is not None:
        _reject_moved(config, campaign)
    dataset = _open_named(config)
    if data.features is None:
        return dataset
    names = None if data.ids is None else Path(data.ids).expanduser()
    return pair_with_features(dataset, read_features(data.features), names)


def open_pictures(config: Config) -> Dataset:
    """Return the images that a person sees: those of a folder even if the learner uses features of them."""
    return _open_named(config)


def _open_named(config: Config) -> Dataset:
    data, options = config.data, _folder_options(config)
    if not config.data.follow_links:
        options["follow_links"] = False
    if computed_from_files(config) or (data.features is not None and answered_by_person(config)):
        options["lazy"] = True
    if data.classes and not Policy.of(config).trust_folder_labels:
        return open_for_labelling(data.name, data.classes, progress=None if "lazy" in options else False, **options)
    return load(data.name, progress=False, **options | ({"classes": data.classes} if data.classes else {}))


def _reject_moved(config: Config, campaign: Path) -> None:
    """Raise InputError if the images or features that a campaign began with are no longer where they were."""
    data, person = config.data, answered_by_person(config)
    location, vectors = Path(data.name).expanduser(), is_features_file(data.name)
    if data.name not in DATASETS and not (is_folder(location) or (vectors and location.is_file())):
        command = f"label PHOTOS --campaign {campaign}" if person else f"resume {campaign} --images PHOTOS"
        command = command.replace("PHOTOS", "FILE") if vectors else command
        kind, where = ("features file", "file") if vectors else ("folder of images", "folder")
        raise InputError(
            printable(data.name), expected=f"the {kind} that the campaign began with", got=f"no {where} there",
            fix=f"Put it back, or pass its new location: `versionspace {command}`. Labels are safe.",
        )  # fmt: skip
    for option, file in (("features", data.features), ("ids", data.ids)):
        if file is not None and not Path(file).expanduser().is_file():
            again = f"`versionspace label --campaign {campaign} --{option} FILE`"
            raise InputError(
                printable(file), expected="the file of features that the campaign began with", got="no file there",
                fix=f"Put it back, or pass its new location: {again if person else f'data.{option} in campaign.toml'}. "
                "Labels are safe.",
            )  # fmt: skip


def open_for_labelling(name: str, classes: tuple[str, ...], progress: bool | None = False, **options: Any) -> Dataset:
    """Return a dataset with the classes that a person chose for it.

    Labels from a labels.csv count if they are of these classes. Names of sub-folders count as labels only if all of
    them are classes: folders may be named after years, say. This is decided here for the images to be labelled, and in
    `draw_roles` for validation and test: their images may already have a role from before such folders were added.
    """
    dataset = load(name, progress=progress, **options)
    if dataset.report is None:
        if set(dataset.classes) <= set(classes):
            return load(name, progress=progress, **options, classes=classes)
        return replace(dataset, classes=classes, train=replace(dataset.train, labels=None), test=None, validation=None)
    numbers = np.array([classes.index(one) if one in classes else -1 for one in dataset.classes] + [-1])
    all_known = set(dataset.classes) <= set(classes)
    untrusted = subsets_with_other_folders(dataset, classes) & {"train"}
    parts: dict[str, Any] = {}
    for which, part in (("train", dataset.train), ("validation", dataset.validation), ("test", dataset.test)):
        if part is not None and part.labels is not None:
            labels = numbers[part.labels]
            known = all_known or ((labels >= 0).any() and which not in untrusted)
            parts[which] = replace(part, labels=labels if known else None)
    return replace(dataset, classes=classes, **parts)


def image_shape(config: Config) -> tuple[int, ...]:
    """Return height, width and channels of one image. A folder of images need not exist for it."""
    if config.data.name in DATASETS:
        return open_dataset(config).train.shape
    return frame(**_folder_options(config)).shape


def fetch_if_missing(name: str) -> None:
    """Download a published dataset that is not in the cache, before several processes open it."""
    if name in DATASETS and not info(name).cached:
        fetch(name)


def with_images(config: Config, images: Path) -> Config:
    """Return a config whose folder of images is at another path; the same config if it is the same folder."""
    if config.data.name in DATASETS:
        raise InputError(
            "images", expected=f"none for a campaign on {config.data.name}", got=printable(images), fix="Leave it out."
        )
    path = absolute_path(images)
    return config if _is_same_folder(config.data.name, path) else _with_data(config, name=str(path))


def with_absolute_images(config: Config) -> Config:
    """Return a config that names its folder of images by an absolute path."""
    data = config.data
    if data.name in DATASETS:
        return config
    files = {name: file for name, file in (("features", data.features), ("ids", data.ids)) if file is not None}
    return _with_data(config, name=_absolute(data.name), **{name: _absolute(file) for name, file in files.items()})


def with_features(config: Config, features: Path | None, ids: Path | None) -> Config:
    """Return a config whose features, and the names of their rows, are in other files; None leaves a path as it is."""
    changed = {name: _absolute(str(file)) for name, file in (("features", features), ("ids", ids)) if file is not None}
    return _with_data(config, **changed) if changed else config


def with_known_images(config: Config, before: Config) -> Config:
    """Return a config that names its folder of images as ``before`` does, if it is the same folder."""
    name, known = config.data.name, before.data.name
    same = name not in DATASETS and known not in DATASETS and _is_same_folder(known, Path(name))
    return _with_data(config, name=known) if same else config


def absolute_path(path: Path) -> Path:
    """Return the absolute path, which is never a bare name that could be a dataset's. Links are not resolved."""
    return Path(os.path.abspath(path.expanduser()))  # noqa: PTH100


def _is_same_folder(name: str, path: Path) -> bool:
    named = Path(name).expanduser()
    return absolute_path(named) == path or (path.exists() and named.exists() and path.samefile(named))


def _absolute(path: str) -> str:
    return str(absolute_path(Path(path)))


def _with_data(config: Config, **changes: str) -> Config:
    return config.model_copy(update={"data": config.data.model_copy(update=changes)})


def _folder_options(config: Config) -> dict[str, Any]:
    """Return how images of a folder are brought to one size, as far as the config says."""
    data = config.data
    options = {"size": data.size, "channels": data.channels, "fit": data.fit}
    return {name: value for name, value in options.items() if value is not None}
