"""Does a member make fewer mistakes than at its best? The same answer as by a whole pass, for a part of it.

An epoch only needs to know whether the validation accuracy is better than the best so far. Each member looks first
at the images that it last got wrong, and stops as soon as its mistakes reach those of its best epoch: it cannot
improve any more. Only a true improvement needs the whole pass.
"""

import torch
from torch import Tensor

from versionspace.ensemble.normalise import Normalisation
from versionspace.nets.stacks import Runner, Stack, chosen, side_by_side, size


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
