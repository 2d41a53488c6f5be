"""Features of a folder of images, computed straight from the files: each image is decoded once, and no pixels are kept.

They are stored in a matrix on disk (`versionspace.features.FeatureStore`). Rounds can be run while some of it is still
missing: `FileFeatures.campaign_images` returns the images whose features are there.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from versionspace.campaign.id_sets import among
from versionspace.campaign.image_features import AUTO, MEMBERS
from versionspace.campaign.images import CampaignImages, Roles
from versionspace.campaign.learner import extractor_name
from versionspace.config import Config, answered_by_person
from versionspace.data import DATASETS, ExtractedFeatures, FolderImages, Subset, is_features_file
from versionspace.store import SPLIT_SETS
from versionspace.types import Array, Bools, ImageId, Ints

BLOCK = 128
"""Images that are decoded and computed between two calls of a progress function."""


def computed_from_files(config: Config) -> bool:
    """Return whether the learner sees features that are computed straight from the files of a person's folder."""
    data, extractor = config.data, extractor_name(config)
    folder = data.name not in DATASETS and not is_features_file(data.name) and data.features is None
    return answered_by_person(config) and folder and extractor is not None and (
        config.query.features in (AUTO, MEMBERS, extractor)
    )  # fmt: skip


class FileFeatures:
    """The features of the images of a campaign, computed when they are asked for.

    Args:
        config: the campaign's.
        images: the campaign's, decoded on access.
        threads: CPU threads; None: all cores.
    """

    def __init__(self, config: Config, images: CampaignImages, threads: int | None = None) -> None:
        from versionspace import runtime
        from versionspace.features import CachedExtractor, FeatureStore, make_extractor, storage_name

        name = extractor_name(config)
        assert name is not None
        extractor = make_extractor(name, device=runtime.pick_device(config.machine.device))
        self.images = images
        self.unreadable: dict[ImageId, str] = {}
        """Images that cannot be decoded, or that changed since the folder was read, and why."""
        self._extract = CachedExtractor(extractor, threads=runtime.pick_threads(threads), cache=False)
        pixels = images.dataset.train.images
        assert isinstance(pixels, FolderImages)
        self._shape = pixels.frame.shape
        all_ids = [ids for which in SPLIT_SETS if len(ids := getattr(images.all_roles, which))]
        ids = all_ids[0] if len(all_ids) == 1 else np.unique(np.concatenate(all_ids))
        self.store = FeatureStore(f"{storage_name(extractor)}-{pixels.frame.key}", extractor.width, ids)
        self._failed = np.zeros(len(ids), np.bool_)
        dataset = images.dataset
        self._subsets = [part for part in (dataset.train, dataset.validation, dataset.test) if part is not None]
        self._place, self._subset_of = np.full(len(ids), -1, np.int64), np.zeros(len(ids), np.int8)
        """The row of each image in its subset, -1 if its file is missing; and the number of the subset."""
        for number, part in enumerate(self._subsets):
            kept = np.flatnonzero(among(part.ids, ids))
            rows = self.store.rows(part.ids[kept])
            self._place[rows], self._subset_of[rows] = kept, number
        self._present: Bools = self._place >= 0
        self._dataset = replace(
            dataset, train=self._with_features(dataset.train), test=self._with_features(dataset.test),
            validation=self._with_features(dataset.validation),
        )  # fmt: skip

    @property
    def total(self) -> int:
        """The number of images whose files are present."""
        return int(self._present.sum())

    @property
    def ready(self) -> Bools:
        """Which images of ``store.ids`` have features."""
        return self.store.done & self._present

    def lacking(self, rows: Ints) -> Ints:
        """Return which of these rows of the store still have to be computed, in the same order."""
        return rows[~self.store.is_done(rows) & ~self._failed[rows] & self._present[rows]]

    def compute(self, rows: Ints, advance: Callable[[int], None] = lambda _: None) -> None:
        """Compute what is lacking of these rows of the store. ``advance`` is called with the size of each `BLOCK`."""
        todo = self.lacking(rows)
        for start in range(0, len(todo), BLOCK):
            block = todo[start : start + BLOCK]
            for number in np.unique(self._subset_of[block]).tolist():
                self._compute_block(self._subsets[number].images, block[self._subset_of[block] == number])
            advance(len(block))

    def _compute_block(self, images: Any, rows: Ints) -> None:
        """Compute the features of some rows of the store, whose images are all in the same subset."""
        pixels, kept = [], []
        for row, result in zip(rows.tolist(), images.decode(self._place[rows]), strict=True):
            if isinstance(result, str):
                self.unreadable[str(self.store.ids[row])] = result
                self._failed[row] = True
            else:
                pixels.append(result)
                kept.append(row)
        if kept:
            self.store.add(np.array(kept), self._extract.compute(np.stack(pixels)))

    def features(self, rows: Ints) -> Array:
        """Return the features (n, F) of rows that are ready, in memory."""
        return np.asarray(self.store.features[rows])

    def campaign_images(self, ready: Bools | None = None) -> CampaignImages:
        """Return the campaign's images with features in place of pixels: those that are ready, or of a part of them.

        Images that are not ready are left out of the roles. Those that are unreadable also count as missing.
        """
        images = self.images
        usable = self.ready if ready is None else ready & self.ready
        roles = Roles(**{name: self._only(ids, usable) for name, ids in images.roles.arrays().items()})
        missing = images.missing | self.unreadable.keys()
        return CampaignImages(self._dataset, roles, images.all_roles, images.stored_files, missing)

    def _only(self, ids: Array, usable: Bools) -> Array:
        kept = usable[self.store.rows(ids)] if len(ids) else np.zeros(0, np.bool_)
        return ids if kept.all() else ids[kept]

    def _with_features(self, part: Subset | None) -> Any:
        """Return the images of a subset that belong to the campaign, with their features."""
        if part is None:
            return None
        kept: Ints = np.flatnonzero(among(part.ids, self.store.ids))
        if not len(kept):
            return None
        rows = self.store.rows(part.ids[kept])
        features: Any = ExtractedFeatures(self.store.features, rows, self._shape)
        if len(kept) == len(part):
            return Subset(features, part.labels, part.ids, part.files)
        files = tuple((part.files or ())[row] for row in kept.tolist())
        return Subset(features, None if part.labels is None else part.labels[kept], part.ids[kept], files)
