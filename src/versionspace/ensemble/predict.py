"""What fitted members say: probabilities, votes, features, Monte-Carlo passes, smallest perturbations.

Images are decoded and normalised once for all members, a chunk at a time; chunks go to several threads.
"""

import copy
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from versionspace import rng, runtime
from versionspace.ensemble.deepfool import Fooled, deepfool
from versionspace.ensemble.normalise import Normalisation
from versionspace.errors import InputError
from versionspace.nets.dropout import Dropout, draw_mask, dropouts
from versionspace.nets.fast_input_grad import with_quick_image_gradients
from versionspace.nets.stacks import Network, Stack, load, member, ordinary
from versionspace.space import vote_dtype
from versionspace.types import Array


@dataclass(frozen=True)
class Opinions:
    """What members say of some images, each alone and together."""

    votes: Array
    """(M, N) in the smallest unsigned integer."""
    majority: Array
    """(N,): the soft vote, argmax_c Σ_m p_m(c), added in float64 in member order."""


@dataclass(frozen=True)
class Predictor:
    """Fitted members and how to run them."""

    network: Network
    state: Stack
    """(M, …)."""
    normalisation: Normalisation
    group: int
    images_at_once: int
    threads: int
    dtype: torch.dtype
    device: torch.device

    @property
    def members(self) -> int:
        """M."""
        return len(next(iter(self.state.values())))

    def each_chunk(self, images: Array, work_on: Callable[[slice, Tensor], None]) -> None:
        """Calls with each slice of the images and the slice as floats (B, channels, H, W), on several threads."""
        step = self.images_at_once
        slices = [slice(i, min(i + step, len(images))) for i in range(0, len(images), step)]

        def one(some: slice) -> None:
            pixels = torch.tensor(images[some], device=self.device)
            with torch.no_grad():
                floats = self.normalisation.apply(pixels, self.dtype).permute(0, 3, 1, 2)
                work_on(some, floats if self.network.way == "grouped" else ordinary(floats))

        with runtime.enough_memory("predicting"):
            runtime.side_by_side(one, slices, self.threads if self.device.type == "cpu" else 1)

    def each_group(self, images: Array, take: Callable[[slice, slice, Tensor], None]) -> None:
        """Calls with members, images and their logits (G, B, C)."""
        groups = [slice(g, min(g + self.group, self.members)) for g in range(0, self.members, self.group)]
        stacks = [{name: value[some] for name, value in self.state.items()} for some in groups]
        local = threading.local()  # a runner swaps parameters in and out of its module: one for each thread

        def work_on(some: slice, pixels: Tensor) -> None:
            if not hasattr(local, "run"):
                local.run = self.network.runner(False, self.device, self.dtype)
            for group, state in zip(groups, stacks, strict=True):
                take(group, some, local.run(state, {}, pixels))

        self.each_chunk(images, work_on)

    @runtime.enough_memory("predicting")
    def probabilities(self, images: Array) -> Array:
        """float32 (M, N, C)."""
        out = np.empty((self.members, len(images), self.network.classes), np.float32)

        def take(group: slice, some: slice, logits: Tensor) -> None:
            out[group, some] = logits.float().softmax(dim=2).cpu().numpy()

        self.each_group(images, take)
        return out

    def votes(self, images: Array) -> Array:
        """(M, N), without ever holding M×N×C."""
        out = np.empty((self.members, len(images)), vote_dtype(self.network.classes))

        def take(group: slice, some: slice, logits: Tensor) -> None:
            out[group, some] = logits.float().softmax(dim=2).argmax(dim=2).cpu().numpy()

        self.each_group(images, take)
        return out

    def opinions(self, images: Array) -> Opinions:
        """Votes and their soft majority, without ever holding M×N×C."""
        votes = np.empty((self.members, len(images)), vote_dtype(self.network.classes))
        majority = np.empty(len(images), votes.dtype)
        sums: dict[int, Array] = {}

        def take(group: slice, some: slice, logits: Tensor) -> None:
            probs = logits.float().softmax(dim=2)
            votes[group, some] = probs.argmax(dim=2).cpu().numpy()
            probs_GNC = probs.cpu().numpy()
            total = sums.pop(some.start) if group.start else np.zeros(probs_GNC.shape[1:])
            for member_NC in probs_GNC:
                total += member_NC
            if group.stop == self.members:
                majority[some] = total.argmax(axis=1)
            else:
                sums[some.start] = total

        self.each_group(images, take)
        return Opinions(votes, majority)

    def module(self, index: int) -> nn.Module:
        """One member as a plain module, in evaluation mode."""
        module = copy.deepcopy(self.network.plain).to(self.device, self.dtype)
        load(module, member(self.state, index))
        return module.eval()

    @runtime.enough_memory("predicting")
    def features(self, images: Array, index: int) -> Array:
        """float32 (N, F): what goes into the member's last linear layer."""
        parts: dict[int, Array] = {}

        def work_on(some: slice, pixels: Tensor) -> None:
            module = self.module(index)
            caught: list[Tensor] = []
            last = [child for child in module.modules() if isinstance(child, nn.Linear)]
            if not last:
                raise InputError(
                    "net",
                    expected="a network with a linear layer, whose input serves as features",
                    got=type(module).__name__,
                    fix="Pass features of your own to versionspace.query.",
                )
            with last[-1].register_forward_pre_hook(lambda _, given: caught.append(given[0])):
                module(pixels)
            parts[some.start] = caught[-1].flatten(1).float().cpu().numpy()

        self.each_chunk(images, work_on)
        return np.concatenate([parts[start] for start in sorted(parts)])

    @runtime.enough_memory("predicting")
    def mc_dropout(self, images: Array, passes: int, index: int, seed: int, round_: int) -> Array:
        """float32 (passes, N, C): dropout on, and nothing else; every image and pass has its own mask."""
        out = np.empty((passes, len(images), self.network.classes), np.float32)
        masks_of = rng.key(seed, "ensemble", round_, index, "mc-dropout")

        def work_on(some: slice, pixels: Tensor) -> None:
            module = self.module(index)
            before, after = _at_first_dropout(module)
            inner = before(pixels)
            generator = torch.Generator(self.device)
            generator.manual_seed(rng.key(masks_of, some.start) % 2**63)
            layers = [layer for _, layer in dropouts(module)]
            for i in range(passes):
                for layer in layers:
                    layer.mask = draw_mask(layer, len(pixels), generator, self.dtype)
                out[i, some] = after(inner).float().softmax(dim=1).cpu().numpy()

        self.each_chunk(images, work_on)
        return out

    def perturbations(self, images: Array, index: int) -> Array:
        """float64 (N,): the size of the smallest perturbation that DeepFool finds, in units of 0 to 1 a pixel."""
        scale = torch.tensor(self.normalisation.deviation, dtype=self.dtype, device=self.device).view(-1, 1, 1) / 255.0

        def fool(pixels: Tensor) -> Fooled:
            module = with_quick_image_gradients(self.module(index))
            return deepfool(lambda units: module(units / scale), pixels * scale)

        return self.sizes(images, fool)

    def sizes(self, images: Array, fool: Callable[[Tensor], Fooled]) -> Array:
        """float64 (N,): of perturbations; where none changed the label, the largest of all N.

        An image that nothing moves, since its gradient is zero, is far from every boundary, and what was tried on it is
        of size 0: it would be asked first.
        """
        tried, changed = np.empty(len(images)), np.empty(len(images), bool)

        def work_on(some: slice, pixels: Tensor) -> None:
            found = fool(pixels)
            tried[some], changed[some] = found.sizes.cpu().double().numpy(), found.changed.cpu().numpy()

        self.each_chunk(images, work_on)
        return np.where(changed, tried, tried.max(initial=0.0))


def _at_first_dropout(module: nn.Module) -> tuple[nn.Module, nn.Module]:
    """The part that dropout cannot change, and the rest: what comes before is computed once for all passes."""
    if type(module) is not nn.Sequential:  # the forward of one that is derived from it may be another
        return nn.Identity(), module
    for i, child in enumerate(module):
        if any(isinstance(part, Dropout) for part in child.modules()):
            return module[:i], module[i:]
    return module, nn.Identity()
