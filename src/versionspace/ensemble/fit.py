"""Training one group of members, from their first weights to their last, in one vectorised pass.

Each member has its own batch order, dropout masks, learning rate, plateau and end, drawn from generators of its own:
nothing of a member depends on which others are in its group, but for rounding. Members that have stopped leave.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from versionspace import rng
from versionspace.ensemble.normalise import Normalisation
from versionspace.ensemble.optimise import Optimiser, shaped
from versionspace.ensemble.plateau import Plateau
from versionspace.ensemble.training import Training
from versionspace.ensemble.validate import Validation
from versionspace.errors import TrainingError
from versionspace.nets.layers import draw_mask
from versionspace.nets.stacks import Masks, Network, Stack, chosen, member, side_by_side


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
