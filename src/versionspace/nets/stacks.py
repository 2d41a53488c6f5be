"""Networks and stacks: G members of one architecture, run together.

A stack holds every parameter and buffer of a plain module with a leading axis of members. A tensor that the module has
under several names (tied weights, a layer with two names) is held once, under its first name, so that it is trained,
saved and compared once. Four backends run images through a stack and agree up to rounding:

    grouped   the named networks for images: grouped convolutions (grouped.py)
    vectors   the named networks for features: batched matrix products from the first layer on
    vmap      a user's module, by `torch.func.vmap`
    loop      a user's module that vmap cannot run, one member at a time
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from versionspace.errors import InputError
from versionspace.nets import grouped, module_checks
from versionspace.nets.architectures import NETS, Factory, Shape
from versionspace.nets.dropout import Dropout, active_dropouts, replace_dropout, trace_dropout
from versionspace.nets.head import FEATURE_NETS

Stack: TypeAlias = dict[str, Tensor]
"""Parameters and buffers by their first name, each (G, …)."""
Masks: TypeAlias = dict[str, Tensor]
"""Dropout masks by the layer's name, each (G, B, …)."""
Runner: TypeAlias = Callable[[Stack, Masks, Tensor], Tensor]
"""From a stack, masks and images to logits (G, B, C).

Images are (B, G·channels, H, W) or, if all members see the same ones, (B, channels, H, W).
"""
Backend: TypeAlias = Literal["grouped", "vectors", "vmap", "loop"]


@dataclass(frozen=True)
class Network:
    """An architecture for images of one shape: how to make a member, and how to run a stack of members."""

    factory: Factory
    shape: Shape
    classes: int
    plain: nn.Module
    """One member, for its layers, names and shapes; its values are not used."""
    backend: Backend

    @property
    def is_ours(self) -> bool:
        """Whether it is a named network, which accepts images in channels-last layout."""
        return self.backend in ("grouped", "vectors")

    def make(self) -> nn.Module:
        """Return a new member, with weights drawn from torch's generator."""
        return replace_dropout(self.factory(self.shape, self.classes))

    def trainable_names(self) -> list[str]:
        """Return the names of the parameters that are trained: those that require a gradient."""
        return [name for name, value in self.plain.named_parameters() if value.requires_grad]

    def dropouts(self) -> list[tuple[str, Dropout]]:
        """Return the dropout layers that a pass calls, with their names."""
        return list(active_dropouts(self.plain))

    def runner(self, training: bool, device: torch.device | None = None, dtype: torch.dtype | None = None) -> Runner:
        """Return a function that runs a stack. Each thread needs its own.

        A stack holds what a checkpoint holds; a module's other tensors are moved to ``device`` and ``dtype``.
        """
        if self.backend == "grouped":
            return _grouped_runner(self.plain, training)
        if self.backend == "vectors":
            return _vectors_runner(self.plain, training, self.shape[0])
        module = copy.deepcopy(self.plain).to(device, dtype).train(training)
        runner = _vmap_runner if self.backend == "vmap" else _loop_runner
        return runner(module, self.shape[0])


def find_factory(net: str | Factory, on_features: bool = False) -> Factory:
    """Return the factory of this name, among those for images or for features, or the user's own factory."""
    if isinstance(net, nn.Module):
        raise InputError(
            "net",
            expected="a name, or a factory that makes a new module for each member",
            got=f"a module ({type(net).__name__})",
            fix="Pass a function: lambda shape, classes: …, where shape is (channels, height, width).",
        )
    if callable(net):
        return net
    names = FEATURE_NETS if on_features else NETS
    if isinstance(net, str) and net in names:
        return names[net]
    raise InputError(
        "net",
        expected="one of " + ", ".join(names) + ", or a function (shape, classes) -> torch.nn.Module",
        got=repr(net),
        fix="Pick a name, or pass a factory. " + ", ".join(FEATURE_NETS) + " requires an extractor.",
    )


def network(net: str | Factory, shape: Shape, classes: int, backend: Backend | None = None) -> Network:
    """Return the architecture for images of this shape, checked by passing two blank images through it."""
    on_features = isinstance(net, str) and net in FEATURE_NETS
    factory = find_factory(net, on_features)
    with seeded(0):
        plain = replace_dropout(_made(factory, shape, classes)).eval()
        images = torch.zeros(2, *shape)
        if not isinstance(net, str):
            module_checks.reject_lazy_layers(plain)
            module_checks.reject_global_draws(plain, images)
            module_checks.reject_mode_dependent_dropout(plain, images)
        with torch.no_grad():
            logits = trace_dropout(plain, images)
        if tuple(logits.shape) != (2, classes):
            raise InputError(
                "net",
                expected=f"logits of shape (2, {classes}) for two images of shape {shape}",
                got=f"{tuple(logits.shape)}",
                fix="The factory gets (channels, height, width) and the number of classes; its last layer must match.",
            )
        if not any(value.requires_grad for value in plain.parameters()):
            raise InputError(
                "net",
                expected="parameters to train",
                got="a network in which none requires a gradient",
                fix="Leave requires_grad of the layers to train at its default, True.",
            )
        if backend is None and isinstance(net, str):
            backend = "vectors" if on_features else "grouped"
        return Network(factory, shape, classes, plain, backend or _pick_backend(plain, shape))


def _made(factory: Factory, shape: Shape, classes: int) -> nn.Module:
    """Return what a factory makes. Raises `InputError` if that is not a module."""
    got = ""
    try:
        module: object = factory(shape, classes)
    except TypeError as error:
        module, got = None, f"{type(error).__name__}: {error}"
    if not isinstance(module, nn.Module):
        raise InputError(
            "net",
            expected="a function (shape, classes) -> torch.nn.Module, where shape is (channels, height, width)",
            got=got or f"one that returns {type(module).__name__}",
            fix="For example: lambda shape, classes: nn.Sequential(nn.Flatten(), nn.Linear(784, classes)).",
        )
    return module


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's CPU generator inside the block, make modules on the CPU, and restore the generator afterwards.

    `torch.manual_seed` would also seed the generators of GPUs, which nothing restores.
    """
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(seed)
        yield


def _pick_backend(plain: nn.Module, shape: Shape) -> Backend:
    """Return "vmap" if vmap can run the module in training, else "loop"."""
    masks = {name: torch.ones(2, *layer.mask_shape(2)) for name, layer in active_dropouts(plain)}
    images = torch.zeros(2, 2 * shape[0], *shape[1:])
    try:
        with torch.no_grad():
            _vmap_runner(copy.deepcopy(plain).train(), shape[0])(stack([plain, plain]), masks, images)
    except (RuntimeError, ValueError, NotImplementedError):
        return "loop"
    return "vmap"


def first_names(module: nn.Module) -> dict[str, str]:
    """Return, for each name in the module's checkpoint, the first name of the same tensor.

    >>> tied = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    >>> tied[1].weight = tied[0].weight
    >>> first_names(tied)
    {'0.weight': '0.weight', '0.bias': '0.bias', '1.weight': '0.weight', '1.bias': '1.bias'}
    """
    firsts: dict[int, str] = {}
    return {name: firsts.setdefault(id(value), name) for name, value in module.state_dict(keep_vars=True).items()}


def _tied_names(module: nn.Module) -> dict[str, str]:
    """Return the further names of tied tensors, with their first names.

    Second names of whole layers are left out: a tensor that is swapped in under both would not be swapped out again.
    """
    layers = {name for name, _ in module.named_modules()}  # each by its first name
    return {
        name: first
        for name, first in first_names(module).items()
        if name != first and name.rpartition(".")[0] in layers
    }


def stack(modules: Sequence[nn.Module]) -> Stack:
    """Return the parameters and buffers of the modules, stacked and copied."""
    states = [module.state_dict() for module in modules]
    names = dict.fromkeys(first_names(modules[0]).values())
    return {name: torch.stack([state[name].detach().clone() for state in states]) for name in names}


def load_member(module: nn.Module, state: Stack) -> None:
    """Copy the values of one member, each (…), into a module."""
    module.load_state_dict({name: state[first] for name, first in first_names(module).items()})


def count_members(state: Stack) -> int:
    """Return G."""
    return len(next(iter(state.values())))


def one_member(state: Stack, index: int) -> Stack:
    """Return one member's values, each (…), as views."""
    return {name: value[index] for name, value in state.items()}


def select_members(state: Stack, indices: Tensor) -> Stack:
    """Return a stack of some members, copied."""
    return {name: value[indices] for name, value in state.items()}


def join_members(images_GBHWC: Tensor) -> Tensor:
    """Return each member's own images as one channels-last batch (B, G·channels, H, W)."""
    # With one channel, flattening is a view in another layout, in which pooling is ten times slower.
    return images_GBHWC.permute(1, 2, 3, 0, 4).flatten(3).contiguous().permute(0, 3, 1, 2)


def to_contiguous(images: Tensor) -> Tensor:
    """Return images in torch's default layout, because a user's forward may call view.

    ``contiguous`` would keep the strides of a single channel, and a convolution would continue in channels-last.
    """
    return images.clone(memory_format=torch.contiguous_format)


def _grouped_runner(plain: nn.Module, training: bool) -> Runner:
    module = grouped.to_grouped(plain).train(training)
    flattens = [child for child in module.modules() if isinstance(child, grouped.GroupedFlatten)]

    def run(state: Stack, masks: Masks, images: Tensor) -> Tensor:
        for flatten in flattens:
            flatten.members = count_members(state)
        logits: Tensor = functional_call(module, _with_masks(state, masks), (images,))
        return logits

    return run


def _vectors_runner(plain: nn.Module, training: bool, inputs: int) -> Runner:
    """Run a sequence that begins with nn.Flatten on features (B, G·F, 1, 1) or (B, F, 1, 1)."""
    assert isinstance(plain, nn.Sequential)
    assert isinstance(plain[0], nn.Flatten)
    layers = copy.deepcopy(plain)
    layers[0] = nn.Identity()
    module = grouped.to_grouped(layers).train(training)

    def run(state: Stack, masks: Masks, images: Tensor) -> Tensor:
        x = images.flatten(1)
        own = x[None] if x.shape[1] == inputs else x.view(len(x), -1, inputs).transpose(0, 1)
        logits: Tensor = functional_call(module, _with_masks(state, masks), (own,))
        return logits

    return run


def _vmap_runner(module: nn.Module, channels: int) -> Runner:
    forward = _member_forward(module)

    def run(state: Stack, masks: Masks, images: Tensor) -> Tensor:
        own = _per_member(images, count_members(state), channels)
        mapped = vmap(forward, in_dims=(0, 0 if own.dim() == 5 else None))
        logits: Tensor = mapped(_with_masks(state, masks), own)
        return logits

    return run


def _loop_runner(module: nn.Module, channels: int) -> Runner:
    forward = _member_forward(module)

    def run(state: Stack, masks: Masks, images: Tensor) -> Tensor:
        own = _per_member(images, count_members(state), channels)
        values = _with_masks(state, masks)
        members = range(count_members(state))
        return torch.stack([forward(one_member(values, g), own[g] if own.dim() == 5 else own) for g in members])

    return run


def _member_forward(module: nn.Module) -> Callable[[Stack, Tensor], Tensor]:
    """Return a function from one member's values and images (B, …) to logits (B, C)."""
    tied = _tied_names(module)

    def forward(values: Stack, images: Tensor) -> Tensor:
        everywhere = {**values, **{name: values[first] for name, first in tied.items()}}
        logits: Tensor = functional_call(module, everywhere, (images,), tie_weights=False)  # tied above
        return logits

    return forward


def _with_masks(state: Stack, masks: Masks) -> Stack:
    return {**state, **{f"{name}.mask": mask for name, mask in masks.items()}}


def _per_member(images: Tensor, members: int, channels: int) -> Tensor:
    """Return (G, B, channels, H, W) for joined images, (B, channels, H, W) for images that all members see."""
    if images.shape[1] == channels:
        return to_contiguous(images)
    return to_contiguous(images.view(len(images), members, channels, *images.shape[2:]).transpose(0, 1))
