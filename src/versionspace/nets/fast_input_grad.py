"""A first convolution whose gradient with respect to the image is quick to take.

torch computes the gradient for an image of one or three channels as if it had sixteen. As a matrix product and a
folding of the patches it takes less than half the time, and DeepFool takes it for every class at every step.
"""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_FEW = 4
"""Channels up to which an image is thin."""


class _Convolve(torch.autograd.Function):
    """Convolution with a gradient for the image only."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, conv: nn.Conv2d) -> Tensor:
        ctx.conv, ctx.size = conv, x.shape[2:]
        return F.conv2d(x, conv.weight, conv.bias, conv.stride, conv.padding)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        conv: nn.Conv2d = ctx.conv
        assert not isinstance(conv.padding, str)
        patches = torch.matmul(conv.weight.flatten(1).T, gradients[0].flatten(2))
        return F.fold(patches, ctx.size, conv.kernel_size, padding=conv.padding, stride=conv.stride), None


class ThinConv2d(nn.Module):
    """A convolution that is not trained any more."""

    def __init__(self, conv: nn.Conv2d) -> None:
        super().__init__()
        self.conv = conv

    def forward(self, x: Tensor) -> Tensor:
        """As the convolution's own."""
        out: Tensor = _Convolve.apply(x, self.conv)  # type: ignore[no-untyped-call]
        return out


def with_quick_image_gradients(module: nn.Module) -> nn.Module:
    """A frozen copy that gives the same outputs and the same gradients for images, sooner."""
    out = copy.deepcopy(module).requires_grad_(False)
    for parent in out.modules():
        for name, child in parent.named_children():
            if isinstance(child, nn.Conv2d):
                if _thin(child):
                    setattr(parent, name, ThinConv2d(child))
                return out  # only the first one sees the image
    return out


def _thin(conv: nn.Conv2d) -> bool:
    """Whether it is of few channels, and does what torch's own does: one derived from it may do otherwise."""
    plain = type(conv) is nn.Conv2d and not conv._forward_pre_hooks and not conv._forward_hooks
    few = conv.in_channels <= _FEW and conv.groups == 1 and conv.dilation == (1, 1)
    return plain and few and conv.padding_mode == "zeros" and not isinstance(conv.padding, str)
