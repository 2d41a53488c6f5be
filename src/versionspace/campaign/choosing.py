"""From a fitted ensemble to the images that a method asks for: only what the method needs is computed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from versionspace.campaign.checking import SAMPLED
from versionspace.config import Query
from versionspace.ensemble.predict import Opinions
from versionspace.query import query
from versionspace.query.methods import TABLE
from versionspace.types import Array, Floats


class Learner(Protocol):
    """What a campaign wants of a fitted ensemble."""

    members: int
    history_: list[Any]

    def predict_proba(self, images: Array, /) -> Array: ...  # noqa: D102
    def votes(self, images: Array, /) -> Array: ...  # noqa: D102
    def opinions(self, images: Array, /) -> Opinions: ...  # noqa: D102
    def features(self, images: Array, member: Any = 0) -> Array: ...  # noqa: D102
    def mc_dropout_proba(self, images: Array, passes: int = 20, member: Any = 0) -> Array: ...  # noqa: D102
    def perturbations(self, images: Array, member: Any = 0) -> Array: ...  # noqa: D102
    def save(self, folder: Any, /) -> None: ...  # noqa: D102
    def only(self, member: int, /) -> "Learner": ...  # noqa: D102
    def to_onnx(self, path: Any, classes: Sequence[str] = (), member: int | None = None) -> float: ...  # noqa: D102


@dataclass(frozen=True)
class Candidates:
    """What may be asked, and what is known of it."""

    ids: Array
    pixels: Callable[[], Array]
    """Most methods do not look at them."""
    votes: Array | None
    """(M, N) where they were computed for the metrics already."""
    labelled: Array
    """Images that have labels."""


@dataclass(frozen=True)
class Choice:
    """Ids, best first, and their utilities."""

    ids: Array
    utilities: Floats


def choose(
    config: Query, k: int, learner: Learner, found: Candidates, reference_probs: Array | None, classes: int, seed: int
) -> Choice:
    """The k images that the method asks for first."""
    method = TABLE[config.method]
    one = config.member
    given: dict[str, Any] = {"ids": found.ids, "seed": seed}
    if method.pool == "votes":
        given["pool"] = learner.votes(found.pixels()) if found.votes is None else found.votes
        given["classes"] = classes
    elif config.method in SAMPLED and one != "all":
        given["pool"] = learner.mc_dropout_proba(found.pixels(), config.passes, one)
    elif method.pool == "probs":
        given["pool"] = learner.predict_proba(found.pixels())
    elif method.pool == "one member":
        given["pool"] = learner.predict_proba(found.pixels())[int(one)][None]
    if method.diameter is not None:
        given["reference"] = reference_probs
    if method.takes_vote:
        given["vote"] = config.vote
    if method.features:
        given["features"] = _features(learner, found.pixels(), one)
    if method.labelled:
        given["labelled_features"] = _features(learner, found.labelled, one)
    if method.perturbations:
        sizes = learner.perturbations(found.pixels(), one)
        given["perturbations"] = sizes.mean(axis=0) if one == "all" else sizes
    ids, utilities = query(config.method, k, return_utilities=True, **given)
    return Choice(ids, utilities)


def _features(learner: Learner, images: Array, member: Any) -> Array:
    """Of one member (N, F), or of all side by side (N, M·F)."""
    found = learner.features(images, member)
    return np.concatenate(list(found), axis=1) if member == "all" else found
