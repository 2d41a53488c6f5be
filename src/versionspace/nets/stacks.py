"""G members as one stack: every parameter and buffer of a plain module with a leading axis of members.

Three ways to push images through a stack give the same numbers up to rounding:

    grouped   our own networks: grouped convolutions (grouped.py)
    mapped    a user's module, by `torch.func.vmap`
    looped    a user's module that vmap cannot do, one member after the other

Tensors that a module has under several names: tied weights, and layers with a second name.

A stack holds each of them once, under its first name, so that it is trained, saved and compared as the one that it is.
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
from versionspace.nets.dropout import Dropout, dropouts, watched, with_own_dropout


def first_names(module: nn.Module) -> dict[str, str]:
    """For each name in a checkpoint of the module, in order, the first name of the same tensor.

    >>> tied = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    >>> tied[1].weight = tied[0].weight
    >>> first_names(tied)
    {'0.weight': '0.weight', '0.bias': '0.bias', '1.weight': '0.weight', '1.bias': '1.bias'}
    """
    firsts: dict[int, str] = {}
    return {name: firsts.setdefault(id(value), name) for name, value in module.state_dict(keep_vars=True).items()}


def further_places(module: nn.Module) -> dict[str, str]:
    """Where tensors stand besides their first place, with their first names.

    A layer's second name is no further place: what is swapped in and out there twice would not be put back.
    """
    layers = {name for name, _ in module.named_modules()}  # each by its first name
    return {
        name: first
        for name, first in first_names(module).items()
        if name != first and name.rpartition(".")[0] in layers
    }


Stack: TypeAlias = dict[str, Tensor]
"""Parameters and buffers by name, each (G, …), and each once, by its first name."""
Masks: TypeAlias = dict[str, Tensor]
"""Dropout masks by the layer's name, each (G, B, …)."""
Way: TypeAlias = Literal["grouped", "mapped", "looped"]


@dataclass(frozen=True)
class Network:
    """An architecture for images of one shape: how to make a member, and how to run a stack of them."""

    factory: Factory
    shape: Shape
    classes: int
    plain: nn.Module
    """One member without values of its own: the tree, for shapes and names."""
    way: Way

    def make(self) -> nn.Module:
        """A new member, drawn from torch's generator."""
        return with_own_dropout(self.factory(self.shape, self.classes))

    def parameters(self) -> list[str]:
        """The names of what is trained: a layer that its maker froze stays as it is."""
        return [name for name, value in self.plain.named_parameters() if value.requires_grad]

    def dropouts(self) -> list[tuple[str, Dropout]]:
        """The dropout layers, with the shapes that they see."""
        return list(dropouts(self.plain))

    def runner(self, training: bool, device: torch.device | None = None, dtype: torch.dtype | None = None) -> "Runner":
        """A function from a stack, masks and images to logits (G, B, C).

        A stack holds what a checkpoint holds; the rest of a module's tensors go to ``device`` and become ``dtype``.
        """
        if self.way == "grouped":
            return _grouped(self.plain, training)
        way = _mapped if self.way == "mapped" else _looped
        return way(copy.deepcopy(self.plain).to(device, dtype).train(training), self.shape[0])


Runner: TypeAlias = Callable[[Stack, Masks, Tensor], Tensor]
"""Images come as (B, G·channels, H, W) or, for all members the same, (B, channels, H, W)."""


def find(net: str | Factory) -> Factory:
    """The factory of this name, or the caller's own."""
    if callable(net):
        return net
    if net in NETS:
        return NETS[net]
    raise InputError(
        "net",
        expected="one of " + ", ".join(NETS) + ", or a function (shape, classes) -> torch.nn.Module",
        got=repr(net),
        fix="Pick a name, or pass your own factory.",
    )


def network(net: str | Factory, shape: Shape, classes: int, way: Way | None = None) -> Network:
    """The architecture for images of this shape, checked by passing two blank images through."""
    factory = find(net)
    named = isinstance(net, str)
    with seeded(0):
        plain = with_own_dropout(factory(shape, classes)).eval()
        images = torch.zeros(2, *shape)
        if not named:
            module_checks.refuse_lazy(plain)
            module_checks.refuse_draws(plain, images)
            module_checks.refuse_only_in_training(plain, images)
        with torch.no_grad():
            logits = watched(plain, images)
        if tuple(logits.shape) != (2, classes):
            raise InputError(
                "net",
                expected=f"logits of shape (2, {classes}) for two images of shape {shape}",
                got=f"{tuple(logits.shape)}",
                fix="The factory gets (channels, height, width) and the number of classes; its last layer must fit.",
            )
        if not any(value.requires_grad for value in plain.parameters()):
            raise InputError(
                "net",
                expected="parameters to train",
                got="a network without any that requires a gradient",
                fix="Leave requires_grad of the layers to train as it is, True.",
            )
        return Network(factory, shape, classes, plain, way or ("grouped" if named else _best_way(plain, shape)))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Modules made inside draw on the processor, whatever torch's default device; its generator is put back.

    `torch.manual_seed` would seed those of GPUs too, which nothing puts back.
    """
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(seed)
        yield


def _best_way(plain: nn.Module, shape: Shape) -> Way:
    """vmap where it can run the module in training, the loop where it cannot."""
    masks = {name: torch.ones(2, *layer.mask_shape(2)) for name, layer in dropouts(plain)}
    images = torch.zeros(2, 2 * shape[0], *shape[1:])
    try:
        with torch.no_grad():
            _mapped(copy.deepcopy(plain).train(), shape[0])(stack([plain, plain]), masks, images)
    except (RuntimeError, ValueError, NotImplementedError):
        return "looped"
    return "mapped"


def stack(modules: Sequence[nn.Module]) -> Stack:
    """The modules' parameters and buffers, stacked."""
    states = [module.state_dict() for module in modules]
    once = dict.fromkeys(first_names(modules[0]).values())
    return {name: torch.stack([state[name].detach().clone() for state in states]) for name in once}


def load(module: nn.Module, state: Stack) -> None:
    """Gives a module the values of one member."""
    module.load_state_dict({name: state[first] for name, first in first_names(module).items()})


def size(state: Stack) -> int:
    """G."""
    return len(next(iter(state.values())))


def member(state: Stack, index: int) -> Stack:
    """One member's state, as views."""
    return {name: value[index] for name, value in state.items()}


def chosen(state: Stack, indices: Tensor) -> Stack:
    """Some members of a stack, copied."""
    return {name: value[indices] for name, value in state.items()}


def side_by_side(images_GBHWC: Tensor) -> Tensor:
    """Each member's own images as one channels-last batch (B, G·channels, H, W)."""
    # With one channel the flattening is a view in another layout, in which pooling is ten times slower.
    return images_GBHWC.permute(1, 2, 3, 0, 4).flatten(3).contiguous().permute(0, 3, 1, 2)


def _grouped(plain: nn.Module, training: bool) -> Runner:
    module = grouped.twin(plain).train(training)
    flats = [child for child in module.modules() if isinstance(child, grouped.GroupedFlatten)]

    def run(state: Stack, masks: Masks, images: Tensor) -> Tensor:
        for flat in flats:
            flat.members = size(state)
        logits: Tensor = functional_call(module, _with_masks(state, masks), (images,))
        return logits

    return run


def _mapped(module: nn.Module, channels: int) -> Runner:
    one = _one(module)

    def run(state: Stack, masks: Masks, images: Tensor) -> Tensor:
        own = _per_member(images, size(state), channels)
        each = vmap(one, in_dims=(0, 0 if own.dim() == 5 else None))
        logits: Tensor = each(_with_masks(state, masks), own)
        return logits

    return run


def _looped(module: nn.Module, channels: int) -> Runner:
    one = _one(module)

    def run(state: Stack, masks: Masks, images: Tensor) -> Tensor:
        own = _per_member(images, size(state), channels)
        values = _with_masks(state, masks)
        logits = [one(member(values, g), own[g] if own.dim() == 5 else own) for g in range(size(state))]
        return torch.stack(logits)

    return run


def _one(module: nn.Module) -> Callable[[Stack, Tensor], Tensor]:
    """A function from one member's values and images (B, …) to logits (B, C)."""
    further = further_places(module)

    def one(values: Stack, images: Tensor) -> Tensor:
        everywhere = {**values, **{name: values[first] for name, first in further.items()}}
        logits: Tensor = functional_call(module, everywhere, (images,), tie_weights=False)  # they are tied here
        return logits

    return one


def _with_masks(state: Stack, masks: Masks) -> Stack:
    return {**state, **{f"{name}.mask": mask for name, mask in masks.items()}}


def _per_member(images: Tensor, members: int, channels: int) -> Tensor:
    """(G, B, channels, H, W) for images side by side, (B, channels, H, W) where all members see the same."""
    if images.shape[1] == channels:
        return ordinary(images)
    return ordinary(images.view(len(images), members, channels, *images.shape[2:]).transpose(0, 1))


def ordinary(images: Tensor) -> Tensor:
    """In torch's ordinary layout, since a user's forward may well call view.

    ``contiguous`` would leave the strides of a single channel as they are, and a convolution go on in channels-last.
    """
    return images.clone(memory_format=torch.contiguous_format)
