"""DeepFool, batched over images and classes (Moosavi-Dezfooli, Fawzi and Frossard 2016).

Near the current image the classifier is approximated as linear; the nearest hyperplane of another class is

    l = argmin_{k≠k₀} |f_k − f_k₀| / ‖∇f_k − ∇f_k₀‖₂,        r ← r + (|f_l − f_k₀| / ‖w_l‖² ) w_l

and the image moves there, repeatedly, until its label changes. All images of a batch move together; those whose label
has changed leave the batch.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from versionspace.errors import InputError

OVERSHOOT = 0.02
STEPS = 50
_EXTRA = 1e-4
"""Added to the length of each step, as in the original, so that a tie is crossed."""


class DeepFoolResult(NamedTuple):
    """Perturbations (N, …), their L2 sizes (N,), and whether each changed the label (N,)."""

    perturbations: Tensor
    sizes: Tensor
    changed: Tensor


def deepfool(network: Callable[[Tensor], Tensor], images: Tensor) -> DeepFoolResult:
    """Return small perturbations that change the network's labels of images (N, …). Cost: at most 50·C passes."""
    with torch.no_grad():
        logits = network(images)
    if logits.shape[1] < 2:
        raise InputError(
            "classes",
            expected="at least 2, because a perturbation moves an image to another class",
            got=str(logits.shape[1]),
            fix="Raise classes, or use another method than dfal.",
        )
    labels = logits.argmax(dim=1)
    moved = torch.zeros_like(images)
    active = torch.arange(len(images), device=images.device)
    for step in range(STEPS + 1):
        if step > 0:
            with torch.no_grad():
                current = network(images[active] + (1 + OVERSHOOT) * moved[active]).argmax(dim=1)
            active = active[current == labels[active]]
        if step == STEPS or len(active) == 0:
            break
        moved[active] += _step(network, images[active] + (1 + OVERSHOOT) * moved[active], labels[active])
    perturbations = (1 + OVERSHOOT) * moved
    changed = torch.ones(len(images), dtype=torch.bool, device=images.device)
    changed[active] = False
    return DeepFoolResult(perturbations, perturbations.flatten(1).norm(dim=1), changed)


@torch.enable_grad()
def _step(network: Callable[[Tensor], Tensor], images: Tensor, labels: Tensor) -> Tensor:
    """Return one step towards the nearest hyperplane."""
    images = images.detach().requires_grad_()
    logits = network(images)
    rows = torch.arange(len(images), device=images.device)
    own = logits[rows, labels]
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
    distance = (gap / length).scatter(1, labels[:, None], float("inf"))
    nearest = distance.argmin(dim=1)
    size = (distance[rows, nearest] + _EXTRA) / length[rows, nearest]
    step: Tensor = slope[rows, nearest] * size.view(-1, *(1 for _ in images.shape[1:]))
    return step
