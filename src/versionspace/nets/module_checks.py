"""Whether a network, above all one's own, can be a member of an ensemble: asked before it is trained."""

import copy

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from versionspace.errors import InputError
from versionspace.nets.dropout import Dropout, counts


def refuse_lazy(plain: nn.Module) -> None:
    """Members are stacked before any image is seen, so that each tensor must be there from the start."""
    for name, layer in plain.named_modules():
        if any(is_lazy(value) for value in (*layer.parameters(recurse=False), *layer.buffers(recurse=False))):
            raise InputError(
                "net",
                expected="layers whose sizes are known once they are made",
                got=_called(name, layer),
                fix="The factory gets (channels, height, width): name the sizes, as in nn.Linear(64, 10), or let it "
                "pass blank images through the network in evaluation mode before it gives it.",
            )


@torch.no_grad()
def refuse_draws(plain: nn.Module, images: Tensor) -> None:
    """Threads share torch's generator: what a forward draws from it depends on which of them comes first."""
    for training in (True, False):
        found = _drawing(copy.deepcopy(plain).train(training), images)
        if found is not None:
            raise InputError(
                "net",
                expected="a forward that draws nothing from torch's own generator",
                got=f"draws by {found} in {'training' if training else 'evaluation'}",
                fix="Use nn.Dropout layers (nn.Dropout2d for channels), whose masks belong to the member, in place of "
                "F.dropout and its like; of a layer that drops inside, such as attention, set the rate to 0.",
            )


def _called(name: str, layer: nn.Module) -> str:
    return f"{name} ({type(layer).__name__})" if name else type(layer).__name__


def _drawing(module: nn.Module, images: Tensor) -> str | None:
    """The first layer that moves torch's generator in a pass, the innermost that does."""
    before: list[Tensor] = []
    found: list[str] = []

    def enter(*_: object) -> None:
        before.append(torch.random.get_rng_state())

    for name, layer in module.named_modules():

        def leave(*_: object, called: str = _called(name, layer)) -> None:
            if not torch.equal(before.pop(), torch.random.get_rng_state()):
                found.append(called)

        layer.register_forward_pre_hook(enter)
        layer.register_forward_hook(leave)
    module(images)
    return found[0] if found else None


@torch.no_grad()
def refuse_only_in_training(plain: nn.Module, images: Tensor) -> None:
    """Masks are made for the calls of a pass: a forward that asks `self.training` must make the same in both modes."""
    if not any(isinstance(child, Dropout) and child.p > 0 for child in plain.modules()):
        return
    modes = [counts(copy.deepcopy(plain).train(training), images) for training in (False, True)]
    for name, calls in modes[0].items():
        if calls != modes[1][name]:
            raise InputError(
                "net",
                expected="dropout layers that a pass calls as often in evaluation as in training",
                got=f"{name or type(plain).__name__}: {calls} calls in evaluation, {modes[1][name]} in training",
                fix="Call the layer without asking self.training: outside training it drops nothing by itself.",
            )


@torch.no_grad()
def refuse_single_images(plain: nn.Module, image: Tensor) -> None:
    """Batches of one image, where the network's batch norm would get single numbers, which have no deviation."""
    try:
        copy.deepcopy(plain).train()(image[None])
    except ValueError as error:
        if "more than 1 value per channel" not in str(error):
            raise
        raise InputError(
            "training.batch",
            expected="at least 2 images, since batch norm gets one number of each image and channel in this network",
            got="1",
            fix="Raise it; the paper's are 16 and 32.",
        ) from error
