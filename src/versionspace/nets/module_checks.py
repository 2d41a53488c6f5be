"""Checks of a user's network before it is trained: can it be a member of an ensemble?

Each function raises `InputError` if not.
"""

import copy

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from versionspace.errors import InputError
from versionspace.nets.dropout import Dropout, count_dropout_calls


def reject_lazy_layers(plain: nn.Module) -> None:
    """Members are stacked before they see an image, so every tensor must exist after construction."""
    for name, layer in plain.named_modules():
        if any(is_lazy(value) for value in (*layer.parameters(recurse=False), *layer.buffers(recurse=False))):
            raise InputError(
                "net",
                expected="layers whose sizes are known after construction",
                got=_described(name, layer),
                fix="The factory gets (channels, height, width): give the sizes, as in nn.Linear(64, 10), or let the "
                "factory pass blank images through the network in evaluation mode before it returns it.",
            )


@torch.no_grad()
def reject_global_draws(plain: nn.Module, images: Tensor) -> None:
    """Threads share torch's generator: what a forward draws from it depends on their order."""
    for training in (True, False):
        layer = _drawing_layer(copy.deepcopy(plain).train(training), images)
        if layer is not None:
            raise InputError(
                "net",
                expected="a forward that does not draw from torch's global generator",
                got=f"draws by {layer} in {'training' if training else 'evaluation'}",
                fix="Use nn.Dropout layers (nn.Dropout2d for channels), whose masks belong to the member, instead of "
                "F.dropout and similar functions; in layers with dropout inside, such as attention, set the rate to 0.",
            )


@torch.no_grad()
def reject_mode_dependent_dropout(plain: nn.Module, images: Tensor) -> None:
    """Masks are made for the calls of one pass, so both modes must call each dropout layer equally often."""
    if not any(isinstance(child, Dropout) and child.p > 0 for child in plain.modules()):
        return
    modes = [count_dropout_calls(copy.deepcopy(plain).train(training), images) for training in (False, True)]
    for name, calls in modes[0].items():
        if calls != modes[1][name]:
            raise InputError(
                "net",
                expected="dropout layers that are called equally often in evaluation and in training",
                got=f"{name or type(plain).__name__}: {calls} calls in evaluation, {modes[1][name]} in training",
                fix="Call the layer without testing self.training: outside training it drops nothing.",
            )


@torch.no_grad()
def reject_batches_of_one(plain: nn.Module, image: Tensor) -> None:
    """With batches of one image, a batch norm may see single numbers, which have no deviation."""
    try:
        copy.deepcopy(plain).train()(image[None])
    except ValueError as error:
        if "more than 1 value per channel" not in str(error):
            raise
        raise InputError(
            "training.batch",
            expected="at least 2 images, because this network's batch norm sees one number per image and channel",
            got="1",
            fix="Raise it; the paper uses 16 and 32.",
        ) from error


def _described(name: str, layer: nn.Module) -> str:
    return f"{name} ({type(layer).__name__})" if name else type(layer).__name__


def _drawing_layer(module: nn.Module, images: Tensor) -> str | None:
    """Return the first, innermost layer that advances torch's global generator in a pass, if any."""
    states: list[Tensor] = []
    drawing: list[str] = []

    def enter(*_: object) -> None:
        states.append(torch.random.get_rng_state())

    for name, layer in module.named_modules():

        def leave(*_: object, described: str = _described(name, layer)) -> None:
            if not torch.equal(states.pop(), torch.random.get_rng_state()):
                drawing.append(described)

        layer.register_forward_pre_hook(enter)
        layer.register_forward_hook(leave)
    module(images)
    return drawing[0] if drawing else None
