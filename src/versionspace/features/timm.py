"""``timm:NAME``: pretrained networks of timm, without their classifier (extra ``timm``, which requires torchvision).

Features are the pooled output, and preprocessing is the one that timm states for the weights.
"""

import math
from functools import lru_cache
from typing import Any

import torch

from versionspace.errors import InputError
from versionspace.extras import require
from versionspace.features.frozen import PretrainedNetwork, TorchExtractor, import_vision, pretrained_extractor
from versionspace.features.preprocessing import Preprocessing


def timm_extractor(name: str, *, side: int | None = None, device: torch.device | None = None) -> TorchExtractor:
    """Return the extractor of a network of timm; loads its weights. Raises `InputError` if there is none."""
    return pretrained_extractor(f"timm:{name}", _load(name), side, device)


@lru_cache(maxsize=4)
def _load(name: str) -> PretrainedNetwork:
    timm = import_vision("timm")
    resolve = require("timm.data", "timm", attribute="resolve_model_data_config")
    try:
        net = timm.create_model(name, pretrained=True, num_classes=0)
    except Exception as error:
        raise InputError(
            f"extractor timm:{name}", expected="a pretrained network of timm", got=" ".join(str(error).split())[:300],
            fix="timm.list_models(pretrained=True) lists them. Weights are downloaded when first used: connect once.",
        ) from error  # fmt: skip
    return PretrainedNetwork(net, _preprocessing(name, resolve(net)))


def _preprocessing(name: str, stated: dict[str, Any]) -> Preprocessing:
    """Return timm's evaluation transform: the image is resized to 1/crop_pct of the input, and its centre kept."""
    _, height, width = stated["input_size"]
    tall, wide = (math.floor(pixels / stated["crop_pct"]) for pixels in (height, width))
    mode = stated.get("crop_mode", "center")
    if mode not in ("center", "squash") or (mode == "center" and height != width):
        raise InputError(
            f"extractor timm:{name}", expected="preprocessing that crops the centre of a square, or squashes",
            got=f"crop mode {mode!r} to {height}×{width} pixels", fix="Wrap it: package.module:function.",
        )  # fmt: skip
    return Preprocessing(
        mean=tuple(stated["mean"]), deviation=tuple(stated["std"]), crop=(height, width),
        size=tall if mode == "center" else (tall, wide), filter=stated["interpolation"],
        half_pixels="even",
    )  # fmt: skip
