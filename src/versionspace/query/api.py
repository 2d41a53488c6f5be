"""The way in: names and arrays from the caller, checked against the table of methods, then scored or chosen."""

import operator
from dataclasses import dataclass
from typing import Literal, overload

import numpy as np

from versionspace import rng
from versionspace.errors import InputError
from versionspace.query.inputs import Problem, read_features, read_ids, read_perturbations
from versionspace.query.methods import Method, find
from versionspace.query.ranking import Chosen, top
from versionspace.space import beliefs
from versionspace.space.beliefs import Beliefs, described
from versionspace.space.diameter import read_vote
from versionspace.types import Array, ArrayLike, Floats, Ints, Vote


@dataclass(frozen=True)
class Arguments:
    """What a caller may give to a method, as it came."""

    pool: ArrayLike = None
    reference: ArrayLike = None
    vote: str = "soft"
    features: ArrayLike = None
    labelled_features: ArrayLike = None
    perturbations: ArrayLike = None
    classes: int | None = None


def check_arguments(method: Method, given: Arguments, pool_later: bool = False) -> None:
    """Refuses missing and superfluous arguments; ``pool_later``: a pool need not be among them."""
    optional = {"labelled_features"} if method.labelled else set()
    for name in ("pool", "reference", "features", "labelled_features", "perturbations"):
        present = getattr(given, name) is not None
        excused = name == "pool" and pool_later
        if name in method.needs and not present and not excused:
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
                fix=f"Leave {name} out: it would be ignored.",
            )
    if read_vote(given.vote) != "soft" and not method.takes_vote:
        raise InputError(
            "vote",
            expected=f"nothing, since {method.name!r} takes no majority vote",
            got=repr(given.vote),
            fix="Leave vote out: it would be ignored.",
        )
    if given.classes is not None and (not isinstance(given.classes, int | np.integer) or given.classes < 1):
        raise InputError(
            "classes",
            expected="a whole number of at least 1, or None",
            got=repr(given.classes),
            fix="Pass how many classes the votes are about.",
        )


def read_reference(method: Method, given: Arguments) -> Beliefs | None:
    """The reference set, checked; None where the method needs none."""
    if method.diameter is None:
        return None
    reference = beliefs.read(given.reference, "reference", given.classes)
    if method.takes_vote and given.vote == "soft":
        reference.probabilities()
    return reference


def read_pool(method: Method, given: Arguments, reference: Beliefs | None) -> Beliefs | None:
    """The pool, checked against the method and the reference; None where it is not given."""
    if given.pool is None:
        return None
    classes = given.classes
    if classes is None and reference is not None and reference.probs is not None:
        array = beliefs.as_array(given.pool, "pool")
        classes = None if array.ndim == 3 else reference.classes
    pool = beliefs.read(given.pool, "pool", classes)
    if method.pool in ("probs", "one member"):
        pool.probabilities()
    if method.pool == "one member" and pool.members != 1:
        raise InputError(
            "pool",
            expected=f"one member, shape (1, N, C), for {method.name!r}",
            got=f"{pool.members} members",
            fix="Pass the member whose features these are: pool[:1] for the first.",
        )
    if pool.members < method.members:
        raise InputError(
            "pool",
            expected=f"at least {method.members} members for {method.name!r}",
            got=f"{pool.members}",
            fix="Train several members, or use 'entropy', 'margin' or 'least-confidence' with a single model.",
        )
    if reference is not None:
        _check_alike(pool, reference)
    return pool


def _check_alike(pool: Beliefs, reference: Beliefs) -> None:
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


def read_features_of(method: Method, given: Arguments) -> tuple[Array | None, Array | None]:
    """Features of the pool and of the labelled images, where the method needs them."""
    if not method.features:
        return None, None
    features = read_features(given.features, "features")
    if len(features) == 0:
        raise InputError(
            "features", expected="at least one image", got="none", fix="The pool is empty: there is nothing to ask."
        )
    if given.labelled_features is None:
        return features, None
    width = features.shape[1]
    return features, read_features(given.labelled_features, "labelled_features", width, features.dtype.type)


def read_problem(method: Method, given: Arguments, seed: object, ids: Array | None = None) -> Problem:
    """All arguments, checked."""
    check_arguments(method, given, pool_later=method.pool == "any" and ids is not None)
    reference = read_reference(method, given)
    pool = read_pool(method, given, reference)
    features, labelled = read_features_of(method, given)
    perturbations = read_perturbations(given.perturbations) if method.perturbations else None
    sizes = {
        "pool": None if pool is None else pool.images,
        "features": None if features is None else len(features),
        "perturbations": None if perturbations is None else len(perturbations),
        "ids": None if ids is None else len(ids),
    }
    known = {name: size for name, size in sizes.items() if size is not None}
    first, images = next(iter(known.items()))
    for name, size in known.items():
        if size != images:
            raise InputError(
                name, expected=f"{images} images, as {first} has", got=f"{size}", fix="Both must list the same images."
            )
    vote = read_vote(given.vote)
    return Problem(
        images=images,
        seed=rng.root(seed),
        pool=pool,
        reference=reference,
        vote=vote,
        diameter=method.diameter(reference, vote) if method.diameter and reference else None,
        features=features,
        labelled=labelled,
        perturbations=perturbations,
    )


def read_k(k: object, images: int) -> int:
    """How many images to ask for, checked against how many there are."""
    try:
        value = operator.index(k)  # type: ignore[arg-type]
    except TypeError:
        value = 0
    if not 1 <= value <= images or isinstance(k, bool):
        raise InputError(
            "k",
            expected=f"a whole number from 1 to {images}, the number of images in the pool",
            got=repr(k),
            fix="Ask for fewer images." if value > images else "Ask for at least one image.",
        )
    return value


def score(method: Method, problem: Problem) -> Floats:
    """Return the utilities of all images, (N,). Raises `InputError` if a registered method computes something else."""
    scores = np.asarray(method.score(problem))
    if scores.shape != (problem.images,) or scores.dtype != np.float64 or not np.isfinite(scores).all():
        raise InputError(
            f"utilities of {method.name!r}",
            expected=f"finite float64 numbers of shape ({problem.images},)",
            got=described(scores) + ("" if np.isfinite(scores).all() else ", not all finite"),
            fix="Correct the score function of this method.",
        )
    return scores


def choose(method: Method, problem: Problem, k: int) -> Chosen:
    """Return the k images to ask first. Raises `InputError` if a registered method chooses something else."""
    if method.choose is not None:
        chosen = method.choose(problem, k)
        distinct = np.unique(chosen.indices)
        if len(chosen.indices) != k or len(distinct) != k or distinct[0] < 0 or distinct[-1] >= problem.images:
            raise InputError(
                f"images chosen by {method.name!r}",
                expected=f"{k} different positions from 0 to {problem.images - 1}",
                got=f"{len(chosen.indices)}, {len(distinct)} of them different, {distinct[0]} to {distinct[-1]}",
                fix="Correct the choose function of this method.",
            )
        return chosen
    scores = score(method, problem)
    indices = top(problem, scores, k)
    return Chosen(indices, scores[indices])


def utilities(
    method: str,
    *,
    pool: ArrayLike = None,
    reference: ArrayLike = None,
    vote: Vote = "soft",
    features: ArrayLike = None,
    labelled_features: ArrayLike = None,
    perturbations: ArrayLike = None,
    classes: int | None = None,
    seed: int | None = None,
) -> Floats:
    """The utility of asking for each image of the pool, float64 (N,): higher means ask first.

    Args:
        method: one of `versionspace.METHODS`; ``versionspace methods`` says what each needs.
        pool: the members' probabilities (M, N, C), or votes (M, N) where they suffice.
        reference: the same members' on the reference set, (M, T, C) or (M, T): distances are measured there.
        vote: "soft" (the paper's) or "hard", for the methods of the Gibbs-vote disagreement.
        features: (N, F), for `coreset` and `badge`.
        labelled_features: (L, F) of the images that have a label already, for `coreset`.
        perturbations: (N,) sizes of the smallest adversarial perturbations, for `dfal`.
        classes: C, to check votes against.
        seed: the same seed gives the same answer; None draws a fresh one.

    Methods that choose a set give the score of their first step.

    >>> import versionspace as vs
    >>> pool = [[0, 0, 1], [0, 1, 0], [0, 1, 0]]  # votes of three members on three images
    >>> vs.utilities("pwd", pool=pool, reference=[[0, 0], [0, 1], [1, 1]])
    array([-0.66666667, -0.5       , -0.5       ])
    """
    found = find(method)
    given = Arguments(pool, reference, vote, features, labelled_features, perturbations, classes)
    return score(found, read_problem(found, given, seed))


@overload
def query(
    method: str,
    k: int,
    *,
    pool: ArrayLike = ...,
    reference: ArrayLike = ...,
    vote: Vote = ...,
    features: ArrayLike = ...,
    labelled_features: ArrayLike = ...,
    perturbations: ArrayLike = ...,
    classes: int | None = ...,
    seed: int | None = ...,
    ids: ArrayLike = ...,
    return_utilities: Literal[False] = ...,
) -> Array: ...
@overload
def query(
    method: str,
    k: int,
    *,
    pool: ArrayLike = ...,
    reference: ArrayLike = ...,
    vote: Vote = ...,
    features: ArrayLike = ...,
    labelled_features: ArrayLike = ...,
    perturbations: ArrayLike = ...,
    classes: int | None = ...,
    seed: int | None = ...,
    ids: ArrayLike = ...,
    return_utilities: Literal[True],
) -> tuple[Array, Floats]: ...
def query(
    method: str,
    k: int,
    *,
    pool: ArrayLike = None,
    reference: ArrayLike = None,
    vote: Vote = "soft",
    features: ArrayLike = None,
    labelled_features: ArrayLike = None,
    perturbations: ArrayLike = None,
    classes: int | None = None,
    seed: int | None = None,
    ids: ArrayLike = None,
    return_utilities: bool = False,
) -> Array | tuple[Array, Floats]:
    """The k images to ask first: their positions in the pool, int64 (k,), or their ids; unique, best first.

    Takes what `utilities` takes, and

    Args:
        method: one of `versionspace.METHODS`.
        k: how many images, 1 to N.
        pool: see `utilities`.
        reference: see `utilities`.
        vote: see `utilities`.
        features: see `utilities`.
        labelled_features: see `utilities`.
        perturbations: see `utilities`.
        classes: see `utilities`.
        seed: see `utilities`; equal utilities are ordered by a hash of seed and position.
        ids: the caller's own names of the N images; those of the chosen ones are returned.
        return_utilities: also return the utility of each chosen image, at its turn for methods that choose a set.

    >>> import versionspace as vs
    >>> pool = [[0, 0, 1], [0, 1, 0], [0, 1, 1]]
    >>> vs.query("ge", 2, pool=pool, ids=["a.png", "b.png", "c.png"], seed=0).tolist()
    ['c.png', 'b.png']
    """
    found = find(method)
    names = None if ids is None else read_ids(ids)
    given = Arguments(pool, reference, vote, features, labelled_features, perturbations, classes)
    problem = read_problem(found, given, seed, names)
    chosen = choose(found, problem, read_k(k, problem.images))
    answer: Ints | Array = chosen.indices if names is None else names[chosen.indices]
    return (answer, chosen.utilities) if return_utilities else answer
