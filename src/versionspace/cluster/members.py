"""Train the groups of members of a round as tasks.

A group is trained by one process on one thread, as on a single machine, so that its weights have the same bits
wherever it is trained, on the same kind of processor. Images are put into the object store in blocks, once: a block
that a later round needs again is not put again.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from versionspace import runtime
from versionspace.cluster.tasks import run_tasks
from versionspace.ensemble import FitJob, FittedMembers, Labelled, MemberHistory, Normalisation, Training, fit_or_retry
from versionspace.errors import InputError
from versionspace.nets import Network
from versionspace.types import Array

if TYPE_CHECKING:
    from versionspace.cluster.executor import Cluster

BLOCK = 256
"""Images in one object."""


@dataclass(frozen=True)
class _Stored:
    """Inputs in the object store, and their labels."""

    blocks: tuple[Any, ...]
    labels: Array

    def load(self, ray: Any, device: torch.device) -> Labelled:
        inputs = np.concatenate(ray.get(list(self.blocks)))  # a copy: what the object store returns is read-only
        return Labelled(torch.tensor(inputs, device=device), torch.tensor(self.labels, device=device))


@dataclass(frozen=True)
class _Fit:
    """What all groups of a fit have in common."""

    network: Network
    training: Training
    normalisation: Normalisation
    seed: int
    round: int
    labelled: _Stored
    validation: _Stored | None
    images_at_once: int
    dtype: torch.dtype
    device: str
    retry_epochs: int | None
    arithmetic: str | None
    """How the device must round; None: in any way."""


@dataclass(frozen=True)
class _Group:
    members: tuple[int, ...]
    state: dict[str, Array]
    """Initial weights."""


@dataclass(frozen=True)
class _TrainedGroup:
    state: dict[str, Array]
    histories: list[MemberHistory]


class MemberTrainer:
    """A `versionspace.ensemble.GroupTrainer` that trains on a cluster."""

    def __init__(self, cluster: "Cluster", ray: Any) -> None:
        self._cluster, self._ray = cluster, ray
        self._blocks: dict[bytes, Any] = {}
        self.puts = 0
        """Blocks that were put into the object store."""

    def __call__(self, jobs: Sequence[FitJob], retry_epochs: int | None) -> list[FittedMembers]:
        """Train each group as a task; report its epochs when it is complete.

        Raises what a task raised. ``job.report`` is called at least twice a second and may raise to stop: the tasks are
        then cancelled.
        """
        job, device = jobs[0], jobs[0].labelled.labels.device
        before, self._blocks = self._blocks, {}
        fit = _Fit(
            job.network, job.training, job.normalisation, job.seed, job.round,
            self._store(job.labelled, before), None if job.validation is None else self._store(job.validation, before),
            job.images_at_once, job.dtype, str(device), retry_epochs,
            None if self._cluster.accept_different else runtime.arithmetic(device),
        )  # fmt: skip
        groups = [_Group(one.members, {name: as_array(value) for name, value in one.state.items()}) for one in jobs]
        done: dict[int, FittedMembers] = {}
        shared = self._ray.put(fit)
        tasks = run_tasks(self._cluster, self._ray, train_group, groups, shared, check=lambda: job.report(0, 0))
        for number, trained in tasks:
            state = {name: torch.tensor(value, device=device) for name, value in trained.state.items()}
            done[number] = FittedMembers(state, trained.histories)
            job.report(sum(history.epochs for history in trained.histories), len(trained.histories))
        return [done[number] for number in range(len(jobs))]

    def _store(self, given: Labelled, before: dict[bytes, Any]) -> _Stored:
        """Put inputs into the object store, except the blocks that are there from the fit before."""
        inputs, keys = as_array(given.inputs), []
        for start in range(0, len(inputs), BLOCK):
            block = np.ascontiguousarray(inputs[start : start + BLOCK])
            key = hashlib.sha256(f"{block.shape} {block.dtype}".encode() + block.tobytes()).digest()
            if key not in self._blocks:
                if key not in before:
                    before[key] = self._ray.put(block)
                    self.puts += 1
                self._blocks[key] = before[key]
            keys.append(key)
        return _Stored(tuple(self._blocks[key] for key in keys), as_array(given.labels))


def train_group(group: _Group, fit: _Fit) -> _TrainedGroup:
    """Train one group of members in this process. Raises InputError on another kind of processor."""
    import ray

    device = runtime.pick_device(fit.device)
    here = runtime.arithmetic(device)
    if fit.arithmetic not in (None, here):
        raise InputError(
            "processor", expected=f"{fit.arithmetic}, as where the campaign runs", got=f"{here} on a worker",
            fix="Use machines of one kind, or accept_different=true: results then depend on who trained which member.",
        )  # fmt: skip
    runtime.keep_memory()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with runtime.enough_memory("training"):
            fitted = fit_or_retry(_job(group, fit, ray, device), fit.retry_epochs)
    finally:
        torch.set_num_threads(threads)
    return _TrainedGroup({name: as_array(value) for name, value in fitted.state.items()}, fitted.histories)


def _job(group: _Group, fit: _Fit, ray: Any, device: torch.device) -> FitJob:
    return FitJob(
        fit.network, fit.training, fit.normalisation, fit.seed, fit.round, group.members,
        {name: torch.tensor(value, device=device) for name, value in group.state.items()},
        fit.labelled.load(ray, device), None if fit.validation is None else fit.validation.load(ray, device),
        fit.images_at_once, fit.dtype, lambda epochs, ended: None,
    )  # fmt: skip


def as_array(tensor: torch.Tensor) -> Array:
    """Return a tensor as an array on the CPU."""
    return np.asarray(tensor.detach().cpu().numpy())
