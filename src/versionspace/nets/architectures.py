"""The networks of the paper, as plain modules: "competent for each dataset but as simple as possible".

The paper gives the number of convolutions and the positions of dropout (appendix, "Implementation Details"). Widths,
kernels and pooling are our choice, made to reach the paper's accuracy with random labels (docs/ensembles.md).

    conv2      MNIST           2 convolutions, dropout .5 after the fully-connected layer
    conv3      Fashion-MNIST   3 convolutions, dropout .5 after the fully-connected layer
    conv6      SVHN            6 convolutions, dropout .3 after every two and after the fully-connected layer
    resnet18   STL-10          ResNet-18 with dropout .5 between the convolutions of each block
    small      8×8 digits      2 small convolutions, dropout .5 after the fully-connected layer

All accept images of any size and number of channels and return logits. Pooling comes before ReLU: the results are
equal, and ReLU is applied to fewer numbers.
"""

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor, nn

from versionspace.nets.dropout import Dropout

Shape: TypeAlias = tuple[int, int, int]
"""Channels, height, width of an image."""
Factory: TypeAlias = Callable[[Shape, int], nn.Module]
"""Makes a network that returns logits (N, C), from the shape of an image and the number of classes."""


def _output_size(body: nn.Module, shape: Shape) -> int:
    """Return the number of outputs of the body for an image."""
    with torch.no_grad():
        return int(body.eval()(torch.zeros(1, *shape)).numel())


def _with_classifier(body: nn.Sequential, shape: Shape, hidden: int, classes: int, rate: float) -> nn.Module:
    """Append a fully-connected layer with dropout on its output, and the output layer."""
    body.append(nn.Flatten())
    width = _output_size(body, shape)
    return nn.Sequential(*body.train(), nn.Linear(width, hidden), nn.ReLU(), Dropout(rate), nn.Linear(hidden, classes))


def _pool() -> nn.MaxPool2d:
    return nn.MaxPool2d(2, ceil_mode=True)  # an image of one pixel stays an image of one pixel


def conv2(shape: Shape, classes: int) -> nn.Module:
    """Two 5×5 convolutions of 16 and 32 channels, each pooled; 128 hidden units."""
    padding = 0 if min(shape[1:]) >= 16 else 2
    body = nn.Sequential(
        nn.Conv2d(shape[0], 16, 5, padding=padding), _pool(), nn.ReLU(),
        nn.Conv2d(16, 32, 5, padding=padding), _pool(), nn.ReLU(),
    )  # fmt: skip
    return _with_classifier(body, shape, 128, classes, 0.5)


def conv3(shape: Shape, classes: int) -> nn.Module:
    """Three 3×3 convolutions of 16, 32 and 64 channels, each pooled; 128 hidden units."""
    body = nn.Sequential(
        nn.Conv2d(shape[0], 16, 3, padding=1), _pool(), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), _pool(), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1), _pool(), nn.ReLU(),
    )  # fmt: skip
    return _with_classifier(body, shape, 128, classes, 0.5)


def conv6(shape: Shape, classes: int) -> nn.Module:
    """Six 3×3 convolutions in pairs of 8, 16 and 32 channels, batch-normalised, each pair pooled and dropped out."""
    layers: list[nn.Module] = []
    inputs = shape[0]
    for width in (8, 16, 32):
        layers += [nn.Conv2d(inputs, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        layers += [nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), _pool(), nn.ReLU()]
        layers.append(Dropout(0.3))
        inputs = width
    return _with_classifier(nn.Sequential(*layers), shape, 128, classes, 0.3)


def small(shape: Shape, classes: int) -> nn.Module:
    """Two 3×3 convolutions of 16 and 32 channels with one pooling between them; 64 hidden units."""
    body = nn.Sequential(
        nn.Conv2d(shape[0], 16, 3, padding=1), _pool(), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
    )  # fmt: skip
    return _with_classifier(body, shape, 64, classes, 0.5)


class Block(nn.Module):
    """Two 3×3 convolutions around a dropout, added to their input (He et al. 2016; Zagoruyko, Komodakis 2016)."""

    def __init__(self, inputs: int, width: int, stride: int, rate: float) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.dropout = Dropout(rate)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != width:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        """Return both convolutions of x, plus the shortcut."""
        inner = self.dropout(self.relu(self.norm1(self.conv1(x))))
        out: Tensor = self.relu(self.norm2(self.conv2(inner)) + self.shortcut(x))
        return out


def resnet18(shape: Shape, classes: int) -> nn.Module:
    """ResNet-18: a 7×7 convolution and pooling for images of 64 pixels and more, a 3×3 one below; eight blocks."""
    large = min(shape[1:]) >= 64
    stem: list[nn.Module] = [nn.Conv2d(shape[0], 64, 7, 2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    if large:
        stem.append(nn.MaxPool2d(3, 2, padding=1))
    else:
        stem[0] = nn.Conv2d(shape[0], 64, 3, padding=1, bias=False)
    blocks = []
    inputs = 64
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        blocks += [Block(inputs, width, stride, 0.5), Block(width, width, 1, 0.5)]
        inputs = width
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


NETS: dict[str, Factory] = {
    "conv2": conv2,
    "conv3": conv3,
    "conv6": conv6,
    "resnet18": resnet18,
    "small": small,
}
"""The architectures for images, by name."""
