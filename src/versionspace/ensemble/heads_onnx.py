"""Heads as one ONNX file: resizing, backbone, standardising and heads, from uint8 images to probabilities."""

from pathlib import Path

import torch
from torch import Tensor, nn

from versionspace.ensemble import onnx
from versionspace.ensemble.normalise import Normalisation
from versionspace.ensemble.predict import Predictor
from versionspace.nets.backbone import backbone, prepared
from versionspace.nets.stacks import Network, stack

_LEAST = 1e-30
"""A probability below this is written as this: the logarithm of zero is not a number to compute with."""


class _Whole(nn.Module):
    """Pixels (N, channels, H, W), 0 to 255, to the logarithm of the heads' mean probabilities (N, C).

    Their softmax is the mean again: to the exporter it is an ensemble of one, and the backbone runs once.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, heads: Predictor, members: list[int], side: int) -> None:
        super().__init__()
        self.side = side
        self.backbone = backbone("cpu")
        self.heads = nn.ModuleList([heads.module(m).cpu() for m in members])
        self.register_buffer("mean", torch.tensor(heads.normalisation.mean))
        self.register_buffer("deviation", torch.tensor(heads.normalisation.deviation))

    def forward(self, pixels: Tensor) -> Tensor:
        features = self.backbone(prepared(pixels.permute(0, 2, 3, 1), self.side))
        standardised = ((features - self.mean) / self.deviation)[:, :, None, None]
        mean = torch.stack([head(standardised).softmax(dim=1) for head in self.heads]).mean(dim=0)
        return mean.clamp_min(_LEAST).log()


def write(
    heads: Predictor, image: tuple[int, ...], side: int, path: Path, classes: tuple[str, ...], member: int | None
) -> float:
    """Writes the soft vote of the heads, or one, for images (H, W, channels); gives the difference from torch."""
    height, width, channels = image
    members = list(range(heads.members)) if member is None else [member]
    whole = _Whole(heads, members, side).eval()
    shape = (channels, height, width)
    network = Network(lambda shape, classes: whole, shape, heads.network.classes, whole, "looped")
    plain = Normalisation((0.0,) * channels, (1.0,) * channels)
    one = Predictor(network, stack([whole]), plain, 1, 8, 1, torch.float32, torch.device("cpu"))
    return onnx.write(one, path, classes)
