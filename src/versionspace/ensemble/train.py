"""Training one group of members, from their first weights to their last, in one vectorised pass.

Each member has its own batch order, dropout masks, learning rate, plateau and end, drawn from generators of its own:
nothing of a member depends on which others are in its group, but for rounding. Members that have stopped leave.

When a member's learning rate falls, and when it stops.

SGD with momentum and RMSProp over stacked parameters, with a learning rate for each member.

The same arithmetic as torch.optim's, member by member:

    sgd       v ← μ v + g,              w ← w − rate · v
    rmsprop   s ← .99 s + .01 g²,       w ← w − rate · g / (√s + 1e-8)

Does a member make fewer mistakes than at its best? The same answer as by a whole pass, for a part of it.

An epoch only needs to know whether the validation accuracy is better than the best so far. Each member looks first
at the images that it last got wrong, and stops as soon as its mistakes reach those of its best epoch: it cannot
improve any more. Only a true improvement needs the whole pass.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from versionspace import rng
from versionspace.ensemble.normalise import Normalisation
from versionspace.ensemble.settings import Training
from versionspace.errors import TrainingError
from versionspace.nets.dropout import draw_mask
from versionspace.nets.stacks import Masks, Network, Runner, Stack, chosen, member, side_by_side, size

_LEAST_FALL = 1e-3
"""A training loss must fall by this share of itself to count as better."""
_ROUNDING = 1e-9
"""1e-2 · 0.1 · 0.1 is not quite 1e-4 in floating point; it is not below it either."""


@dataclass(frozen=True)
class Plateau:
    """One member's state."""

    rate: float
    best: float | None = None
    """Fewest validation mistakes, or lowest training loss, so far: lower is better."""
    waited: int = 0
    """Epochs since it improved, or since the rate last fell."""
    stopped: bool = False

    def after(self, value: float, training: Training) -> "Plateau":
        """The state after an epoch that ended with this many mistakes, or this loss."""
        least = _LEAST_FALL if training.watch == "training loss" else 0.0
        if self.best is None or value < self.best * (1.0 - least):
            return replace(self, best=value, waited=0)
        if self.waited + 1 < training.patience:
            return replace(self, waited=self.waited + 1)
        rate = self.rate * training.decay
        return replace(self, rate=rate, waited=0, stopped=rate < training.floor * (1.0 - _ROUNDING))


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


class Validation:
    """Labelled images on which each of G members counts its mistakes."""

    def __init__(self, images: Tensor, labels: Tensor, normalisation: Normalisation, members: int, step: int) -> None:
        self.images = images
        """uint8 (V, H, W, channels)."""
        self.labels = labels
        self.normalisation = normalisation
        self.step = step
        self.order = torch.arange(len(labels), device=labels.device).repeat(members, 1)
        """(G, V): the order in which each member looks."""
        self.looked = 0
        """Images looked at so far, over all members."""

    def mistakes(self, run: Runner, state: Stack, limits: list[float | None], dtype: torch.dtype) -> list[int]:
        """Each member's mistakes, counted until they reach its limit (None: to the end)."""
        device = self.order.device
        counts = torch.zeros(size(state), dtype=torch.long, device=device)
        ceiling = torch.tensor([float("inf") if limit is None else limit for limit in limits], device=device)
        active = torch.arange(size(state), device=device)
        running = state
        wrong = torch.zeros_like(self.order, dtype=torch.bool)
        seen = torch.zeros_like(wrong)
        for begin in range(0, self.order.shape[1], self.step):
            which = self.order[active, begin : begin + self.step]
            images = self.normalisation.apply(self.images[which], dtype)
            votes = run(running, {}, side_by_side(images)).argmax(dim=2)
            missed = votes != self.labels[which]
            self.looked += which.numel()
            wrong[active, begin : begin + self.step] = missed
            seen[active, begin : begin + self.step] = True
            counts[active] += missed.sum(dim=1)
            going = counts[active] < ceiling[active]
            if not going.all():
                active = active[going]
                if len(active) == 0:
                    break
                running = chosen(state, active)
        rank = torch.where(wrong, 0, torch.where(seen, 2, 1))  # missed, then not looked at, then right
        self.order = self.order.gather(1, rank.argsort(dim=1, stable=True))
        return [int(count) for count in counts.tolist()]

    def keep(self, members: Tensor) -> None:
        """Forgets all members but these."""
        self.order = self.order[members]


@dataclass(frozen=True)
class Labelled:
    """Images that members learn from, or are validated on, on the device."""

    images: Tensor
    """uint8 (n, H, W, channels)."""
    labels: Tensor
    """int64 (n,)."""


@dataclass
class History:
    """What happened to one member in a fit."""

    epochs: int = 0
    losses: list[float] = field(default_factory=list)
    """Mean training loss of each epoch, nats."""
    rates: list[float] = field(default_factory=list)
    """Learning rate of each epoch."""
    fit: float = 0.0
    """The share of its labels that the member gives back at the end."""
    best_accuracy: float | None = None
    """Best validation accuracy of any epoch."""


@dataclass(frozen=True)
class Task:
    """One group's work."""

    network: Network
    training: Training
    normalisation: Normalisation
    seed: int
    round: int
    members: tuple[int, ...]
    state: Stack
    """First weights, (G, …)."""
    labelled: Labelled
    validation: Labelled | None
    images_at_once: int
    dtype: torch.dtype
    report: Callable[[int, int], None]
    """Called with the epochs that were run and the members that ended since the last call."""


@dataclass(frozen=True)
class Fitted:
    """Last weights (G, …) and what happened, in the order of the task's members."""

    state: Stack
    histories: list[History]


def batches(count: int, size: int) -> list[tuple[int, int]]:
    """Where batches begin and end. A last batch of one image joins the one before: batch norm needs two."""
    edges = [*range(0, count, size), count]
    if len(edges) > 2 and edges[-1] - edges[-2] == 1:
        del edges[-2]
    return list(itertools.pairwise(edges))


class _Draws:
    """One member's own randomness."""

    def __init__(self, task: Task, index: int) -> None:
        names = ("ensemble", task.round, index)
        self.order = rng.generator(task.seed, *names, "order")
        self.masks = torch.Generator(task.labelled.labels.device)
        self.masks.manual_seed(rng.key(task.seed, *names, "dropout") % 2**63)

    def permutation(self, count: int) -> np.ndarray:
        return self.order.permutation(count) if count > 1 else np.zeros(2, np.int64)


def fit_group(task: Task) -> Fitted:
    """Trains a group to the end."""
    return _Group(task).fit()


class _Group:
    def __init__(self, task: Task) -> None:
        self.task = task
        device = task.labelled.labels.device
        self.run = task.network.runner(True, device, task.dtype)
        self.look = task.network.runner(False, device, task.dtype)
        self.state = {name: value.clone() for name, value in task.state.items()}
        self.names = task.network.parameters()
        self.active = list(range(len(task.members)))
        self.plateaus = [Plateau(task.training.rate) for _ in task.members]
        self.histories = [History() for _ in task.members]
        self.draws = [_Draws(task, index) for index in task.members]
        self.images = task.normalisation.apply(task.labelled.images, task.dtype)
        self.ended: dict[int, Stack] = {}
        self.optimiser = Optimiser([self.state[name] for name in self.names], task.training)
        self.validation: Validation | None = None
        if task.training.watch == "validation accuracy":
            assert task.validation is not None
            self.validation = Validation(
                task.validation.images,
                task.validation.labels,
                task.normalisation,
                len(task.members),
                task.images_at_once,
            )

    def fit(self) -> Fitted:
        for epoch in range(self.task.training.epochs):
            losses = self._epoch()
            self._check(losses, epoch)
            for place, loss in zip(self.active, losses, strict=True):
                history = self.histories[place]
                history.epochs += 1
                history.losses.append(loss)
                history.rates.append(self.plateaus[place].rate)
            self._judge(losses)
            last = epoch + 1 == self.task.training.epochs
            ending = [i for i, place in enumerate(self.active) if last or self.plateaus[place].stopped]
            self.task.report(len(losses), len(ending))
            if ending:
                self._end(ending)
            if not self.active:
                break
        order = [self.ended[place] for place in range(len(self.histories))]
        return Fitted({name: torch.stack([state[name] for state in order]) for name in order[0]}, self.histories)

    def _epoch(self) -> list[float]:
        """One pass over the labels by every active member; their mean losses."""
        count = len(self.task.labelled.labels)
        draws = [self.draws[place] for place in self.active]
        order = torch.from_numpy(np.stack([draw.permutation(count) for draw in draws])).to(self.images.device)
        parameters = [self.state[name].requires_grad_() for name in self.names]
        rates = shaped([self.plateaus[place].rate for place in self.active], parameters)
        total = torch.zeros(len(draws), dtype=self.task.dtype, device=self.images.device)
        for begin, end in batches(order.shape[1], self.task.training.batch):
            which = order[:, begin:end]
            logits = self.run(self.state, self._masks(draws, end - begin), side_by_side(self.images[which]))
            each = F.cross_entropy(logits.flatten(0, 1), self.task.labelled.labels[which].flatten(), reduction="none")
            losses = each.view(len(draws), -1).mean(dim=1)
            gradients = torch.autograd.grad(losses.sum(), parameters, allow_unused=True, materialize_grads=True)
            self.optimiser.step(parameters, list(gradients), rates)
            total += losses.detach() * (end - begin)
        for parameter in parameters:
            parameter.requires_grad_(False)
        return [float(loss) for loss in (total / order.shape[1]).tolist()]

    def _masks(self, draws: list[_Draws], batch: int) -> Masks:
        """Fresh dropout masks, each from its member's own generator."""
        return {
            name: torch.stack([draw_mask(layer, batch, draw.masks, self.task.dtype) for draw in draws])
            for name, layer in self.task.network.dropouts()
        }

    def _check(self, losses: list[float], epoch: int) -> None:
        for place, loss in zip(self.active, losses, strict=True):
            if not np.isfinite(loss):
                raise TrainingError(
                    f"member {self.task.members[place]}, epoch {epoch + 1}: expected a finite training loss, "
                    f"got {loss}. Try a lower learning rate than {self.plateaus[place].rate:g} "
                    "(training={'rate': …}), and look for images or labels that are not what they should be."
                )

    @torch.no_grad()
    def _judge(self, losses: list[float]) -> None:
        """Moves every active member's plateau."""
        values = losses
        if self.validation is not None:
            limits = [self.plateaus[place].best for place in self.active]
            values = [float(n) for n in self.validation.mistakes(self.look, self.state, limits, self.task.dtype)]
        for place, value in zip(self.active, values, strict=True):
            plateau = self.plateaus[place].after(value, self.task.training)
            self.plateaus[place] = plateau
            if self.validation is not None and plateau.best is not None:
                self.histories[place].best_accuracy = 1.0 - plateau.best / len(self.validation.labels)

    @torch.no_grad()
    def _end(self, ending: list[int]) -> None:
        """Keeps the last weights of members that have stopped, and goes on without them."""
        leaving = chosen(self.state, torch.tensor(ending, device=self.images.device))
        right = self._fits(leaving)
        for i, (at, share) in enumerate(zip(ending, right, strict=True)):
            place = self.active[at]
            self.ended[place] = {name: value.clone() for name, value in member(leaving, i).items()}
            self.histories[place].fit = share
        staying = [i for i in range(len(self.active)) if i not in ending]
        self.active = [self.active[i] for i in staying]
        if staying:
            keep = torch.tensor(staying, device=self.images.device)
            self.state = chosen(self.state, keep)
            self.optimiser.keep(keep)
            if self.validation is not None:
                self.validation.keep(keep)

    def _fits(self, state: Stack) -> list[float]:
        """The share of the labels that each member gives back."""
        count, step = len(self.images), self.task.images_at_once
        right = torch.zeros(len(next(iter(state.values()))), device=self.images.device)
        for i in range(0, count, step):
            votes = self.look(state, {}, self.images[i : i + step].permute(0, 3, 1, 2)).argmax(dim=2)
            right += (votes == self.task.labelled.labels[i : i + step]).sum(dim=1)
        return [float(share) for share in (right / count).tolist()]
