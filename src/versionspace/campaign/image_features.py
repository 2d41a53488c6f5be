"""Features of the pool's images that no member has to be trained for, in which query methods measure distances.

They come from a features file, from the extractor that the learner sees the images through, from another extractor that
the config names, or from the pixels themselves. A cold start has no others.

Importing this module does not import torch.
"""

import numpy as np

from versionspace.campaign.images import CampaignImages
from versionspace.campaign.learner import extractor_name
from versionspace.config import Config
from versionspace.data import ExtractedFeatures
from versionspace.types import Array, ArrayLike, Floats

MEMBERS, PIXELS, GIVEN, AUTO = "members", "pixels", "given", "auto"
_SIDE = 16
_BLOCK = 1024
"""Images read at a time: the pixels of a large folder do not fit into memory."""


def feature_source(config: Config) -> str:
    """Return where the features of query methods come from.

    "members", "pixels", the name of an extractor, or "given" for those of a features file.
    """
    if config.query.features != AUTO:
        return config.query.features
    return GIVEN if config.data.holds_vectors else extractor_name(config) or MEMBERS


class ImageFeatures:
    """Features of the images of a campaign's pool, each computed once.

    Memory: 4·N·F bytes from the first use on, if they are computed; those of a file are read on access.

    Args:
        config: the campaign's.
        images: the campaign's.
        threads: CPU threads of an extractor; None: all cores.
    """

    def __init__(self, config: Config, images: CampaignImages, threads: int | None = None) -> None:
        source = feature_source(config)
        self.source = source
        if source == MEMBERS:  # for a cold start: there is no member yet
            self.source = GIVEN if config.data.holds_vectors else PIXELS
        if isinstance(images.dataset.train.images, ExtractedFeatures):
            self.source = GIVEN
        self.images, self._threads, self._device = images, threads, config.machine.device
        self._known = np.zeros(len(images.roles.pool), np.bool_)
        self._features = np.empty((len(self._known), 0), np.float32)

    @property
    def from_extractor(self) -> bool:
        """Whether a network computes them, which takes time."""
        return self.source not in (PIXELS, GIVEN)

    def of(self, ids: Array) -> ArrayLike:
        """Return the features (n, F) of images of the pool."""
        if self.source == GIVEN:
            return self.images.pixels(ids)
        rows = np.searchsorted(self.images.roles.pool, ids)
        missing = np.unique(rows[~self._known[rows]])
        if len(missing):
            computed = self._compute(self.images.pixels(self.images.roles.pool[missing]))
            if not self._known.any():
                self._features = np.empty((len(self._known), computed.shape[1]), np.float32)
            self._features[missing] = computed
            self._known[missing] = True
        return self._features[rows]

    def _compute(self, pixels: ArrayLike) -> Array:
        if self.source == PIXELS:
            return plain_features(pixels)
        from versionspace import runtime
        from versionspace.features import CachedExtractor, make_extractor

        extractor = make_extractor(self.source, device=runtime.pick_device(self._device))
        return CachedExtractor(extractor, threads=runtime.pick_threads(self._threads))(pixels)


def plain_features(inputs: ArrayLike) -> Array:
    """Return float features (N, F) that no network computes: mean colours of images, or what a features file holds."""
    return np.asarray(inputs, np.float32) if inputs.ndim == 2 else mean_colours(inputs)


def mean_colours(images: ArrayLike) -> Floats:
    """Return (N, F) features: the mean of each channel in each cell of a 16×16 grid over the image.

    >>> mean_colours(np.full((1, 32, 32, 1), 7, np.uint8))[0, :3]
    array([7., 7., 7.])
    """
    n, height, width, channels = images.shape
    rows = np.linspace(0, height, min(_SIDE, height) + 1).astype(int)
    columns = np.linspace(0, width, min(_SIDE, width) + 1).astype(int)
    areas = np.diff(rows)[:, None, None] * np.diff(columns)[:, None]
    cells = np.empty((n, len(rows) - 1, len(columns) - 1, channels))
    for start in range(0, n, _BLOCK):
        block = slice(start, start + _BLOCK)
        sums = np.add.reduceat(np.asarray(images[block]), rows[:-1], axis=1, dtype=np.float64)
        cells[block] = np.add.reduceat(sums, columns[:-1], axis=2) / areas
    return cells.reshape(n, -1)
