"""`Heads`: M small networks on features, for fits within seconds.

Features come from a frozen pretrained extractor, which sees each image once and whose features are cached, or from
elsewhere: then they are passed in place of images. As in any ensemble, members differ in their initial weights, batch
orders and dropout masks.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from versionspace.ensemble.ensemble import Ensemble
from versionspace.ensemble.inputs import FeatureInputs
from versionspace.ensemble.normalise import Normalisation
from versionspace.ensemble.progress import ProgressCallback
from versionspace.ensemble.settings import PRECOMPUTED, Training
from versionspace.ensemble.vectors import EitherInputs
from versionspace.errors import InputError
from versionspace.features import DEFAULT_EXTRACTOR, CacheLocation, FeatureExtractor
from versionspace.nets import Factory

AUTO = "auto"
"""What is passed to `Heads` first decides: features as they are, or those of the default extractor."""


class Heads(Ensemble):
    """An `Ensemble` of small heads on features: its constructor has the defaults for that.

    Args:
        net: ``heads``, or a function (shape, classes) -> nn.Module whose shape is (features, 1, 1).
        members, classes, seed, device, normalisation, threads, progress, dtype, cache: as for `Ensemble`.
        training: a `Training`, or a dict of changes to the default, which trains longer where labels do not fit.
        extractor: a feature extractor, or the name of one. By default, the first array decides: features (N, F), of
            anything, are used as they are; of images, those of lite0 are computed. "precomputed" accepts only features.
        side: pixels that the longer side of an image is resized to; by default the extractor's (lite0: 160).

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(8) % 2
    >>> images = (rng.integers(0, 100, (8, 8, 8, 1)) + 100 * labels[:, None, None, None]).astype(np.uint8)
    >>> heads = Heads(members=3, classes=2, cache=False).fit(images, labels)
    >>> heads.predict_proba(images).shape, heads.votes(images).shape
    ((8, 2), (3, 8))
    >>> features = rng.normal(size=(8, 5)) + labels[:, None]
    >>> Heads(members=3, classes=2).fit(features, labels).votes(features).shape
    (3, 8)
    """

    def __init__(
        self,
        net: str | Factory = "heads",
        *,
        members: int = 20,
        classes: int | Sequence[Any] | None = None,
        seed: int = 0,
        device: str = "auto",
        training: Training | str | dict[str, object] | None = None,
        normalisation: Normalisation | None = None,
        threads: int | None = None,
        progress: bool | ProgressCallback | None = None,
        dtype: torch.dtype = torch.float32,
        extractor: str | FeatureExtractor | None = AUTO,
        side: int | None = None,
        cache: CacheLocation = None,
    ) -> None:
        params = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        if extractor is None:
            raise InputError(
                "extractor",
                expected="the name of a feature extractor, or one of your own",
                got="None",
                fix="Networks that see pixels are an Ensemble; Ensemble.load reads any folder.",
            )
        super().__init__(
            net, members=members, classes=classes, seed=seed, device=device, training=training, threads=threads,
            normalisation=normalisation, progress=progress, dtype=dtype, side=side, cache=cache,
            extractor=PRECOMPUTED if extractor == AUTO else extractor,
        )  # fmt: skip
        self._params = params
        if extractor == AUTO:
            self.inputs = EitherInputs(
                partial(
                    FeatureInputs, DEFAULT_EXTRACTOR, side=side, device=self.device, threads=self.threads, cache=cache,
                    progress=False if callable(progress) else progress,
                )
            )  # fmt: skip
