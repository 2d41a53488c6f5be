"""The named networks: what the paper says about each, and images of any size."""

import pytest
import torch
from torch import nn

from versionspace.errors import InputError
from versionspace.nets import NETS, network
from versionspace.nets.architectures import Block
from versionspace.nets.dropout import Dropout

SHAPES = [(1, 28, 28), (3, 32, 32), (1, 8, 8), (3, 1, 1), (4, 5, 9), (3, 17, 40)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", NETS)
def test_any_size_and_number_of_channels(name, shape):
    net = network(name, shape, 7)
    assert net.plain(torch.zeros(3, *shape)).shape == (3, 7)


@pytest.mark.parametrize(("name", "convolutions"), [("conv2", 2), ("conv3", 3), ("conv6", 6), ("small", 2)])
def test_the_number_of_convolutions_is_in_the_name(name, convolutions):
    layers = list(network(name, (1, 28, 28), 10).plain.modules())
    assert sum(isinstance(layer, nn.Conv2d) for layer in layers) == convolutions


@pytest.mark.parametrize("name", ["conv2", "conv3", "small"])
def test_dropout_follows_the_fully_connected_layer(name):
    layers = list(network(name, (1, 28, 28), 10).plain)
    at = [i for i, layer in enumerate(layers) if isinstance(layer, Dropout)]
    assert len(at) == 1
    assert layers[at[0]].p == 0.5
    assert isinstance(layers[at[0] - 2], nn.Linear)
    assert isinstance(layers[at[0] + 1], nn.Linear)


def test_conv6_drops_after_every_two_convolutions_and_the_fully_connected_layer():
    kinds = [
        type(layer).__name__ for layer in network("conv6", (3, 32, 32), 10).plain
        if isinstance(layer, nn.Conv2d | Dropout | nn.Linear)
    ]  # fmt: skip
    assert kinds == ["Conv2d", "Conv2d", "Dropout"] * 3 + ["Linear", "Dropout", "Linear"]
    rates = {layer.p for layer in network("conv6", (3, 32, 32), 10).plain if isinstance(layer, Dropout)}
    assert rates == {0.3}


def test_resnet18_has_eighteen_layers_and_dropout_between_the_convolutions_of_each_block():
    plain = network("resnet18", (3, 96, 96), 10).plain
    weighted = [m for m in plain.modules() if isinstance(m, nn.Linear | nn.Conv2d) and m.weight.shape[-1] != 1]
    assert len(weighted) == 18
    blocks = [m for m in plain.modules() if isinstance(m, Block)]
    assert len(blocks) == 8
    assert {block.dropout.p for block in blocks} == {0.5}
    assert sum(p.numel() for p in plain.parameters()) == 11_181_642  # as in He et al., with ten classes


def test_an_unknown_name_is_rejected():
    with pytest.raises(InputError, match="net: expected one of conv2, conv3, .* got 'conv4'"):
        network("conv4", (1, 8, 8), 10)


def test_a_factory_with_the_wrong_number_of_classes_is_rejected():
    with pytest.raises(InputError, match=r"logits of shape \(2, 10\).* got \(2, 3\)"):
        network(lambda shape, classes: nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), (1, 8, 8), 10)
