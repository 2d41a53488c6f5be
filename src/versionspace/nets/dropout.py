"""Dropout with its masks given from outside, so that they belong to the member and not to a global generator."""

from collections.abc import Iterator
from contextlib import ExitStack

import torch
from torch import Tensor, nn

PLAIN_DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)


class Dropout(nn.Module):
    """Multiplies by a mask that is set before each pass, and by nothing where none is set.

    The mask holds 0 with probability ``p`` and 1/(1 − p) elsewhere. ``whole_channels`` drops channels instead of
    single numbers. The mask is a buffer that no checkpoint contains: `torch.func.functional_call` can swap it.

    A layer that a network calls at several places has a mask for each: `watched` gives it as many children, which are
    layers like it, for the calls of a pass after the first.
    """

    mask: Tensor | None

    def __init__(self, p: float = 0.5, whole_channels: bool = False) -> None:
        super().__init__()
        self.p = p
        self.whole_channels = whole_channels
        self.seen: tuple[int, ...] | None = None
        """The shape of the last input, without the batch."""
        self.turn = 0
        """Which call of a pass comes next."""
        self.register_buffer("mask", None, persistent=False)

    def mask_shape(self, batch: int) -> tuple[int, ...]:
        """The shape of a mask for so many images; a pass must have gone through before."""
        assert self.seen is not None
        if self.whole_channels:
            return (batch, self.seen[0], *(1 for _ in self.seen[1:]))
        return (batch, *self.seen)

    def forward(self, x: Tensor) -> Tensor:
        """x times the mask."""
        if self._modules:
            turn, self.turn = self.turn, (self.turn + 1) % (1 + len(self._modules))
            if turn:
                out: Tensor = self.get_submodule(str(turn))(x)
                return out
        if self.mask is None:
            self.seen = tuple(x.shape[1:])
            return x
        return x * self.mask

    def extra_repr(self) -> str:
        """For print(net)."""
        return f"p={self.p}"


def with_own_dropout(module: nn.Module) -> nn.Module:
    """The module, with torch's dropout layers replaced by ours, in place; it must be in nobody else's hands."""
    if isinstance(module, PLAIN_DROPOUTS):
        return Dropout(module.p, whole_channels=not isinstance(module, nn.Dropout))
    for name, child in list(module._modules.items()):  # named_children leaves out a layer's second name
        if child is not None:
            setattr(module, name, with_own_dropout(child))
    return module


def watched(module: nn.Module, images: Tensor) -> Tensor:
    """The module's output; its dropout layers learn how often a pass calls them, and what they see each time."""
    calls: dict[Dropout, list[tuple[int, ...]]] = {}
    out = _noted(module, images, calls)
    for layer, shapes in calls.items():
        layer.seen = shapes[0]
        for turn, shape in enumerate(shapes[1:], start=1):
            further = Dropout(layer.p, layer.whole_channels)
            further.seen = shape
            layer.add_module(str(turn), further)
    return out


def counts(module: nn.Module, images: Tensor) -> dict[str, int]:
    """How often a pass calls each dropout layer with a rate above 0; before `watched`, which gives layers children."""
    calls: dict[Dropout, list[tuple[int, ...]]] = {}
    _noted(module, images, calls)
    layers = [(name, child) for name, child in module.named_modules() if isinstance(child, Dropout) and child.p > 0]
    return {name: len(calls.get(layer, ())) for name, layer in layers}


def _noted(module: nn.Module, images: Tensor, calls: dict[Dropout, list[tuple[int, ...]]]) -> Tensor:
    """The module's output; ``calls`` gets the shapes that each dropout layer sees."""

    def note(layer: nn.Module, given: tuple[Tensor]) -> None:
        assert isinstance(layer, Dropout)
        calls.setdefault(layer, []).append(tuple(given[0].shape[1:]))

    with ExitStack() as hooks:
        for child in module.modules():
            if isinstance(child, Dropout):
                hooks.enter_context(child.register_forward_pre_hook(note))
        out: Tensor = module(images)
    return out


def dropouts(module: nn.Module) -> Iterator[tuple[str, Dropout]]:
    """Our dropout layers with a rate above 0 that a pass goes through, by name, in order."""
    for name, child in module.named_modules():
        if isinstance(child, Dropout) and child.p > 0 and child.seen is not None:
            yield name, child


def draw_mask(layer: Dropout, batch: int, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
    """One member's mask for one pass."""
    keep = 1.0 - layer.p
    mask = torch.empty(layer.mask_shape(batch), dtype=dtype, device=generator.device)
    return mask.bernoulli_(keep, generator=generator).div_(keep)
