"""Tensors that a module has under several names: tied weights, and layers with a second name.

A stack holds each of them once, under its first name, so that it is trained, saved and compared as the one that it is.
"""

from torch import nn


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
