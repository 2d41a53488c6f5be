"""SGD with momentum and RMSProp over stacked parameters, with a learning rate for each member.

The same arithmetic as torch.optim's, member by member:

    sgd       v ← μ v + g,              w ← w − rate · v
    rmsprop   s ← .99 s + .01 g²,       w ← w − rate · g / (√s + 1e-8)
"""

import torch
from torch import Tensor

from versionspace.ensemble.training import Training

_SMOOTHING = 0.99
_EPSILON = 1e-8


class Optimiser:
    """State of the parameters of G members, each parameter (G, …)."""

    def __init__(self, parameters: list[Tensor], training: Training) -> None:
        self.training = training
        self.state = [torch.zeros_like(parameter) for parameter in parameters]

    @torch.no_grad()
    def step(self, parameters: list[Tensor], gradients: list[Tensor], rates: list[Tensor]) -> None:
        """Moves the parameters in place; ``rates`` are the members' learning rates, shaped to each parameter."""
        if self.training.optimiser == "sgd":
            torch._foreach_mul_(self.state, self.training.momentum)
            torch._foreach_add_(self.state, gradients)
            moves = torch._foreach_mul(self.state, rates)
        else:
            torch._foreach_mul_(self.state, _SMOOTHING)
            torch._foreach_addcmul_(self.state, gradients, gradients, 1 - _SMOOTHING)
            scales = torch._foreach_sqrt(self.state)
            torch._foreach_add_(scales, _EPSILON)
            moves = torch._foreach_div(gradients, scales)
            torch._foreach_mul_(moves, rates)
        torch._foreach_sub_(parameters, moves)

    def keep(self, members: Tensor) -> None:
        """Forgets all members but these."""
        self.state = [value[members] for value in self.state]


def shaped(rates: list[float], parameters: list[Tensor]) -> list[Tensor]:
    """The members' rates as (G, 1, …) for each parameter."""
    first = parameters[0]
    vector = torch.tensor(rates, dtype=first.dtype, device=first.device)
    return [vector.view(-1, *(1 for _ in parameter.shape[1:])) for parameter in parameters]
