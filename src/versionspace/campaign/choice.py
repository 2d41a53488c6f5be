"""The choice of images in a round: compute what the query method needs from the learner, and no more, and ask it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from versionspace.campaign.image_features import AUTO, MEMBERS
from versionspace.campaign.learner import Learner, Member
from versionspace.campaign.query_threads import one_blas_thread
from versionspace.campaign.validation import DROPOUT_METHODS
from versionspace.config import QueryConfig
from versionspace.query import TABLE, query
from versionspace.types import Array, ArrayLike, Floats

SIDE_BY_SIDE = 5
"""Members whose features a coverage method uses, if there are no features of the images themselves."""


@dataclass(frozen=True)
class Candidates:
    """Images that may be asked for, and what is known about them."""

    ids: Array
    pixels: Callable[[], ArrayLike]
    """Called only for methods that look at them."""
    votes: Array | None
    """(M, N) if they were computed for the metrics already."""
    labelled: ArrayLike
    """Pixels of the labelled images."""
    features: Callable[[], tuple[ArrayLike, ArrayLike]] | None = None
    """Returns features of these images and of the labelled ones that no member computes; None if there are none."""


@dataclass(frozen=True)
class Choice:
    """Ids, best first, and their utilities."""

    ids: Array
    utilities: Floats


def choose(
    config: QueryConfig, k: int, learner: Learner, candidates: Candidates, reference_probs: Array | None, classes: int,
    seed: int,
) -> Choice:  # fmt: skip
    """Return the k images that the query method asks for first. Only what the method needs is computed."""
    method, member = TABLE[config.method], config.member
    # Positions as ids: in a campaign, ties are ordered by the position among the candidates.
    inputs: dict[str, Any] = {"ids": np.arange(len(candidates.ids)), "seed": seed}
    if method.pool == "votes":
        inputs["pool"] = learner.votes(candidates.pixels()) if candidates.votes is None else candidates.votes
    elif config.method in DROPOUT_METHODS and member != "all":
        inputs["pool"] = learner.mc_dropout_proba(candidates.pixels(), config.passes, member)
    elif method.pool in ("either", "probs"):
        inputs["pool"] = learner.predict_proba(candidates.pixels(), members=True)
    elif method.pool == "one member":
        inputs["pool"] = learner.predict_proba(candidates.pixels(), members=True)[int(member)][None]
    if method.pool in ("votes", ""):
        inputs["classes"] = classes
    if "reference" in method.needs:
        inputs["reference"] = reference_probs
    if method.takes_vote:
        inputs["vote"] = config.vote
    if method.features:
        inputs |= _features(config, learner, candidates)
    if method.perturbations:
        sizes = learner.perturbations(candidates.pixels(), member)
        inputs["perturbations"] = sizes.mean(axis=0) if member == "all" else sizes
    with one_blas_thread():
        chosen = query(config.method, k, return_record=True, **inputs)
    return Choice(candidates.ids[chosen.positions], chosen.utilities)


def _features(config: QueryConfig, learner: Learner, candidates: Candidates) -> dict[str, ArrayLike]:
    """Return the features that the method measures distances in, of candidates and, if it uses them, labelled images.

    Those of badge are always the predicting member's, because they are part of its gradients; those of coreset are a
    member's unless the config names another source. Coverage methods that have no features of the images use those of
    several members.
    """
    method = TABLE[config.method]
    named = config.features not in (AUTO, MEMBERS)
    if candidates.features is not None and method.pool != "one member" and (named or not method.network_features):
        features, labelled = candidates.features()
    else:
        members = [config.member] if method.network_features else list(range(min(learner.members, SIDE_BY_SIDE)))
        features = _member_features(learner, candidates.pixels(), members)
        if not method.labelled:
            return {"features": features}
        labelled = _member_features(learner, candidates.labelled, members)
    return {"features": features} | ({"labelled_features": labelled} if method.labelled else {})


def _member_features(learner: Learner, images: ArrayLike, members: Sequence[Member]) -> Array:
    """Return the features of some members side by side, (N, F · number of members); "all" stands for all of them."""
    parts: list[Array] = []
    for member in members:
        features = learner.features(images, member)
        parts += list(features) if member == "all" else [features]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
