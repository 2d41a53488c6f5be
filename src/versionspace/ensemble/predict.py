"""Predictions of fitted members: probabilities, votes, features, Monte-Carlo passes, adversarial perturbations.

Inputs are read and normalised once for all members, a chunk at a time; chunks are distributed over threads.
"""

import copy
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from versionspace import rng, runtime
from versionspace.ensemble.deepfool import deepfool
from versionspace.ensemble.normalise import Normalisation
from versionspace.errors import InputError
from versionspace.nets import (
    Dropout,
    Network,
    Stack,
    active_dropouts,
    count_members,
    draw_mask,
    load_member,
    one_member,
    to_contiguous,
    with_fast_input_grad,
)
from versionspace.space import vote_dtype
from versionspace.types import Array


@dataclass(frozen=True)
class Opinions:
    """The votes of members on some images, each alone and together."""

    votes: Array
    """(M, N) in the smallest unsigned integer."""
    majority: Array
    """(N,): the soft vote, argmax_c Σ_m p_m(c), summed in float64 in member order."""


@dataclass(frozen=True)
class Predictor:
    """Fitted members and how to run them. Inputs are those of the ensemble's input stage, (N, h, w, c)."""

    network: Network
    state: Stack
    """(M, …)."""
    normalisation: Normalisation
    group: int
    """Members in one pass."""
    images_at_once: int
    threads: int
    dtype: torch.dtype
    device: torch.device

    @property
    def members(self) -> int:
        """M."""
        return count_members(self.state)

    @runtime.enough_memory("predicting")
    def probabilities(self, inputs: Array) -> Array:
        """Return probabilities, float32 (M, N, C)."""
        probs_MNC = np.empty((self.members, len(inputs), self.network.classes), np.float32)

        def store(group: slice, some: slice, logits: Tensor) -> None:
            probs_MNC[group, some] = logits.float().softmax(dim=2).cpu().numpy()

        self._for_each_group(inputs, store)
        return probs_MNC

    def votes(self, inputs: Array) -> Array:
        """Return votes (M, N), without holding M×N×C probabilities."""
        votes_MN = np.empty((self.members, len(inputs)), vote_dtype(self.network.classes))

        def store(group: slice, some: slice, logits: Tensor) -> None:
            votes_MN[group, some] = logits.float().softmax(dim=2).argmax(dim=2).cpu().numpy()

        self._for_each_group(inputs, store)
        return votes_MN

    def opinions(self, inputs: Array) -> Opinions:
        """Return votes and their soft majority, without holding M×N×C probabilities."""
        votes_MN = np.empty((self.members, len(inputs)), vote_dtype(self.network.classes))
        majority = np.empty(len(inputs), votes_MN.dtype)
        sums: dict[int, Array] = {}

        def store(group: slice, some: slice, logits: Tensor) -> None:
            probs = logits.float().softmax(dim=2)
            votes_MN[group, some] = probs.argmax(dim=2).cpu().numpy()
            probs_GNC = probs.cpu().numpy()
            total = sums.pop(some.start) if group.start else np.zeros(probs_GNC.shape[1:])
            for member_NC in probs_GNC:
                total += member_NC
            if group.stop == self.members:
                majority[some] = total.argmax(axis=1)
            else:
                sums[some.start] = total

        self._for_each_group(inputs, store)
        return Opinions(votes_MN, majority)

    def module(self, index: int) -> nn.Module:
        """Return one member as a plain module, in evaluation mode."""
        module = copy.deepcopy(self.network.plain).to(self.device, self.dtype)
        load_member(module, one_member(self.state, index))
        return module.eval()

    @runtime.enough_memory("predicting")
    def features(self, inputs: Array, index: int) -> Array:
        """Return the input of a member's last linear layer, float32 (N, F)."""
        parts: dict[int, Array] = {}

        def compute(some: slice, floats: Tensor) -> None:
            module = self.module(index)
            caught: list[Tensor] = []
            linear = [child for child in module.modules() if isinstance(child, nn.Linear)]
            if not linear:
                raise InputError(
                    "net",
                    expected="a network with a linear layer, whose input serves as features",
                    got=type(module).__name__,
                    fix="Pass your own features to versionspace.query.",
                )
            with linear[-1].register_forward_pre_hook(lambda _, given: caught.append(given[0])):
                module(floats)
            parts[some.start] = caught[-1].flatten(1).float().cpu().numpy()

        self._for_each_chunk(inputs, compute)
        return np.concatenate([parts[start] for start in sorted(parts)])

    @runtime.enough_memory("predicting")
    def mc_dropout(self, inputs: Array, passes: int, index: int, seed: int, round_: int) -> Array:
        """Return probabilities of passes with dropout on, float32 (passes, N, C).

        Every image and pass has its own mask; batch norm and the like stay in evaluation mode.
        """
        probs = np.empty((passes, len(inputs), self.network.classes), np.float32)
        mask_seed = rng.key(seed, "ensemble", round_, index, "mc-dropout")

        def compute(some: slice, floats: Tensor) -> None:
            module = self.module(index)
            before, after = _split_at_first_dropout(module)
            hidden = before(floats)
            generator = torch.Generator(self.device)
            generator.manual_seed(rng.key(mask_seed, some.start) % 2**63)
            layers = [layer for _, layer in active_dropouts(module)]
            for i in range(passes):
                for layer in layers:
                    layer.mask = draw_mask(layer, len(floats), generator, self.dtype)
                probs[i, some] = after(hidden).float().softmax(dim=1).cpu().numpy()

        self._for_each_chunk(inputs, compute)
        return probs

    def perturbations(self, inputs: Array, index: int, unit: float | None) -> Array:
        """Return the sizes of the perturbations that DeepFool finds, float64 (N,).

        Sizes are in inputs divided by ``unit``, or in normalised inputs if it is None. If no perturbation changes the
        label of an image, its size is the largest of all N: the image is far from every boundary, and an attempt whose
        gradient is zero has size 0, which would rank it first.
        """
        sizes, changed = np.empty(len(inputs)), np.empty(len(inputs), bool)
        scale: Tensor | float = 1.0
        if unit is not None:
            deviation = torch.tensor(self.normalisation.deviation, dtype=self.dtype, device=self.device)
            scale = deviation.view(-1, 1, 1) / unit

        def compute(some: slice, floats: Tensor) -> None:
            module = with_fast_input_grad(self.module(index))
            result = deepfool(lambda scaled: module(scaled / scale), floats * scale)
            sizes[some], changed[some] = result.sizes.cpu().double().numpy(), result.changed.cpu().numpy()

        self._for_each_chunk(inputs, compute)
        return np.where(changed, sizes, sizes.max(initial=0.0))

    def _for_each_group(self, inputs: Array, store: Callable[[slice, slice, Tensor], None]) -> None:
        """Call with members, images and their logits (G, B, C)."""
        groups = [slice(g, min(g + self.group, self.members)) for g in range(0, self.members, self.group)]
        stacks = [{name: value[some] for name, value in self.state.items()} for some in groups]
        local = threading.local()  # a runner swaps parameters in and out of its module: one for each thread

        def compute(some: slice, floats: Tensor) -> None:
            if not hasattr(local, "run"):
                local.run = self.network.runner(False, self.device, self.dtype)
            for group, state in zip(groups, stacks, strict=True):
                store(group, some, local.run(state, {}, floats))

        self._for_each_chunk(inputs, compute)

    def _for_each_chunk(self, inputs: Array, compute: Callable[[slice, Tensor], None]) -> None:
        """Call with each slice of the inputs and its normalised floats (B, c, h, w), on several threads."""
        step = self.images_at_once
        slices = [slice(i, min(i + step, len(inputs))) for i in range(0, len(inputs), step)]

        def compute_slice(some: slice) -> None:
            chunk = torch.tensor(inputs[some], device=self.device)
            with torch.no_grad():
                floats = self.normalisation.apply(chunk, self.dtype).permute(0, 3, 1, 2)
                compute(some, floats if self.network.is_ours else to_contiguous(floats))

        with runtime.enough_memory("predicting"):
            runtime.side_by_side(compute_slice, slices, self.threads if self.device.type == "cpu" else 1)


def _split_at_first_dropout(module: nn.Module) -> tuple[nn.Module, nn.Module]:
    """Return the part before any dropout, which is computed once for all passes, and the rest."""
    if type(module) is not nn.Sequential:  # a subclass may have another forward
        return nn.Identity(), module
    for i, child in enumerate(module):
        if any(isinstance(part, Dropout) for part in child.modules()):
            return module[:i], module[i:]
    return module, nn.Identity()
