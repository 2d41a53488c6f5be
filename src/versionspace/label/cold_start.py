"""Images unlike those asked so far: farthest-first traversal (k-centre) on simple features, kept up to date."""

from collections.abc import Collection, Iterable

import numpy as np

from versionspace import rng
from versionspace.campaign import CampaignImages, simple_features
from versionspace.store import Event, Proposed, as_ids
from versionspace.types import Array, ImageId


class FarthestFirst:
    """Squared distance from every askable image to the nearest one that was asked: a view of the ledger.

    Each asked image costs N·F.
    """

    def __init__(self, images: CampaignImages, seed: int) -> None:
        ids = images.roles.askable()
        self.ids: tuple[ImageId, ...] = as_ids(ids)
        self._rows = {image: row for row, image in enumerate(self.ids)}
        pixels = images.pixels(ids)
        self._features = simple_features(pixels).astype(np.float32) if len(ids) else np.empty((0, 1), np.float32)
        self._squares = np.einsum("nf,nf->n", self._features, self._features)
        self._distance = np.full(len(ids), np.inf, np.float32)
        self._never_asked, self._present = np.ones(len(ids), np.bool_), np.ones(len(ids), np.bool_)
        self._ties = rng.as_uniforms(rng.id_hashes(rng.key(seed, "spread"), ids)) if len(ids) else np.empty(0)

    def __contains__(self, image: ImageId) -> bool:
        return image in self._rows

    def apply(self, event: Event) -> None:
        """Update the view with a committed event."""
        for image in Proposed.from_body(event.body).ids if event.kind == "proposed" else ():
            row = self._rows.get(image)
            if row is not None and self._never_asked[row]:
                self._never_asked[row] = False
                self._move_nearer(self._distance, row)

    def set_missing(self, images: Iterable[ImageId]) -> None:
        """Choose none of these images; all others may be chosen."""
        self._present[:] = True
        self._present[[self._rows[i] for i in images if i in self]] = False

    def choose(self, count: int, exclude: Collection[ImageId] = ()) -> dict[ImageId, float]:
        """Return up to ``count`` images, each the farthest from all before it, with that distance.

        The first image of all is chosen at random and has distance 0. The view does not change: an image counts as
        asked only once the ledger says so.
        """
        distance, free = self._distance.copy(), self._never_asked & self._present
        free[[self._rows[i] for i in exclude if i in self]] = False
        chosen: dict[ImageId, float] = {}
        for _ in range(count):
            rows = np.flatnonzero(free)
            if not len(rows):
                break
            is_first = not np.isfinite(distance[rows[0]])
            best = int(rows[np.argmax(self._ties[rows] if is_first else distance[rows])])
            chosen[self.ids[best]] = 0.0 if is_first else float(np.sqrt(max(0.0, distance[best])))
            free[best] = False
            self._move_nearer(distance, best)
        return chosen

    @property
    def left(self) -> int:
        """Number of images that are present and were never asked."""
        return int((self._never_asked & self._present).sum())

    def _move_nearer(self, distance: Array, row: int) -> None:
        """Lower distances in place where the image in ``row`` is nearer than all before it."""
        to_row = self._squares - 2 * (self._features @ self._features[row]) + self._squares[row]
        np.minimum(distance, to_row, out=distance)
