"""`Heads`: M small networks on the features of a frozen pretrained extractor, for fits within seconds.

The extractor sees each image once, and its features are cached. As in any ensemble, members differ in their initial
weights, batch orders and dropout masks.
"""

import torch

from versionspace.ensemble.ensemble import Ensemble
from versionspace.ensemble.normalise import Normalisation
from versionspace.ensemble.progress import ProgressCallback
from versionspace.ensemble.settings import Training
from versionspace.errors import InputError
from versionspace.features import DEFAULT_EXTRACTOR, CacheLocation, FeatureExtractor
from versionspace.nets import Factory


class Heads(Ensemble):
    """An `Ensemble` of small heads on features: its constructor has the defaults for that.

    Args:
        net: ``heads``, or a function (shape, classes) -> nn.Module whose shape is (features, 1, 1).
        members, classes, seed, device, normalisation, threads, progress, dtype, cache: as for `Ensemble`.
        training: a `Training`, or a dict of changes to the default, which trains longer where labels do not fit.
        extractor: a feature extractor, or the name of one.
        side: pixels that the longer side of an image is resized to; by default the extractor's (lite0: 160).

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(8) % 2
    >>> images = (rng.integers(0, 100, (8, 8, 8, 1)) + 100 * labels[:, None, None, None]).astype(np.uint8)
    >>> heads = Heads(members=3, classes=2, cache=False).fit(images, labels)
    >>> heads.predict_proba(images).shape, heads.votes(images).shape
    ((3, 8, 2), (3, 8))
    """

    def __init__(
        self,
        net: str | Factory = "heads",
        *,
        members: int = 20,
        classes: int = 10,
        seed: int = 0,
        device: str = "auto",
        training: Training | str | dict[str, object] | None = None,
        normalisation: Normalisation | None = None,
        threads: int | None = None,
        progress: bool | ProgressCallback | None = None,
        dtype: torch.dtype = torch.float32,
        extractor: str | FeatureExtractor | None = DEFAULT_EXTRACTOR,
        side: int | None = None,
        cache: CacheLocation = None,
    ) -> None:
        if extractor is None:
            raise InputError(
                "extractor",
                expected="the name of a feature extractor, or one of your own",
                got="None",
                fix="Networks that see pixels are an Ensemble; Ensemble.load reads any folder.",
            )
        super().__init__(
            net, members=members, classes=classes, seed=seed, device=device, training=training, threads=threads,
            normalisation=normalisation, progress=progress, dtype=dtype, extractor=extractor, side=side, cache=cache,
        )  # fmt: skip
