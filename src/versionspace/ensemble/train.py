"""Training: many members in one vectorised pass, from their initial weights to their last.

Each member has its own batch order, dropout masks, learning rate, plateau and end, drawn from its own generators: apart
from rounding, a member does not depend on the others in its group. Members that have stopped leave the group. Groups
train side by side on several threads, which affects no result.

Optimisers do the same arithmetic as torch.optim, with a learning rate for each member:

    sgd       v ← μ v + g,              w ← w − rate · v
    rmsprop   s ← .99 s + .01 g²,       w ← w − rate · g / (√s + 1e-8)

After an epoch it is enough to know whether a member's validation accuracy is better than its best so far. Each member
looks first at the images that it last got wrong, and stops counting when its mistakes reach those of its best epoch: it
can no longer improve. Only a true improvement takes a whole pass, and the decision is the same as after one.
"""

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from versionspace import rng, runtime
from versionspace.ensemble.normalise import Normalisation
from versionspace.ensemble.settings import ENOUGH, Training
from versionspace.errors import TrainingError
from versionspace.nets import (
    Masks,
    Network,
    Runner,
    Stack,
    count_members,
    draw_mask,
    join_members,
    one_member,
    select_members,
)

_LEAST_FALL = 1e-3
"""A training loss must fall by this share of itself to count as better."""
_ROUNDING = 1e-9
"""In floating point, 1e-2 · 0.1 · 0.1 is slightly below 1e-4; it must not count as below."""
_SMOOTHING = 0.99
_EPSILON = 1e-8


@dataclass(frozen=True)
class Labelled:
    """Inputs to learn from, or to validate on, on the device."""

    inputs: Tensor
    """uint8 images (n, H, W, channels), or float32 features (n, 1, 1, F)."""
    labels: Tensor
    """int64 (n,)."""
    weights: Tensor | None = None
    """(n,), of each input in the training loss; None for equal weights."""


@dataclass
class MemberHistory:
    """What happened to one member in a fit."""

    epochs: int = 0
    losses: list[float] = field(default_factory=list)
    """Mean training loss of each epoch, in nats."""
    rates: list[float] = field(default_factory=list)
    """Learning rate of each epoch."""
    fit: float = 0.0
    """The share of its labels that the member predicts correctly at the end."""
    best_accuracy: float | None = None
    """Best validation accuracy of any epoch."""


@dataclass(frozen=True)
class FitJob:
    """Members to be trained, and everything that their training depends on."""

    network: Network
    training: Training
    normalisation: Normalisation
    seed: int
    round: int
    members: tuple[int, ...]
    state: Stack
    """Initial weights, (G, …)."""
    labelled: Labelled
    validation: Labelled | None
    images_at_once: int
    """Images in one pass when nothing is trained."""
    dtype: torch.dtype
    report: Callable[[int, int], None]
    """Called with the epochs that were run and the members that ended since the last call; may raise to stop."""


@dataclass(frozen=True)
class FittedMembers:
    """Last weights (G, …) and histories, in the order of the job's members."""

    state: Stack
    histories: list[MemberHistory]


GroupTrainer = Callable[[Sequence[FitJob], int | None], list[FittedMembers]]
"""Trains groups of members elsewhere: what `fit_or_retry` returns for each job and a number of epochs, in order."""


def fit_members(
    job: FitJob, group: int, threads: int, retry_epochs: int | None = None, trainer: GroupTrainer | None = None
) -> FittedMembers:
    """Train all members of a job, ``group`` of them in one pass and on one thread, or by a ``trainer``.

    ``retry_epochs``: groups in which a member fits less than `ENOUGH` of its labels are trained again from the start
    for this many epochs.
    """
    runtime.keep_memory()
    stop = threading.Event()

    def report(epochs: int, ended: int) -> None:
        if stop.is_set():
            raise runtime.StoppedError
        job.report(epochs, ended)

    groups = [slice(i, i + group) for i in range(0, len(job.members), group)]
    jobs = [
        replace(
            job,
            report=report,
            members=job.members[some],
            state={name: value[some] for name, value in job.state.items()},
        )
        for some in groups
    ]
    if trainer is not None:
        parts = trainer(jobs, retry_epochs)
    else:
        with runtime.enough_memory("training"):
            parts = runtime.side_by_side(lambda part: fit_or_retry(part, retry_epochs), jobs, threads, stop)
    state = {name: torch.cat([part.state[name] for part in parts]) for name in parts[0].state}
    return FittedMembers(state, [history for part in parts for history in part.histories])


def fit_or_retry(job: FitJob, retry_epochs: int | None) -> FittedMembers:
    """Train the members of a job in one pass; again for ``retry_epochs`` if one fits less than `ENOUGH`."""
    fitted = fit_group(job)
    if retry_epochs is None or min(history.fit for history in fitted.histories) >= ENOUGH:
        return fitted
    return fit_group(replace(job, training=replace(job.training, epochs=retry_epochs)))


def fit_group(job: FitJob) -> FittedMembers:
    """Train the members of a job in one pass."""
    return _Group(job).fit()


class _Group:
    def __init__(self, job: FitJob) -> None:
        self.job = job
        device = job.labelled.labels.device
        self.run = job.network.runner(True, device, job.dtype)
        self.predict = job.network.runner(False, device, job.dtype)
        self.state = {name: value.clone() for name, value in job.state.items()}
        self.names = job.network.trainable_names()
        self.active = list(range(len(job.members)))
        """Positions in ``job.members`` of the members that are still training."""
        self.plateaus = [Plateau(job.training.rate) for _ in job.members]
        self.histories = [MemberHistory() for _ in job.members]
        self.draws = [_Draws(job, member) for member in job.members]
        self.inputs = job.normalisation.apply(job.labelled.inputs, job.dtype)
        self.ended: dict[int, Stack] = {}
        self.optimiser = Optimiser([self.state[name] for name in self.names], job.training)
        self.validation: MistakeCounter | None = None
        if job.training.watch == "validation accuracy":
            assert job.validation is not None
            self.validation = MistakeCounter(
                job.validation, job.normalisation, len(job.members), job.images_at_once
            )  # fmt: skip

    def fit(self) -> FittedMembers:
        for epoch in range(self.job.training.epochs):
            losses = self._run_epoch()
            self._check_losses(losses, epoch)
            for place, loss in zip(self.active, losses, strict=True):
                history = self.histories[place]
                history.epochs += 1
                history.losses.append(loss)
                history.rates.append(self.plateaus[place].rate)
            self._update_plateaus(losses)
            last = epoch + 1 == self.job.training.epochs
            ending = [i for i, place in enumerate(self.active) if last or self.plateaus[place].stopped]
            self.job.report(len(losses), len(ending))
            if ending:
                self._end(ending)
            if not self.active:
                break
        states = [self.ended[place] for place in range(len(self.histories))]
        state = {name: torch.stack([state[name] for state in states]) for name in states[0]}
        return FittedMembers(state, self.histories)

    def _run_epoch(self) -> list[float]:
        """Pass once over the labels with every active member; return their mean losses."""
        count = len(self.job.labelled.labels)
        draws = [self.draws[place] for place in self.active]
        order = torch.from_numpy(np.stack([draw.permutation(count) for draw in draws])).to(self.inputs.device)
        parameters = [self.state[name].requires_grad_() for name in self.names]
        rates = broadcast_rates([self.plateaus[place].rate for place in self.active], parameters)
        total = torch.zeros(len(draws), dtype=self.job.dtype, device=self.inputs.device)
        for begin, end in batch_bounds(order.shape[1], self.job.training.batch):
            batch = order[:, begin:end]
            logits = self.run(self.state, self._draw_masks(draws, end - begin), join_members(self.inputs[batch]))
            each = F.cross_entropy(logits.flatten(0, 1), self.job.labelled.labels[batch].flatten(), reduction="none")
            losses = each.view(len(draws), -1)
            if self.job.labelled.weights is not None:
                losses = losses * self.job.labelled.weights[batch]
            losses = losses.mean(dim=1)
            gradients = torch.autograd.grad(losses.sum(), parameters, allow_unused=True, materialize_grads=True)
            self.optimiser.step(parameters, list(gradients), rates)
            total += losses.detach() * (end - begin)
        for parameter in parameters:
            parameter.requires_grad_(False)
        return [float(loss) for loss in (total / order.shape[1]).tolist()]

    def _draw_masks(self, draws: list["_Draws"], batch: int) -> Masks:
        """Return new dropout masks, each from its member's own generator."""
        return {
            name: torch.stack([draw_mask(layer, batch, draw.masks, self.job.dtype) for draw in draws])
            for name, layer in self.job.network.dropouts()
        }

    def _check_losses(self, losses: list[float], epoch: int) -> None:
        for place, loss in zip(self.active, losses, strict=True):
            if not np.isfinite(loss):
                raise TrainingError(
                    f"member {self.job.members[place]}, epoch {epoch + 1}: expected a finite training loss, "
                    f"got {loss}. Try a lower learning rate than {self.plateaus[place].rate:g} "
                    "(training={'rate': …}), and check the images and labels."
                )

    @torch.no_grad()
    def _update_plateaus(self, losses: list[float]) -> None:
        values = losses
        if self.validation is not None:
            limits = [self.plateaus[place].best for place in self.active]
            values = [float(n) for n in self.validation.count(self.predict, self.state, limits, self.job.dtype)]
        for place, value in zip(self.active, values, strict=True):
            plateau = self.plateaus[place].after(value, self.job.training)
            self.plateaus[place] = plateau
            if self.validation is not None and plateau.best is not None:
                self.histories[place].best_accuracy = 1.0 - plateau.best / len(self.validation.labels)

    @torch.no_grad()
    def _end(self, ending: list[int]) -> None:
        """Store the last weights of members that have stopped, and remove them from the group."""
        leaving = select_members(self.state, torch.tensor(ending, device=self.inputs.device))
        shares = self._fitted_shares(leaving)
        for i, (at, share) in enumerate(zip(ending, shares, strict=True)):
            place = self.active[at]
            self.ended[place] = {name: value.clone() for name, value in one_member(leaving, i).items()}
            self.histories[place].fit = share
        staying = [i for i in range(len(self.active)) if i not in ending]
        self.active = [self.active[i] for i in staying]
        if staying:
            keep = torch.tensor(staying, device=self.inputs.device)
            self.state = select_members(self.state, keep)
            self.optimiser.keep(keep)
            if self.validation is not None:
                self.validation.keep(keep)

    def _fitted_shares(self, state: Stack) -> list[float]:
        """Return the share of the labels that each member predicts correctly."""
        count, step = len(self.inputs), self.job.images_at_once
        right = torch.zeros(count_members(state), device=self.inputs.device)
        for i in range(0, count, step):
            votes = self.predict(state, {}, self.inputs[i : i + step].permute(0, 3, 1, 2)).argmax(dim=2)
            right += (votes == self.job.labelled.labels[i : i + step]).sum(dim=1)
        return [float(share) for share in (right / count).tolist()]


class _Draws:
    """One member's random generators."""

    def __init__(self, job: FitJob, member: int) -> None:
        names = ("ensemble", job.round, member)
        self.order = rng.generator(job.seed, *names, "order")
        self.masks = torch.Generator(job.labelled.labels.device)
        self.masks.manual_seed(rng.key(job.seed, *names, "dropout") % 2**63)

    def permutation(self, count: int) -> np.ndarray:
        """Return the order of an epoch. A single image is shown twice: batch norm needs two."""
        return self.order.permutation(count) if count > 1 else np.zeros(2, np.int64)


def batch_bounds(count: int, size: int) -> list[tuple[int, int]]:
    """Return the begin and end of each batch. A last batch of one image joins the one before: batch norm needs two."""
    edges = [*range(0, count, size), count]
    if len(edges) > 2 and edges[-1] - edges[-2] == 1:
        del edges[-2]
    return list(itertools.pairwise(edges))


@dataclass(frozen=True)
class Plateau:
    """When one member's learning rate falls, and when it stops."""

    rate: float
    best: float | None = None
    """Fewest validation mistakes, or lowest training loss, so far."""
    waited: int = 0
    """Epochs since it improved, or since the rate last fell."""
    stopped: bool = False

    def after(self, value: float, training: Training) -> "Plateau":
        """Return the state after an epoch with this number of mistakes, or this loss."""
        least = _LEAST_FALL if training.watch == "training loss" else 0.0
        if self.best is None or value < self.best * (1.0 - least):
            return replace(self, best=value, waited=0)
        if self.waited + 1 < training.patience:
            return replace(self, waited=self.waited + 1)
        rate = self.rate * training.decay
        return replace(self, rate=rate, waited=0, stopped=rate < training.floor * (1.0 - _ROUNDING))


class Optimiser:
    """SGD with momentum, or RMSProp, over the parameters of G members, each (G, …)."""

    def __init__(self, parameters: list[Tensor], training: Training) -> None:
        self.training = training
        self.state = [torch.zeros_like(parameter) for parameter in parameters]

    @torch.no_grad()
    def step(self, parameters: list[Tensor], gradients: list[Tensor], rates: list[Tensor]) -> None:
        """Update the parameters in place; ``rates`` are those of `broadcast_rates`."""
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
        """Drop the state of all members but these."""
        self.state = [value[members] for value in self.state]


def broadcast_rates(rates: list[float], parameters: list[Tensor]) -> list[Tensor]:
    """Return the members' learning rates as (G, 1, …), for each parameter."""
    first = parameters[0]
    vector = torch.tensor(rates, dtype=first.dtype, device=first.device)
    return [vector.view(-1, *(1 for _ in parameter.shape[1:])) for parameter in parameters]


class MistakeCounter:
    """Count the mistakes of G members on validation inputs, but no further than each member's limit."""

    def __init__(self, validation: Labelled, normalisation: Normalisation, members: int, step: int) -> None:
        self.inputs, self.labels = validation.inputs, validation.labels
        self.normalisation = normalisation
        self.step = step
        self.order = torch.arange(len(self.labels), device=self.labels.device).repeat(members, 1)
        """(G, V): the order in which each member looks at the inputs."""
        self.looked = 0
        """Inputs looked at so far, over all members."""

    def count(self, run: Runner, state: Stack, limits: list[float | None], dtype: torch.dtype) -> list[int]:
        """Return each member's mistakes, counted until they reach its limit (None: to the end)."""
        device = self.order.device
        counts = torch.zeros(count_members(state), dtype=torch.long, device=device)
        ceiling = torch.tensor([float("inf") if limit is None else limit for limit in limits], device=device)
        active = torch.arange(count_members(state), device=device)
        running = state
        wrong = torch.zeros_like(self.order, dtype=torch.bool)
        seen = torch.zeros_like(wrong)
        for begin in range(0, self.order.shape[1], self.step):
            batch = self.order[active, begin : begin + self.step]
            inputs = self.normalisation.apply(self.inputs[batch], dtype)
            votes = run(running, {}, join_members(inputs)).argmax(dim=2)
            missed = votes != self.labels[batch]
            self.looked += batch.numel()
            wrong[active, begin : begin + self.step] = missed
            seen[active, begin : begin + self.step] = True
            counts[active] += missed.sum(dim=1)
            below = counts[active] < ceiling[active]
            if not below.all():
                active = active[below]
                if len(active) == 0:
                    break
                running = select_members(state, active)
        rank = torch.where(wrong, 0, torch.where(seen, 2, 1))  # missed, then not looked at, then right
        self.order = self.order.gather(1, rank.argsort(dim=1, stable=True))
        return [int(count) for count in counts.tolist()]

    def keep(self, members: Tensor) -> None:
        """Drop the state of all members but these."""
        self.order = self.order[members]
