"""Validate a caller's arguments against what a method requires, and assemble a `Problem` from them."""

import operator
from dataclasses import dataclass

import numpy as np

from versionspace import rng
from versionspace.errors import InputError
from versionspace.query.inputs import Problem, read_features, read_perturbations
from versionspace.query.methods import Method
from versionspace.space import Beliefs, as_array, read_beliefs, read_vote
from versionspace.types import Array, ArrayLike


@dataclass(frozen=True)
class Arguments:
    """The arguments that a caller may pass to a method, before validation."""

    pool: ArrayLike = None
    reference: ArrayLike = None
    vote: str = "soft"
    features: ArrayLike = None
    labelled_features: ArrayLike = None
    perturbations: ArrayLike = None
    classes: int | None = None


def read_problem(method: Method, given: Arguments, seed: object, ids: Array | None = None) -> Problem:
    """Return the validated arguments. Raises `InputError` if any is missing, superfluous or invalid."""
    check_arguments(method, given, pool_optional=method.pool == "any" and ids is not None)
    reference = read_reference(method, given)
    pool = read_pool(method, given, reference)
    features, labelled = _read_method_features(method, given)
    perturbations = read_perturbations(given.perturbations) if method.perturbations else None
    sizes = {
        "pool": None if pool is None else pool.images,
        "features": None if features is None else len(features),
        "perturbations": None if perturbations is None else len(perturbations),
        "ids": None if ids is None else len(ids),
    }
    vote = read_vote(given.vote)
    return Problem(
        images=_common_size({name: size for name, size in sizes.items() if size is not None}),
        seed=rng.root(seed),
        pool=pool,
        reference=reference,
        vote=vote,
        diameter=method.diameter(reference, vote) if method.diameter and reference else None,
        features=features,
        labelled=labelled,
        perturbations=perturbations,
    )


def check_arguments(method: Method, given: Arguments, pool_optional: bool = False) -> None:
    """Raise `InputError` if an argument is missing or superfluous."""
    optional = {"labelled_features"} if method.labelled else set()
    for name in ("pool", "reference", "features", "labelled_features", "perturbations"):
        present = getattr(given, name) is not None
        may_be_missing = name == "pool" and pool_optional
        if name in method.needs and not present and not may_be_missing:
            raise InputError(
                name,
                expected=f"a value, since {method.name!r} needs {method.needs_in_words}",
                got="nothing",
                fix=f"Pass {name}=….",
            )
        if present and name not in method.needs and name not in optional:
            raise InputError(
                name,
                expected=f"nothing, since {method.name!r} needs only {method.needs_in_words}",
                got="a value",
                fix=f"Omit {name}: it would be ignored.",
            )
    if read_vote(given.vote) != "soft" and not method.takes_vote:
        raise InputError(
            "vote",
            expected=f"nothing, since {method.name!r} uses no majority vote",
            got=repr(given.vote),
            fix="Omit vote: it would be ignored.",
        )
    if given.classes is not None and (not isinstance(given.classes, int | np.integer) or given.classes < 1):
        raise InputError(
            "classes",
            expected="an integer of at least 1, or None",
            got=repr(given.classes),
            fix="Pass the number of classes that votes can take.",
        )


def read_reference(method: Method, given: Arguments) -> Beliefs | None:
    """Return the validated reference set, or None if the method needs none."""
    if method.diameter is None:
        return None
    reference = read_beliefs(given.reference, "reference", given.classes)
    if method.takes_vote and given.vote == "soft":
        reference.probabilities()
    return reference


def read_pool(method: Method, given: Arguments, reference: Beliefs | None) -> Beliefs | None:
    """Return the pool, validated against the method and the reference set, or None if it was not passed."""
    if given.pool is None:
        return None
    classes = given.classes
    if classes is None and reference is not None and reference.probs is not None:
        array = as_array(given.pool, "pool")
        classes = None if array.ndim == 3 else reference.classes
    pool = read_beliefs(given.pool, "pool", classes)
    if method.pool in ("probs", "one member"):
        pool.probabilities()
    if method.pool == "one member" and pool.members != 1:
        raise InputError(
            "pool",
            expected=f"one member, shape (1, N, C), for {method.name!r}",
            got=f"{pool.members} members",
            fix="Pass the member that computed the features, for example pool[:1].",
        )
    if pool.members < method.members:
        raise InputError(
            "pool",
            expected=f"at least {method.members} members for {method.name!r}",
            got=f"{pool.members}",
            fix="Train several members, or use 'entropy', 'margin' or 'least-confidence' with a single model.",
        )
    if reference is not None:
        _check_same_members(pool, reference)
    return pool


def _check_same_members(pool: Beliefs, reference: Beliefs) -> None:
    if pool.members != reference.members:
        raise InputError(
            "reference",
            expected=f"{pool.members} members, as the pool has",
            got=f"{reference.members}",
            fix="Both must come from the same members, in the same order.",
        )
    if pool.probs is not None and reference.probs is not None and pool.classes != reference.classes:
        raise InputError(
            "reference",
            expected=f"{pool.classes} classes, as the pool has",
            got=f"{reference.classes}",
            fix="Both must come from the same members, with the same classes in the same order.",
        )


def _read_method_features(method: Method, given: Arguments) -> tuple[Array | None, Array | None]:
    """Return the features of the pool and of the labelled images; None for those that the method does not need."""
    if not method.features:
        return None, None
    features = read_features(given.features, "features")
    if len(features) == 0:
        raise InputError("features", expected="at least one image", got="none", fix="The pool is empty.")
    if given.labelled_features is None:
        return features, None
    width = features.shape[1]
    return features, read_features(given.labelled_features, "labelled_features", width, features.dtype.type)


def _common_size(sizes: dict[str, int]) -> int:
    """Return the number of images, on which all arguments must agree."""
    first, images = next(iter(sizes.items()))
    for name, size in sizes.items():
        if size != images:
            raise InputError(
                name, expected=f"{images} images, as {first} has", got=f"{size}", fix="Both must list the same images."
            )
    return images


def read_k(k: object, images: int) -> int:
    """Return the number of images to choose. Raises `InputError` unless it is an integer from 1 to ``images``."""
    try:
        value = operator.index(k)  # type: ignore[arg-type]
    except TypeError:
        value = 0
    if not 1 <= value <= images or isinstance(k, bool):
        raise InputError(
            "k",
            expected=f"an integer from 1 to {images}, the number of images in the pool",
            got=repr(k),
            fix="Ask for fewer images." if value > images else "Ask for at least one image.",
        )
    return value
