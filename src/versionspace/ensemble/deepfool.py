"""DeepFool, batched over images and classes (Moosavi-Dezfooli, Fawzi and Frossard 2016).

Around the current image the classifier is taken as linear; the nearest of the other classes' hyperplanes is

    l = argmin_{k≠k₀} |f_k − f_k₀| / ‖∇f_k − ∇f_k₀‖₂,        r ← r + (|f_l − f_k₀| / ‖w_l‖² ) w_l

and the image moves there, again and again, until its label changes. All images of a batch move together; those whose
label has changed leave.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from versionspace.errors import InputError

OVERSHOOT = 0.02
STEPS = 50
_STEP = 1e-4
"""Added to each step's length, as in the original, so that a tie is crossed."""


class Fooled(NamedTuple):
    """Perturbations (N, …), their L2 sizes (N,), and whether each changed the label (N,)."""

    perturbations: Tensor
    sizes: Tensor
    changed: Tensor


def deepfool(network: Callable[[Tensor], Tensor], images: Tensor) -> Fooled:
    """The smallest perturbations that change the network's mind about images (N, …). Cost 50·C passes at most."""
    with torch.no_grad():
        logits = network(images)
    if logits.shape[1] < 2:
        raise InputError(
            "classes",
            expected="at least 2: a perturbation makes an image look like one of another class",
            got=str(logits.shape[1]),
            fix="Raise classes, or ask by another method than dfal.",
        )
    first = logits.argmax(dim=1)
    moved = torch.zeros_like(images)
    going = torch.arange(len(images), device=images.device)
    for step in range(STEPS + 1):
        if step > 0:
            with torch.no_grad():
                now = network(images[going] + (1 + OVERSHOOT) * moved[going]).argmax(dim=1)
            going = going[now == first[going]]
        if step == STEPS or len(going) == 0:
            break
        moved[going] += _step(network, images[going] + (1 + OVERSHOOT) * moved[going], first[going])
    whole = (1 + OVERSHOOT) * moved
    changed = torch.ones(len(images), dtype=torch.bool, device=images.device)
    changed[going] = False
    return Fooled(whole, whole.flatten(1).norm(dim=1), changed)


@torch.enable_grad()
def _step(network: Callable[[Tensor], Tensor], images: Tensor, first: Tensor) -> Tensor:
    """One step towards the nearest hyperplane."""
    images = images.detach().requires_grad_()
    logits = network(images)
    rows = torch.arange(len(images), device=images.device)
    own = logits[rows, first]
    gaps, slopes = [], []
    classes = logits.shape[1]
    for k in range(classes):
        gap = logits[:, k] - own
        (slope,) = torch.autograd.grad(gap.sum(), images, retain_graph=k + 1 < classes)
        gaps.append(gap.detach().abs())
        slopes.append(slope)
    gap = torch.stack(gaps, dim=1)
    slope = torch.stack(slopes, dim=1)
    length = slope.flatten(2).norm(dim=2).clamp_min(1e-12)
    away = (gap / length).scatter(1, first[:, None], float("inf"))
    nearest = away.argmin(dim=1)
    size = (away[rows, nearest] + _STEP) / length[rows, nearest]
    step: Tensor = slope[rows, nearest] * size.view(-1, *(1 for _ in images.shape[1:]))
    return step
