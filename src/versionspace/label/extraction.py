"""The features of a large folder, computed piece by piece beside the rounds, and the images that a round may use.

Order: the sample that a cold start chooses from, the audit, a part of what is measured on, some others, the rest of
what is measured on, and all others. Within each the order is random, so that any part is a fair sample of the folder.
"""

import time

import numpy as np

from versionspace import rng
from versionspace.campaign import CampaignImages, FileFeatures, among, reject_missing_reference
from versionspace.label.trainer_messages import Extracted
from versionspace.store import State, as_ids
from versionspace.types import Array, Bools, Ints

SCORED = 20_000
"""The most images that a model scores while features of others are still being computed."""
MOST_SCORED = 150_000
"""The most images that a model scores at all: what it says about them has to fit into memory."""
MEASURED_FIRST = 1_000
"""Images of the reference set that the first model is measured on."""
PIECE = 128
"""Images computed at a time: the time that a request waits for."""


class Extraction:
    """Which features are computed next, and how fast.

    Args:
        files: computes them.
        seed: of the random order.
    """

    def __init__(self, files: FileFeatures, seed: int) -> None:
        self.files, self._store = files, files.store
        roles = files.images.roles
        self._order = np.argsort(rng.id_hashes(rng.key(seed, "features"), self._store.ids), kind="stable")
        """Rows of the store."""
        measured = np.zeros(len(self._order), np.bool_)
        for ids in (roles.reference, roles.validation, roles.test):
            measured[self._store.rows(ids)] = True
        self._measured = self._order[measured[self._order]]
        self._audit = self._store.rows(roles.audit)
        self._next = 0
        self._first = 0
        self._computed, self._busy_seconds, self._told_at = 0, 0.0, 0.0
        self._complete: CampaignImages | None = None

    def begin(self, sample: Array, first: int) -> None:
        """Put the images of this sample first, and then what the first model needs: ``first`` images in all."""
        front = np.concatenate([self._store.rows(sample), self._audit, self._measured[:MEASURED_FIRST]])
        is_other = np.ones(len(self._order), np.bool_)
        is_other[front] = is_other[self._measured] = False
        others, some = self._order[is_other[self._order]], max(0, first - len(front))
        self._order = np.concatenate([front, others[:some], self._measured[MEASURED_FIRST:], others[some:]])
        self._first = len(front) + len(others[:some])

    @property
    def has_first_work(self) -> bool:
        """Whether the first model has to wait for features."""
        return self._next < self._first

    @property
    def is_complete(self) -> bool:
        """Whether all features are computed that can be."""
        return self._next >= len(self._order)

    def advance(self) -> None:
        """Compute the next `PIECE` images that have no features; skip those that have them."""
        start, computed = time.monotonic(), 0
        while self._next < len(self._order) and not computed:
            stop = min(self._next + PIECE, self._first if self.has_first_work else len(self._order))
            lacking = self.files.lacking(self._order[self._next : stop])
            self.files.compute(lacking)
            computed, self._next = len(lacking), stop
        if computed:
            self._computed += computed
            self._busy_seconds += time.monotonic() - start

    def news(self, interval: float) -> Extracted | None:
        """Return how far the work is; None if that was said less than ``interval`` seconds ago.

        Until the first model can be trained, only what it needs counts.
        """
        total = self._first if self.has_first_work else len(self._order)
        if time.monotonic() - self._told_at < interval and self._next not in (self._first, len(self._order)):
            return None
        self._told_at = time.monotonic()
        per_image = self._busy_seconds / self._computed if self._computed else None
        return Extracted(self._next, total, None if per_image is None else per_image * (total - self._next))

    def images_for(self, state: State) -> CampaignImages:
        """Return the images for a round on these labels: all that have features, or a sample of them.

        Raises InputError if none of the images can be read that distances are measured on.
        """
        if self._complete is not None:
            return self._complete
        ids = np.array([i for i in state.places if isinstance(i, str)], self._store.ids.dtype)
        asked = self._store.rows(ids[among(ids, self._store.ids)])
        self.files.compute(asked)
        takes_all = self.is_complete and len(self._order) <= MOST_SCORED
        images = self.files.campaign_images(None if takes_all else self._sample(asked, len(state.metrics)))
        if not len(getattr(images.roles, images.reference_set)):
            reference = as_ids(getattr(images.all_roles, images.reference_set))
            reject_missing_reference(reference, images.missing, images.stored_files)
        if takes_all:
            self._complete = images
        return images

    def _sample(self, asked: Ints, round_: int) -> Bools:
        """Return which images of the store a round uses: what it needs, and a limited number of others.

        Once all have features, each round takes others, until all had their turn.
        """
        limit = MOST_SCORED if self.is_complete else SCORED
        chosen = np.zeros(len(self._order), np.bool_)
        rows = self._order[: self._next]
        rows = rows[self._store.is_done(rows)]
        if self.is_complete:
            rows = np.roll(rows, -limit * round_)
        chosen[rows[:limit]] = True
        for needed in (asked, self._measured, self._audit):
            chosen[needed] = True
        return chosen
