"""Validate a caller's arguments against what a method requires, and assemble a `Problem` from them."""

import operator
from dataclasses import dataclass, replace

import numpy as np

from versionspace import rng
from versionspace.errors import InputError
from versionspace.query.inputs import Problem, read_features, read_perturbations
from versionspace.query.limits import Limits, read_candidates, read_limits
from versionspace.query.methods import Method
from versionspace.space import Beliefs, as_array, read_beliefs, read_vote
from versionspace.types import Array, ArrayLike, Ints, is_count


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
    outcomes: int | None = None
    candidates: ArrayLike = None
    costs: ArrayLike = None
    balance: int | None = None


@dataclass(frozen=True)
class Query:
    """A validated problem over the candidates, its limits, and where the candidates are in the pool."""

    problem: Problem
    limits: Limits
    kept: Ints | None
    """Positions of the problem's images in the pool; None if it has all of them."""
    images: int
    """The number of images in the pool."""


def read_query(method: Method, given: Arguments, seed: object, ids: Array | None = None) -> Query:
    """Return the validated arguments of a query. Raises `InputError` if any is missing, superfluous or invalid."""
    extra = given.balance is not None and not {"pool"} & {*method.needs, *method.optional}
    pool = read_beliefs(given.pool, "pool", given.classes) if extra and given.pool is not None else None
    problem = read_problem(method, replace(given, pool=None) if extra else given, seed, ids)
    kept = read_candidates(given.candidates, problem.images)
    if pool is not None:
        _common_size({"pool": pool.images, "the other arguments": problem.images})
    images, pool = problem.images, pool or problem.pool
    if kept is not None:
        problem, pool = problem.take(kept), None if pool is None else pool.take(kept)
    return Query(problem, read_limits(given.costs, given.balance, images, pool, kept), kept, images)


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
        classes=given.classes,
        outcomes=given.outcomes,
        keys=ids,
    )


def check_arguments(method: Method, given: Arguments, pool_optional: bool = False) -> None:
    """Raise `InputError` if an argument is missing or superfluous."""
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
        if present and name not in (*method.needs, *method.optional):
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
    if given.outcomes is not None and not (method.takes_outcomes and is_count(given.outcomes)):
        raise InputError(
            "outcomes",
            expected="a whole number of at least 1"
            if method.takes_outcomes
            else f"nothing, since {method.name!r} samples no joint outcomes",
            got=repr(given.outcomes),
            fix="It is for 'batchbald': how many joint outcomes of the labels are considered, by default 10,000.",
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
    if "reference" not in method.needs:
        return None
    reference = read_beliefs(given.reference, "reference", given.classes)
    if method.targets or (method.takes_vote and given.vote == "soft"):
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
            expected=f"one member, shape (N, C) or (1, N, C), for {method.name!r}",
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
    return features, read_features(given.labelled_features, "labelled_features", like=features)


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
