"""An oracle that knows a dataset's labels, and may be wrong or silent as people are.

Whether it errs on an image, and how, is a function of (seed, id): it answers the same whenever and in whatever order it
is asked, so that a run that was interrupted gets the answers that an uninterrupted one gets.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from versionspace import rng
from versionspace.errors import InputError
from versionspace.types import Array, ArrayLike

Answer: TypeAlias = dict[int | str, int | None]
"""The class of each image by its id; None where the oracle would not say."""


@dataclass(frozen=True)
class Simulated:
    """Answers from known labels.

    Args:
        ids: the images' ids, whole numbers or hexadecimal digests.
        labels: their classes.
        classes: C.
        noise: the share of images that get another class, each other class being as likely.
        abstain: the share of images for which there is no answer, whatever their class.
        seed: what errs and is silent where.

    >>> oracle = Simulated([10, 11, 12], [0, 1, 2], classes=3)
    >>> oracle.answer([12, 10])
    {12: 2, 10: 0}
    """

    ids: ArrayLike
    labels: ArrayLike
    classes: int
    noise: float = 0.0
    abstain: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        ids, labels = np.asarray(self.ids), np.asarray(self.labels)
        if ids.ndim != 1 or labels.shape != ids.shape or labels.dtype.kind not in "iu":
            raise InputError(
                "labels",
                expected="one class for each id",
                got=f"{labels.dtype} of shape {labels.shape} for ids of shape {ids.shape}",
                fix="Pass the ids and classes of the same images, in the same order.",
            )
        if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < self.classes:
            raise InputError(
                "labels",
                expected=f"classes from 0 to {self.classes - 1}",
                got=f"{labels.min()} to {labels.max()}",
                fix="Leave images without a label out.",
            )
        for name in ("noise", "abstain"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(
                    name, expected="a share from 0 to 1", got=repr(getattr(self, name)), fix="0.05 is one in twenty."
                )
        if self.noise > 0 and self.classes < 2:
            raise InputError("noise", expected="0 with one class", got=repr(self.noise), fix="There is no other class.")
        rng.root(self.seed)

    def answer(self, ids: Iterable[int | str] | Array) -> Answer:
        """What the oracle says of these images."""
        wanted = np.asarray(list(ids))
        if len(wanted) == 0:
            return {}
        known = np.asarray(self.ids)
        order = np.argsort(known)
        place = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
        if len(known) == 0 or (known[order][place] != wanted).any():
            strangers = wanted if len(known) == 0 else wanted[known[order][place] != wanted]
            raise InputError(
                "ids",
                expected="images whose labels the oracle knows",
                got=f"{strangers[0]!r}" + (f" and {len(strangers) - 1} more" if len(strangers) > 1 else ""),
                fix="Ask only for images of the pool that it was made with.",
            )
        truth = np.asarray(self.labels)[order][place].astype(np.int64)
        given = np.where(self._draw("noise", wanted) < self.noise, self._other(truth, wanted), truth)
        silent = self._draw("abstain", wanted) < self.abstain
        pairs = zip(wanted.tolist(), given.tolist(), silent.tolist(), strict=True)
        return {image: None if quiet else int(label) for image, label, quiet in pairs}

    def _draw(self, purpose: str, ids: Array) -> Array:
        return rng.as_uniforms(rng.id_hashes(rng.key(self.seed, "oracle", purpose), ids))

    def _other(self, truth: Array, ids: Array) -> Array:
        """Another class for each image, drawn evenly from the others."""
        steps = 1 + (self._draw("which", ids) * max(self.classes - 1, 1)).astype(np.int64)
        return (truth + steps) % self.classes
