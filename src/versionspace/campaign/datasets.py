"""Open the dataset that a config names: a published one, or a folder of images, which may be moved."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.campaign.images import CampaignImages, Roles, draw_roles, subsets_with_other_folders
from versionspace.config import Config, DataConfig, Policy, answered_by_person
from versionspace.data import DATASETS, Dataset, fetch, frame, info, is_folder, load
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
    data, options = config.data, _folder_options(config)
    if campaign is not None and data.name not in DATASETS and not is_folder(Path(data.name).expanduser()):
        person = answered_by_person(config)
        command = f"label PHOTOS --campaign {campaign}" if person else f"resume {campaign} --images PHOTOS"
        raise InputError(
            printable(data.name), expected="the folder of images that the campaign began with", got="no folder there",
            fix=f"Put it back, or pass its new location: `versionspace {command}`. Labels are safe.",
        )  # fmt: skip
    if data.classes and not Policy.of(config).trust_folder_labels:
        return open_for_labelling(data.name, data.classes, **options)
    return load(data.name, progress=False, **options | ({"classes": data.classes} if data.classes else {}))


def open_for_labelling(name: str, classes: tuple[str, ...], progress: bool | None = False, **options: Any) -> Dataset:
    """Return a dataset with the classes that a person chose for it.

    Labels from a labels.csv count if they are of these classes. Names of sub-folders count as labels only if all of
    them are classes: folders may be named after years, say. This is decided here for the images to be labelled, and in
    `draw_roles` for validation and test: their images may already have a role from before such folders were added.
    """
    dataset = load(name, progress=progress, **options)
    if set(dataset.classes) <= set(classes):
        return load(name, progress=progress, **options, classes=classes)
    if dataset.report is None:
        return replace(dataset, classes=classes, train=replace(dataset.train, labels=None), test=None, validation=None)
    numbers = np.array([classes.index(one) if one in classes else -1 for one in dataset.classes] + [-1])
    untrusted = subsets_with_other_folders(dataset, classes) & {"train"}
    parts: dict[str, Any] = {}
    for which, part in (("train", dataset.train), ("validation", dataset.validation), ("test", dataset.test)):
        if part is not None and part.labels is not None:
            labels = numbers[part.labels]
            known = (labels >= 0).any() and which not in untrusted
            parts[which] = replace(part, labels=labels if known else None)
    return replace(dataset, classes=classes, **parts)


def image_shape(config: Config) -> tuple[int, ...]:
    """Return height, width and channels of one image. A folder of images need not exist for it."""
    if config.data.name in DATASETS:
        return open_dataset(config).train.images.shape[1:]
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
    return config if _is_same_folder(config.data.name, path) else _with_data_name(config, str(path))


def with_absolute_images(config: Config) -> Config:
    """Return a config that names its folder of images by an absolute path."""
    name = config.data.name
    return config if name in DATASETS else _with_data_name(config, str(absolute_path(Path(name))))


def with_known_images(config: Config, before: Config) -> Config:
    """Return a config that names its folder of images as ``before`` does, if it is the same folder."""
    name, known = config.data.name, before.data.name
    same = name not in DATASETS and known not in DATASETS and _is_same_folder(known, Path(name))
    return _with_data_name(config, known) if same else config


def absolute_path(path: Path) -> Path:
    """Return the absolute path, which is never a bare name that could be a dataset's. Links are not resolved."""
    return Path(os.path.abspath(path.expanduser()))  # noqa: PTH100


def _is_same_folder(name: str, path: Path) -> bool:
    named = Path(name).expanduser()
    return absolute_path(named) == path or (path.exists() and named.exists() and path.samefile(named))


def _with_data_name(config: Config, name: str) -> Config:
    return config.model_copy(update={"data": config.data.model_copy(update={"name": name})})


def _folder_options(config: Config) -> dict[str, Any]:
    """Return how images of a folder are brought to one size, as far as the config says."""
    data = config.data
    options = {"size": data.size, "channels": data.channels, "fit": data.fit}
    return {name: value for name, value in options.items() if value is not None}
