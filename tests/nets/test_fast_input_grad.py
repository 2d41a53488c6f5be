"""A convolution with a fast input gradient equals the plain one."""

import pytest
import torch
from torch import nn

from versionspace.nets.fast_input_grad import FastInputGradConv2d, with_fast_input_grad


@pytest.mark.parametrize(
    ("conv", "thin"),
    [
        (nn.Conv2d(1, 4, 5), True),
        (nn.Conv2d(3, 4, 3, stride=2, padding=1), True),
        (nn.Conv2d(2, 4, (3, 5), stride=(1, 2), padding=(0, 2), bias=False), True),
        (nn.Conv2d(8, 4, 3), False),
        (nn.Conv2d(2, 4, 3, groups=2), False),
        (nn.Conv2d(2, 4, 3, dilation=2), False),
        (nn.Conv2d(2, 4, 3, padding="same"), False),
        (nn.Conv2d(2, 4, 3, padding=1, padding_mode="circular"), False),
    ],
)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_outputs_and_gradients_are_the_same(conv, thin, layout):
    module = nn.Sequential(conv, nn.ReLU(), nn.Conv2d(4, 2, 3), nn.Flatten()).double()
    quick = with_fast_input_grad(module)
    assert isinstance(quick[0], FastInputGradConv2d) == thin
    assert isinstance(quick[2], nn.Conv2d)
    torch.manual_seed(0)
    images = torch.randn(3, conv.in_channels, 11, 13, dtype=torch.double).clone(memory_format=layout)
    found = []
    for net in (module, quick):
        x = images.clone().requires_grad_()
        out = net(x)
        (gradient,) = torch.autograd.grad((out**2).sum(), x)
        found.append((out.detach(), gradient))
    torch.testing.assert_close(found[0], found[1], rtol=1e-10, atol=1e-10)


def test_the_module_itself_is_not_changed():
    module = nn.Sequential(nn.Conv2d(1, 2, 3))
    with_fast_input_grad(module)
    assert isinstance(module[0], nn.Conv2d)
    assert module[0].weight.requires_grad


class Standardised(nn.Conv2d):
    """A convolution whose weights are standardised before they are used."""

    def forward(self, x):
        weight = self.weight - self.weight.mean(dim=(1, 2, 3), keepdim=True)
        return self._conv_forward(x, weight, self.bias)


def hooked():
    conv = nn.Conv2d(1, 2, 3)
    conv.register_forward_pre_hook(lambda _, given: (2 * given[0],))
    return conv


@pytest.mark.parametrize(
    "make",
    [
        lambda: Standardised(1, 2, 3),
        hooked,
        lambda: nn.utils.parametrizations.weight_norm(nn.Conv2d(1, 2, 3)),
    ],
    ids=["derived", "hooked", "parametrised"],
)
def test_a_convolution_with_another_forward_is_not_replaced(make):
    module = nn.Sequential(make(), nn.Flatten())
    with torch.no_grad():
        next(module.parameters()).add_(1.0)
    quick = with_fast_input_grad(module)
    assert not isinstance(quick[0], FastInputGradConv2d)
    images = torch.randn(2, 1, 6, 6)
    torch.testing.assert_close(quick(images), module(images))
