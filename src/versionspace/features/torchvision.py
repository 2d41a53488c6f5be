"""``torchvision:NAME`` and ``torchvision:NAME@WEIGHTS``: classifiers of torchvision (extra ``torchvision``).

Features are the input of the last linear layer, and preprocessing is the one that comes with the weights. Without
WEIGHTS, they are those that torchvision calls the default.
"""

from functools import lru_cache

import torch
from torch import nn

from versionspace.errors import InputError
from versionspace.features.frozen import PretrainedNetwork, TorchExtractor, import_vision, pretrained_extractor
from versionspace.features.preprocessing import Preprocessing


def torchvision_extractor(name: str, *, side: int | None = None, device: torch.device | None = None) -> TorchExtractor:
    """Return the extractor of a classifier of torchvision; loads its weights. Raises `InputError` if there is none."""
    return pretrained_extractor(f"torchvision:{name}", _load(name), side, device)


@lru_cache(maxsize=4)
def _load(name: str) -> PretrainedNetwork:
    models = import_vision("torchvision.models")
    architecture, _, weights = name.partition("@")
    try:
        chosen = models.get_model_weights(architecture)[weights or "DEFAULT"]
        net = models.get_model(architecture, weights=chosen)
    except Exception as error:
        raise InputError(
            f"extractor torchvision:{name}", expected="a classifier of torchvision with pretrained weights",
            got=f"{type(error).__name__}: {' '.join(str(error).split())[:300]}",
            fix="List them with torchvision.models.list_models(torchvision.models), and weights with "
            "get_model_weights(NAME). Weights are downloaded when first used: connect once.",
        ) from error  # fmt: skip
    steps = chosen.transforms()
    try:
        (resized,), (cropped,) = steps.resize_size, steps.crop_size
        preprocessing = Preprocessing(
            mean=tuple(steps.mean), deviation=tuple(steps.std), size=int(resized), crop=(int(cropped), int(cropped)),
            filter=steps.interpolation.value, half_pixels="even",
        )  # fmt: skip
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"extractor torchvision:{name}", expected="weights that classify images", got=type(steps).__name__,
            fix="Wrap it: package.module:function.",
        ) from error  # fmt: skip
    return PretrainedNetwork(without_classifier(net, f"extractor torchvision:{name}"), preprocessing)


def without_classifier(net: nn.Module, name: str) -> nn.Module:
    """Replace the last linear layer by the identity, and return the network."""
    linear = [where for where, module in net.named_modules() if isinstance(module, nn.Linear)]
    if not linear:
        raise InputError(
            name,
            expected="a network that ends with a linear layer",
            got="none",
            fix="Wrap it: package.module:function.",
        )
    net.set_submodule(linear[-1], nn.Identity())
    return net
