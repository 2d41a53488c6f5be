"""A simulated oracle: answers from known labels, with optional label noise and abstentions.

Errors and abstentions are a function of (seed, id). The answer to an image therefore does not depend on when, or with
which other images, it is requested, and a resumed run gets the same answers as an uninterrupted one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from versionspace import rng
from versionspace.errors import InputError
from versionspace.oracle.base import Oracle
from versionspace.types import Array, ArrayLike, ImageId

Answer: TypeAlias = dict[ImageId, int | None]
"""The class of each image by its id; None if the oracle abstains."""


@dataclass(frozen=True)
class Simulated(Oracle):
    """An `Oracle` that answers from known labels.

    Args:
        ids: the ids of the images, integers or SHA-256 in hex.
        labels: their classes, 0 to ``classes`` - 1.
        classes: the number of classes, C.
        noise: the probability that an image gets a wrong class, drawn uniformly from the others.
        abstain: the probability that an image gets no answer, independently of its class.
        seed: the random seed of errors and abstentions.

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
                fix="Leave out unlabelled images.",
            )
        for name in ("noise", "abstain"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(
                    name, expected="a probability from 0 to 1", got=repr(getattr(self, name)), fix="For example 0.05."
                )
        if self.noise > 0 and self.classes < 2:
            raise InputError(
                "noise", expected="0 with one class", got=repr(self.noise), fix="Noise requires at least two classes."
            )
        rng.root(self.seed)

    def answer(self, ids: Iterable[ImageId] | Array) -> Answer:
        """Return the class of each image, or None if the oracle abstains; raise `InputError` for unknown ids."""
        wanted = np.asarray(list(ids))
        if len(wanted) == 0:
            return {}
        known = np.asarray(self.ids)
        order = np.argsort(known)
        place = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
        if len(known) == 0 or (known[order][place] != wanted).any():
            unknown = wanted if len(known) == 0 else wanted[known[order][place] != wanted]
            raise InputError(
                "ids",
                expected="ids of images whose labels the oracle knows",
                got=f"{unknown[0]!r}" + (f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""),
                fix="Request only images that the oracle was created with.",
            )
        truth = np.asarray(self.labels)[order][place].astype(np.int64)
        labels = np.where(self._draw("noise", wanted) < self.noise, self._wrong_classes(truth, wanted), truth)
        abstains = self._draw("abstain", wanted) < self.abstain
        triples = zip(wanted.tolist(), labels.tolist(), abstains.tolist(), strict=True)
        return {image: None if abstain else int(label) for image, label, abstain in triples}

    def _draw(self, purpose: str, ids: Array) -> Array:
        """Return a uniform random number in [0, 1) for each image."""
        return rng.as_uniforms(rng.id_hashes(rng.key(self.seed, "oracle", purpose), ids))

    def _wrong_classes(self, truth: Array, ids: Array) -> Array:
        """Return a wrong class for each image, drawn uniformly."""
        steps = 1 + (self._draw("which", ids) * max(self.classes - 1, 1)).astype(np.int64)
        return (truth + steps) % self.classes
