"""Dropout whose masks are set from outside, so that they belong to the member and not to a global generator."""

from collections.abc import Iterator
from contextlib import ExitStack

import torch
from torch import Tensor, nn

TORCH_DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)


class Dropout(nn.Module):
    """Multiply by a mask that is set before each pass; without a mask, return the input.

    The mask is 0 with probability ``p`` and 1/(1 − p) otherwise. ``whole_channels`` drops channels instead of single
    numbers. The mask is a buffer that is not part of checkpoints, so that `torch.func.functional_call` can replace it.

    A layer that a network calls several times needs a mask for each call: `trace_dropout` gives it one child layer for
    each call of a pass after the first.
    """

    mask: Tensor | None

    def __init__(self, p: float = 0.5, whole_channels: bool = False) -> None:
        super().__init__()
        self.p = p
        self.whole_channels = whole_channels
        self.input_shape: tuple[int, ...] | None = None
        """The shape of the last input, without the batch."""
        self.next_call = 0
        """The number of the next call within a pass."""
        self.register_buffer("mask", None, persistent=False)

    def mask_shape(self, batch: int) -> tuple[int, ...]:
        """Return the shape of a mask for this many images; the layer must have been called before."""
        assert self.input_shape is not None
        if self.whole_channels:
            return (batch, self.input_shape[0], *(1 for _ in self.input_shape[1:]))
        return (batch, *self.input_shape)

    def forward(self, x: Tensor) -> Tensor:
        """Return x times the mask."""
        if self._modules:
            call, self.next_call = self.next_call, (self.next_call + 1) % (1 + len(self._modules))
            if call:
                dropped: Tensor = self.get_submodule(str(call))(x)
                return dropped
        if self.mask is None:
            self.input_shape = tuple(x.shape[1:])
            return x
        return x * self.mask

    def extra_repr(self) -> str:
        """Return what ``print(net)`` shows of the layer."""
        return f"p={self.p}"


def replace_dropout(module: nn.Module) -> nn.Module:
    """Replace torch's dropout layers by `Dropout`, in place; return the module."""
    if isinstance(module, TORCH_DROPOUTS):
        return Dropout(module.p, whole_channels=not isinstance(module, nn.Dropout))
    for name, child in list(module._modules.items()):  # named_children omits the second name of a layer
        if child is not None:
            setattr(module, name, replace_dropout(child))
    return module


def trace_dropout(module: nn.Module, images: Tensor) -> Tensor:
    """Return the module's output, and prepare its dropout layers for the calls and shapes of this pass."""
    calls: dict[Dropout, list[tuple[int, ...]]] = {}
    logits = _record_calls(module, images, calls)
    for layer, shapes in calls.items():
        layer.input_shape = shapes[0]
        for call, shape in enumerate(shapes[1:], start=1):
            child = Dropout(layer.p, layer.whole_channels)
            child.input_shape = shape
            layer.add_module(str(call), child)
    return logits


def count_dropout_calls(module: nn.Module, images: Tensor) -> dict[str, int]:
    """Return how often a pass calls each dropout layer with a rate above 0. Call it before `trace_dropout`."""
    calls: dict[Dropout, list[tuple[int, ...]]] = {}
    _record_calls(module, images, calls)
    layers = [(name, child) for name, child in module.named_modules() if isinstance(child, Dropout) and child.p > 0]
    return {name: len(calls.get(layer, ())) for name, layer in layers}


def _record_calls(module: nn.Module, images: Tensor, calls: dict[Dropout, list[tuple[int, ...]]]) -> Tensor:
    """Return the module's output; append the input shapes of each dropout layer to ``calls``."""

    def record(layer: nn.Module, given: tuple[Tensor]) -> None:
        assert isinstance(layer, Dropout)
        calls.setdefault(layer, []).append(tuple(given[0].shape[1:]))

    with ExitStack() as hooks:
        for child in module.modules():
            if isinstance(child, Dropout):
                hooks.enter_context(child.register_forward_pre_hook(record))
        logits: Tensor = module(images)
    return logits


def active_dropouts(module: nn.Module) -> Iterator[tuple[str, Dropout]]:
    """Yield the dropout layers with a rate above 0 that a pass calls, with their names, in order."""
    for name, child in module.named_modules():
        if isinstance(child, Dropout) and child.p > 0 and child.input_shape is not None:
            yield name, child


def draw_mask(layer: Dropout, batch: int, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
    """Return one member's mask for one pass."""
    keep = 1.0 - layer.p
    mask = torch.empty(layer.mask_shape(batch), dtype=dtype, device=generator.device)
    return mask.bernoulli_(keep, generator=generator).div_(keep)
