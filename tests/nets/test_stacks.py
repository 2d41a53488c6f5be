"""A stack of members gives what each member gives alone."""

import pytest
import torch
from torch import nn

from versionspace.nets import NETS, network
from versionspace.nets.layers import Dropout, draw_mask, with_own_dropout
from versionspace.nets.stacks import ordinary, side_by_side, stack

SHAPE = (3, 12, 12)


class Viewing(nn.Module):
    """A user's network whose forward reshapes by hand, with torch's own dropout and batch norm."""

    def __init__(self, shape, classes):
        super().__init__()
        self.conv = nn.Conv2d(shape[0], 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.drop = nn.Dropout2d(0.3)
        self.last = nn.Linear(4 * shape[1] * shape[2], classes)
        self.drop2 = nn.Dropout(0.2)

    def forward(self, x):
        x = self.drop(torch.relu(self.norm(self.conv(x))))
        return self.last(self.drop2(x.view(x.size(0), -1)))


class Branching(nn.Module):
    """A user's network that vmap cannot trace: it looks at values."""

    def __init__(self, shape, classes):
        super().__init__()
        self.last = nn.Linear(shape[0] * shape[1] * shape[2], classes)

    def forward(self, x):
        if x.abs().max().item() > 1e9:
            x = x / 2
        return self.last(x.flatten(1))


CASES = [(name, name, "grouped") for name in NETS]
CASES += [("viewing", Viewing, "mapped"), ("viewing, looped", Viewing, "looped"), ("branching", Branching, "looped")]


def members(net, count):
    modules = []
    for m in range(count):
        torch.manual_seed(m)
        module = net.make().double()
        for layer in module.modules():
            if isinstance(layer, nn.BatchNorm2d):  # statistics that differ from their first values
                layer.running_mean.normal_()
                layer.running_var.uniform_(0.5, 2)
        modules.append(module)
    return modules


@pytest.fixture(params=CASES, ids=[name for name, *_ in CASES])
def case(request):
    _, factory, way = request.param
    net = network(factory, SHAPE, 5, way=way)
    return net, members(net, 3)


@pytest.mark.parametrize("training", [False, True])
def test_own_images_give_what_each_member_gives_alone(case, training):
    net, modules = case
    state = stack(modules)
    torch.manual_seed(9)
    images = torch.randn(3, 6, 12, 12, 3, dtype=torch.double)
    generators = [torch.Generator().manual_seed(m) for m in range(3)]
    masks = {}
    if training:
        masks = {
            name: torch.stack([draw_mask(layer, 6, generator, torch.double) for generator in generators])
            for name, layer in net.dropouts()
        }
    found = net.runner(training)(state, masks, side_by_side(images))
    for m, module in enumerate(modules):
        module.train(training)
        for name, mask in masks.items():
            module.get_submodule(name).mask = mask[m]
        expected = module(ordinary(images[m].permute(0, 3, 1, 2)))
        torch.testing.assert_close(found[m], expected, rtol=1e-10, atol=1e-10)
        for name, value in module.state_dict().items():  # running statistics moved alike
            torch.testing.assert_close(state[name][m], value, rtol=1e-10, atol=1e-10)


def test_shared_images_come_once(case):
    net, modules = case
    torch.manual_seed(9)
    images = torch.randn(4, 3, 12, 12, dtype=torch.double)
    found = net.runner(training=False)(stack(modules), {}, images)
    for m, module in enumerate(modules):
        torch.testing.assert_close(found[m], module.eval()(images), rtol=1e-10, atol=1e-10)


def test_the_way_is_found():
    assert network("conv2", SHAPE, 5).way == "grouped"
    assert network(Viewing, SHAPE, 5).way == "mapped"
    assert network(Branching, SHAPE, 5).way == "looped"


def test_making_a_network_leaves_torchs_generator_alone():
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    network("conv2", SHAPE, 5)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_torchs_dropout_is_replaced_and_keeps_its_rate_and_kind():
    module = with_own_dropout(Viewing(SHAPE, 5))
    assert isinstance(module.drop, Dropout)
    assert (module.drop.p, module.drop.whole_channels) == (0.3, True)
    assert (module.drop2.p, module.drop2.whole_channels) == (0.2, False)


def test_masks_drop_at_their_rate_and_keep_the_mean():
    layer = Dropout(0.3)
    layer(torch.zeros(1, 1000))
    mask = draw_mask(layer, 50, torch.Generator().manual_seed(0), torch.float32)
    assert mask.shape == (50, 1000)
    assert (mask == 0).float().mean().item() == pytest.approx(0.3, abs=0.01)
    assert mask.mean().item() == pytest.approx(1.0, abs=0.01)
    assert mask.max().item() == pytest.approx(1 / 0.7)


def test_whole_channels_are_dropped_together():
    layer = Dropout(0.5, whole_channels=True)
    layer(torch.zeros(1, 8, 4, 4))
    assert draw_mask(layer, 2, torch.Generator().manual_seed(0), torch.float32).shape == (2, 8, 1, 1)
