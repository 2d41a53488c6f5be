"""Images unlike those seen so far, one by one: k-centre on simple features, kept up as images are asked."""

from collections.abc import Collection, Iterable

import numpy as np

from versionspace import rng
from versionspace.campaign.cold_start import simple_features
from versionspace.campaign.images import CampaignImages
from versionspace.store import as_ids
from versionspace.types import Array, ImageId

_CHUNK = 16_384


class Spread:
    """Distances from every askable image to the nearest that was asked. Cost N·F for each image asked."""

    def __init__(self, images: CampaignImages, seed: int) -> None:
        found = images.roles.askable()
        self.ids: tuple[ImageId, ...] = as_ids(found)
        self._rows = {image: row for row, image in enumerate(self.ids)}
        self._features = _features(images, found)
        self._squares = np.einsum("nf,nf->n", self._features, self._features)
        self._distance = np.full(len(found), np.inf, np.float32)
        self._unseen, self._there = np.ones(len(found), np.bool_), np.ones(len(found), np.bool_)
        self._ties = rng.as_uniforms(rng.id_hashes(rng.key(seed, "spread"), found)) if len(found) else np.empty(0)

    def __contains__(self, image: ImageId) -> bool:
        return image in self._rows

    def seen(self, image: ImageId) -> None:
        """An image was asked, here or elsewhere."""
        row = self._rows.get(image)
        if row is None or not self._unseen[row]:
            return
        self._unseen[row] = False
        self._nearer(self._distance, row)

    def leave_out(self, images: Iterable[ImageId]) -> None:
        """These are gone, and no others: those that are back may be chosen again."""
        self._there[:] = True
        self._there[[self._rows[i] for i in images if i in self]] = False

    def farthest(self, count: int, but: Collection[ImageId] = ()) -> dict[ImageId, float]:
        """So many, or what is left, each farthest from all before it; with its distance. ``but``: on a screen already.

        They stay free until they are `seen`: what could not be stored was not asked.
        """
        distance, free = self._distance.copy(), self._unseen & self._there
        free[[self._rows[i] for i in but if i in self]] = False
        out: dict[ImageId, float] = {}
        for _ in range(count):
            rows = np.flatnonzero(free)
            if not len(rows):
                break
            first = not np.isfinite(distance[rows[0]])
            best = int(rows[np.argmax(self._ties[rows] if first else distance[rows])])
            out[self.ids[best]] = 0.0 if first else float(np.sqrt(max(0.0, distance[best])))
            free[best] = False
            self._nearer(distance, best)
        return out

    def _nearer(self, distance: Array, row: int) -> None:
        """Takes the image of this row into account, in place."""
        away = self._squares - 2 * (self._features @ self._features[row]) + self._squares[row]
        np.minimum(distance, away, out=distance)

    @property
    def left(self) -> int:
        """Images that are there and that nobody has seen."""
        return int((self._unseen & self._there).sum())


def _features(images: CampaignImages, ids: Array) -> Array:
    """In chunks: the pixels of a large folder do not fit into memory at once; each chunk has its own scale."""
    parts = [simple_features(images.pixels(ids[s : s + _CHUNK])) for s in range(0, len(ids), _CHUNK)]
    return np.concatenate(parts).astype(np.float32) if parts else np.empty((0, 1), np.float32)
