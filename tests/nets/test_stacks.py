"""A stack of members returns what each member returns alone."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from versionspace.errors import InputError
from versionspace.nets import NETS, network
from versionspace.nets.dropout import Dropout, draw_mask, replace_dropout
from versionspace.nets.stacks import first_names, join_members, seeded, stack, to_contiguous

SHAPE = (3, 12, 12)


class Viewing(nn.Module):
    """A user's network whose forward calls view, with torch's own dropout and batch norm."""

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
    """A user's network that vmap cannot trace, because it branches on values."""

    def __init__(self, shape, classes):
        super().__init__()
        self.last = nn.Linear(shape[0] * shape[1] * shape[2], classes)

    def forward(self, x):
        if x.abs().max().item() > 1e9:
            x = x / 2
        return self.last(x.flatten(1))


class Tied(nn.Module):
    """A user's network with a tied weight, and layers with a second name, among them a batch norm."""

    def __init__(self, shape, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(shape[0], 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.2))
        self.first, self.same = self.body[0], self.body
        self.middle = nn.Linear(4 * shape[1] * shape[2], 16)
        self.there, self.back, self.last = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, classes)
        self.back.weight = self.there.weight

    def forward(self, x):
        x = torch.relu(self.middle(self.same(x).flatten(1)))
        return self.last(x + self.back(torch.relu(self.there(x))))


CASES = [(name, name, "grouped") for name in NETS]
CASES += [("viewing", Viewing, "vmap"), ("viewing, looped", Viewing, "loop"), ("branching", Branching, "loop")]
CASES += [("tied", Tied, "vmap"), ("tied, looped", Tied, "loop")]


def members(net, count):
    modules = []
    for m in range(count):
        torch.manual_seed(m)
        module = net.make().double()
        for layer in module.modules():
            if isinstance(layer, nn.BatchNorm2d):  # statistics that differ from their initial values
                layer.running_mean.normal_()
                layer.running_var.uniform_(0.5, 2)
        modules.append(module)
    return modules


@pytest.fixture(params=CASES, ids=[name for name, *_ in CASES])
def case(request):
    _, factory, backend = request.param
    net = network(factory, SHAPE, 5, backend=backend)
    return net, members(net, 3)


@pytest.mark.parametrize("training", [False, True])
def test_with_their_own_images_members_return_what_they_return_alone(case, training):
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
    found = net.runner(training)(state, masks, join_members(images))
    for m, module in enumerate(modules):
        module.train(training)
        for name, mask in masks.items():
            module.get_submodule(name).mask = mask[m]
        expected = module(to_contiguous(images[m].permute(0, 3, 1, 2)))
        torch.testing.assert_close(found[m], expected, rtol=1e-10, atol=1e-10)
        for name, value in module.state_dict().items():  # running statistics are updated equally
            torch.testing.assert_close(state[first_names(module)[name]][m], value, rtol=1e-10, atol=1e-10)


def test_shared_images_are_passed_once(case):
    net, modules = case
    torch.manual_seed(9)
    images = torch.randn(4, 3, 12, 12, dtype=torch.double)
    found = net.runner(training=False)(stack(modules), {}, images)
    for m, module in enumerate(modules):
        torch.testing.assert_close(found[m], module.eval()(images), rtol=1e-10, atol=1e-10)


def test_the_backend_is_picked():
    assert network("conv2", SHAPE, 5).backend == "grouped"
    assert network(Viewing, SHAPE, 5).backend == "vmap"
    assert network(Branching, SHAPE, 5).backend == "loop"
    assert network(Tied, SHAPE, 5).backend == "vmap"


def test_a_tensor_with_several_names_is_held_once():
    net = network(Tied, SHAPE, 5)
    names = set(stack(members(net, 2)))
    assert names == {name for name in net.plain.state_dict() if not name.startswith(("first", "same", "back.weight"))}
    assert set(net.trainable_names()) == {name for name in names if not name.startswith("body.1.") or "_" not in name}


@pytest.mark.parametrize("backend", ["vmap", "loop"])
def test_a_pass_restores_the_modules_own_tensors(backend, monkeypatch):
    """A layer whose tensors were swapped under both of its names would keep a member's."""
    net = network(Tied, SHAPE, 5, backend=backend)
    (module,), copied = members(net, 1), []
    monkeypatch.setattr(copy, "deepcopy", lambda plain: copied.append(module) or module)
    before = dict(module.state_dict(keep_vars=True))
    run = net.runner(False, dtype=torch.double)
    run(stack(members(net, 2)), {}, torch.zeros(2, *SHAPE, dtype=torch.double))
    assert copied == [module]
    assert all(value is before[name] for name, value in module.state_dict(keep_vars=True).items())


def test_making_a_network_leaves_torchs_generator_alone():
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    network("conv2", SHAPE, 5)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_making_a_network_leaves_the_generators_of_gpus_alone(monkeypatch):
    """They are not restored: a user who draws on a GPU would get the same numbers after every fit."""
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda seed: pytest.fail("a GPU's generator is seeded"))
    net = network("small", SHAPE, 5)
    with seeded(3):
        found = net.make().state_dict()
    monkeypatch.undo()
    torch.manual_seed(3)
    for name, value in net.make().state_dict().items():
        assert torch.equal(found[name], value)


@pytest.mark.parametrize("factory", ["small", Viewing])
def test_networks_are_made_on_the_cpu_for_any_default_device(factory):
    """Initial weights are then equal everywhere; "meta" is a device that every machine has."""
    made = []
    for device in ("cpu", "meta"):
        with torch.device(device):
            net = network(factory, SHAPE, 5)
            with seeded(3):
                made.append(net.make().state_dict())
        assert net.backend == ("grouped" if factory == "small" else "vmap")
        assert {value.device.type for value in net.plain.state_dict().values()} == {"cpu"}
    for name, value in made[0].items():
        assert torch.equal(made[1][name], value)


def test_torchs_dropout_is_replaced_with_its_rate_and_kind():
    module = replace_dropout(Viewing(SHAPE, 5))
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


class Frozen(nn.Module):
    """A user's network whose first layer is frozen."""

    def __init__(self, shape, classes):
        super().__init__()
        self.first = nn.Linear(shape[0] * shape[1] * shape[2], 8).requires_grad_(False)
        self.last = nn.Linear(8, classes)

    def forward(self, x):
        return self.last(torch.relu(self.first(x.flatten(1))))


def test_a_frozen_layer_is_not_trained():
    assert network(Frozen, SHAPE, 5).trainable_names() == ["last.weight", "last.bias"]
    with pytest.raises(InputError, match="net: expected parameters to train"):
        network(lambda shape, classes: Frozen(shape, classes).requires_grad_(False), SHAPE, 5)


class Twice(nn.Module):
    """A user's network that calls one dropout layer three times, and never calls another."""

    def __init__(self, shape, classes):
        super().__init__()
        inputs = shape[0] * shape[1] * shape[2]
        self.drop = nn.Dropout(0.5)
        self.unused = nn.Dropout(0.5)
        self.first, self.second, self.last = nn.Linear(inputs, 64), nn.Linear(64, 64), nn.Linear(64, classes)

    def forward(self, x):
        x = self.drop(x.flatten(1))
        x = self.drop(torch.relu(self.first(x)))
        return self.last(self.drop(torch.relu(self.second(x))))


@pytest.mark.parametrize("backend", ["vmap", "loop"])
def test_each_call_of_a_dropout_layer_has_its_own_mask(backend):
    net = network(Twice, SHAPE, 5, backend=backend)
    assert [(name, layer.input_shape) for name, layer in net.dropouts()] == [
        ("drop", (432,)), ("drop.1", (64,)), ("drop.2", (64,)),
    ]  # fmt: skip
    modules = members(net, 2)
    generators = [torch.Generator().manual_seed(m) for m in range(2)]
    run = net.runner(True)
    for _ in range(2):  # the second pass starts with the first call again
        masks = {
            name: torch.stack([draw_mask(layer, 6, generator, torch.double) for generator in generators])
            for name, layer in net.dropouts()
        }
        assert not torch.equal(masks["drop.1"], masks["drop.2"])
        images = torch.randn(6, *SHAPE, dtype=torch.double)
        found = run(stack(modules), masks, images)
        for m, module in enumerate(modules):
            x = images.flatten(1) * masks["drop"][m]
            x = torch.relu(module.first(x)) * masks["drop.1"][m]
            expected = module.last(torch.relu(module.second(x)) * masks["drop.2"][m])
            torch.testing.assert_close(found[m], expected, rtol=1e-10, atol=1e-10)
    assert set(stack(modules)) == set(Twice(SHAPE, 5).state_dict())


class ModeDependent(nn.Module):
    """A user's network that calls its dropout layer in training, in evaluation, or in both."""

    def __init__(self, shape, classes, modes, p=0.5):
        super().__init__()
        self.drop = nn.Dropout(p)
        self.norm = nn.BatchNorm2d(shape[0])
        self.last = nn.Linear(shape[0] * shape[1] * shape[2], classes)
        self.modes = modes

    def forward(self, x):
        x = self.norm(x).flatten(1)
        if self.training in self.modes:
            x = self.drop(x)
        return self.last(x)


@pytest.mark.parametrize(("modes", "got"), [
    ((True,), "drop: 0 calls in evaluation, 1 in training"), ((False,), "drop: 1 calls in evaluation, 0 in training"),
])  # fmt: skip
def test_dropout_in_only_one_mode_is_rejected(modes, got):
    """It would silently be trained without dropout."""
    with pytest.raises(InputError, match=f"net: expected dropout layers .* got {got}. Call the layer without testing"):
        network(lambda shape, classes: ModeDependent(shape, classes, modes), SHAPE, 5)
    network(lambda shape, classes: ModeDependent(shape, classes, modes, p=0), SHAPE, 5)


def test_checking_both_modes_changes_neither_statistics_nor_generator():
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    net = network(lambda shape, classes: ModeDependent(shape, classes, (True, False)), SHAPE, 5)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert net.plain.norm.num_batches_tracked == 0
    assert not net.plain.training
    assert [name for name, _ in net.dropouts()] == ["drop"]


@pytest.mark.parametrize(("lazy", "got"), [
    (lambda: nn.LazyLinear(8), r"2 \(LazyLinear\)"),
    (lambda: nn.LazyBatchNorm1d(affine=False), r"2 \(LazyBatchNorm1d\)"),
])  # fmt: skip
def test_a_lazy_layer_is_rejected(lazy, got):
    def factory(shape, classes):
        inputs = shape[0] * shape[1] * shape[2]
        return nn.Sequential(nn.Flatten(), nn.Linear(inputs, 8), lazy(), nn.Linear(8, classes))

    def passed_through(shape, classes):
        net = factory(shape, classes).eval()
        net(torch.zeros(2, *shape))
        return net

    with pytest.raises(InputError, match=f"net: expected layers whose sizes are known after .* got {got}. The factory"):
        network(factory, SHAPE, 5)
    assert network(passed_through, SHAPE, 5).backend == "vmap"


class WithLayer(nn.Module):
    """A user's network with a layer that may draw random numbers."""

    def __init__(self, shape, classes, layer):
        super().__init__()
        self.inner = nn.Sequential(nn.Flatten(), layer)
        self.last = nn.Linear(shape[0] * shape[1] * shape[2], classes)

    def forward(self, x):
        return self.last(self.inner(x))


class Functional(nn.Module):
    """Dropout as a function."""

    def __init__(self, modes):
        super().__init__()
        self.modes = modes

    def forward(self, x):
        return F.dropout(x, 0.5, self.training in self.modes)


@pytest.mark.parametrize(("layer", "got"), [
    (Functional((True,)), r"inner.1 \(Functional\) in training"),
    (Functional((True, False)), r"inner.1 \(Functional\) in training"),
    (Functional((False,)), r"inner.1 \(Functional\) in evaluation"),
    (nn.AlphaDropout(0.5), r"inner.1 \(AlphaDropout\) in training"),
    (nn.RReLU(), r"inner.1 \(RReLU\) in training"),
    (nn.TransformerEncoderLayer(432, 2, 8), r"inner.1.self_attn \(MultiheadAttention\) in training"),
])  # fmt: skip
def test_a_forward_that_draws_from_the_global_generator_is_rejected(layer, got):
    """Threads would share its draws, fits would not be reproducible, and Monte-Carlo passes would not differ."""
    before = torch.random.get_rng_state()
    with pytest.raises(InputError, match=f"net: expected a forward that does not draw .* got draws by {got}. Use nn.D"):
        network(lambda shape, classes: WithLayer(shape, classes, layer), SHAPE, 5)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("layer", [Functional(()), nn.AlphaDropout(0.0), nn.Dropout(0.5)])
def test_a_forward_that_draws_nothing_is_accepted(layer):
    made = network(lambda shape, classes: WithLayer(shape, classes, layer), SHAPE, 5)
    assert isinstance(made.plain, WithLayer)


def test_a_dropout_layer_under_two_names_is_replaced_under_both():
    drop = nn.Dropout(0.5)
    module = replace_dropout(nn.Sequential(drop, nn.Linear(3, 3), drop))
    assert all(isinstance(module[i], Dropout) for i in (0, 2))
    assert not any(isinstance(child, nn.Dropout) for child in module.modules())


class Blurring(nn.Module):
    """A user's network with a tensor that is not part of checkpoints."""

    def __init__(self, shape, classes):
        super().__init__()
        self.register_buffer("kernel", torch.full((shape[0], 1, 3, 3), 1 / 9), persistent=False)
        self.last = nn.Linear(shape[0] * shape[1] * shape[2], classes)

    def forward(self, x):
        return self.last(F.conv2d(x, self.kernel, padding=1, groups=len(self.kernel)).flatten(1))


@pytest.mark.parametrize("backend", ["vmap", "loop"])
def test_tensors_outside_checkpoints_are_moved_with_the_others(backend):
    """To another device and precision; "meta" is a device that every machine has."""
    net = network(Blurring, SHAPE, 5, backend=backend)
    modules = members(net, 2)
    images = torch.randn(4, *SHAPE, dtype=torch.double)
    found = net.runner(False, torch.device("cpu"), torch.double)(stack(modules), {}, images)
    for m, module in enumerate(modules):
        torch.testing.assert_close(found[m], module(images), rtol=1e-6, atol=1e-6)
    kernels = []
    with torch.nn.modules.module.register_module_forward_pre_hook(
        lambda module, _: kernels.append(module.kernel.device.type) if hasattr(module, "kernel") else None
    ):
        there = {name: value.to("meta") for name, value in stack(modules).items()}
        assert net.runner(False, torch.device("meta"), torch.double)(there, {}, images.to("meta")).is_meta
    assert set(kernels) == {"meta"}
