"""Many members of one architecture in one pass: grouped convolutions and batched matrix products.

The grouped form of a module has the same tree and the same parameter names, but each parameter has a leading axis G of
members, and activations hold all members at once: images as (B, G·channels, H, W) in channels-last layout, vectors as
(G, B, F). Convolutions become grouped convolutions; batch norm, ReLU and pooling treat each channel separately and need
no change. A module whose forward only calls its children and adds their results needs no grouped form of its own.

If all members see the same images, these may be passed once, as (B, channels, H, W): the first convolution is then an
ordinary one with G times the output channels.
"""

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from versionspace.nets.dropout import Dropout

_ELEMENTWISE = (nn.ReLU, nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d, nn.Identity)


class GroupedConv2d(nn.Module):
    """``weight`` (G, out, in, kH, kW), ``bias`` (G, out)."""

    weight: Tensor
    bias: Tensor | None

    def __init__(self, plain: nn.Conv2d) -> None:
        super().__init__()
        self.register_parameter("weight", nn.Parameter(torch.empty(0)))
        self.register_parameter("bias", None if plain.bias is None else nn.Parameter(torch.empty(0)))
        self.stride, self.padding, self.dilation = plain.stride, plain.padding, plain.dilation

    def forward(self, x: Tensor) -> Tensor:
        """(B, G·in or in, H, W) → (B, G·out, H', W')."""
        groups, _, inputs = self.weight.shape[:3]
        bias = None if self.bias is None else self.bias.flatten()
        shared = x.shape[1] == inputs
        weight = self.weight.flatten(0, 1)
        return F.conv2d(x, weight, bias, self.stride, self.padding, self.dilation, 1 if shared else groups)


class GroupedLinear(nn.Module):
    """``weight`` (G, out, in), ``bias`` (G, out)."""

    weight: Tensor
    bias: Tensor | None

    def __init__(self, plain: nn.Linear) -> None:
        super().__init__()
        self.register_parameter("weight", nn.Parameter(torch.empty(0)))
        self.register_parameter("bias", None if plain.bias is None else nn.Parameter(torch.empty(0)))

    def forward(self, x: Tensor) -> Tensor:
        """(G or 1, B, in) → (G, B, out)."""
        x = x.expand(len(self.weight), -1, -1)
        weight = self.weight.transpose(1, 2)
        return torch.bmm(x, weight) if self.bias is None else torch.baddbmm(self.bias[:, None], x, weight)


class GroupedBatchNorm2d(nn.Module):
    """Batch norm of each member's channels; ``weight``, ``bias``, ``running_mean``, ``running_var`` (G, channels)."""

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(self, plain: nn.BatchNorm2d) -> None:
        super().__init__()
        for name, _ in plain.named_parameters():
            self.register_parameter(name, nn.Parameter(torch.empty(0)))
        for name, _ in plain.named_buffers():
            self.register_buffer(name, torch.empty(0))
        self.momentum, self.eps = plain.momentum, plain.eps

    def forward(self, x: Tensor) -> Tensor:
        """Return x normalised; in training, update the running statistics."""
        if self.training:
            self.num_batches_tracked += 1
        mean, var = self.running_mean.view(-1), self.running_var.view(-1)
        weight, bias = self.weight.flatten(), self.bias.flatten()
        return F.batch_norm(x, mean, var, weight, bias, self.training, self.momentum or 0.0, self.eps)


class GroupedFlatten(nn.Module):
    """(B, G·C, H, W) → (G, B, C·H·W), each member's numbers ordered as by `torch.nn.Flatten`."""

    members: int = 1

    def forward(self, x: Tensor) -> Tensor:
        """Return x flattened."""
        split = x.view(len(x), self.members, -1, *x.shape[2:])
        return split.transpose(0, 1).flatten(2)


class GroupedDropout(nn.Module):
    """Multiply by a mask (G, B, …), for vectors (G, B, F) or images (B, G·C, H, W)."""

    mask: Tensor | None

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", None, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return x times the mask."""
        if self.mask is None:
            return x
        if x.dim() == 3:
            return x * self.mask
        mask = self.mask.permute(1, 3, 4, 0, 2).flatten(3).contiguous().permute(0, 3, 1, 2)  # channels-last
        return x * mask


def to_grouped(plain: nn.Module) -> nn.Module:
    """Return the grouped form of a module, without values. Every layer must have one."""
    return _to_grouped(copy.deepcopy(plain))


def _to_grouped(plain: nn.Module) -> nn.Module:
    if isinstance(plain, nn.Conv2d):
        assert plain.groups == 1
        assert plain.padding_mode == "zeros"
        return GroupedConv2d(plain)
    if isinstance(plain, nn.Linear):
        return GroupedLinear(plain)
    if isinstance(plain, nn.BatchNorm2d):
        assert plain.affine
        assert plain.track_running_stats
        return GroupedBatchNorm2d(plain)
    if isinstance(plain, nn.Flatten) and plain.start_dim == 1 and plain.end_dim == -1:
        return GroupedFlatten()
    if isinstance(plain, Dropout):
        assert not list(plain.children()), "a dropout layer that is called several times has no grouped form"
        return GroupedDropout()
    if isinstance(plain, _ELEMENTWISE):
        return plain
    children = list(plain.named_children())
    assert children, f"{type(plain).__name__} has no grouped form"
    for name, child in children:
        setattr(plain, name, _to_grouped(child))
    return plain
