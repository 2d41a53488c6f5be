"""The public functions: `utilities` scores the images of a pool, `query` chooses the k images to label next."""

import warnings
from typing import Literal, overload

import numpy as np

from versionspace.errors import InputError, TieWarning
from versionspace.query.arguments import Arguments, Query, read_k, read_problem, read_query
from versionspace.query.inputs import Problem, read_ids
from versionspace.query.limits import AHEAD, NO_LIMITS, Limits
from versionspace.query.methods import Method, find
from versionspace.query.ranking import Chosen, Selection
from versionspace.space import describe
from versionspace.types import Array, ArrayLike, Floats, Ints, Seed, Vote


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
    seed: Seed = None,
) -> Floats:
    """Return the utility of labelling each image of the pool, float64 (N,); higher means ask first.

    For methods that choose a set, this is the score of their first step.

    Args:
        method: a name in `versionspace.METHODS`; ``versionspace methods`` lists what each method needs.
        pool: the members' probabilities (M, N, C), or (N, C) of a single model, or votes (M, N) for methods that need
            no more.
        reference: the same members' probabilities (M, T, C) or votes (M, T) on the reference set, on which distances
            between members are measured; for `epig`, the target images.
        vote: "soft" (as in the paper) or "hard", for the methods based on the Gibbs-vote disagreement.
        features: (N, F), for `coreset`, `badge` and the coverage methods, which read features mapped from a file in
            blocks.
        labelled_features: (L, F), features of the labelled images, for `coreset` and the coverage methods.
        perturbations: (N,), sizes of the smallest adversarial perturbations, for `dfal`.
        classes: C, to validate votes; for `probcover`, the number of clusters that determine the radius (default 10).
        seed: an integer makes the result reproducible; a NumPy generator is drawn from; None draws a new seed.

    >>> import versionspace as vs
    >>> pool = [[0, 0, 1], [0, 1, 0], [0, 1, 0]]  # votes of three members on three images
    >>> vs.utilities("pwd", pool=pool, reference=[[0, 0], [0, 1], [1, 1]])
    array([-0.66666667, -0.5       , -0.5       ])
    """
    row = find(method)
    given = Arguments(pool, reference, vote, features, labelled_features, perturbations, classes)
    return score_images(row, read_problem(row, given, seed))


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
    outcomes: int | None = ...,
    seed: Seed = ...,
    ids: ArrayLike = ...,
    candidates: ArrayLike = ...,
    costs: ArrayLike = ...,
    balance: int | None = ...,
    return_utilities: Literal[False] = ...,
    return_record: Literal[False] = ...,
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
    outcomes: int | None = ...,
    seed: Seed = ...,
    ids: ArrayLike = ...,
    candidates: ArrayLike = ...,
    costs: ArrayLike = ...,
    balance: int | None = ...,
    return_utilities: Literal[True],
    return_record: Literal[False] = ...,
) -> tuple[Array, Floats]: ...
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
    outcomes: int | None = ...,
    seed: Seed = ...,
    ids: ArrayLike = ...,
    candidates: ArrayLike = ...,
    costs: ArrayLike = ...,
    balance: int | None = ...,
    return_utilities: bool = ...,
    return_record: Literal[True],
) -> Chosen: ...
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
    outcomes: int | None = None,
    seed: Seed = None,
    ids: ArrayLike = None,
    candidates: ArrayLike = None,
    costs: ArrayLike = None,
    balance: int | None = None,
    return_utilities: bool = False,
    return_record: bool = False,
) -> Array | tuple[Array, Floats] | Chosen:
    """Return the k images to label next, best first: their positions in the pool, int64 (k,), or their ids.

    Equal utilities are ordered by a hash of seed and id, or position without ids. If several images are chosen
    and all of them were drawn by lot, among more images of equal utility, a `TieWarning` says so.

    Args:
        method: a name in `versionspace.METHODS`.
        k: the number of images, 1 to N.
        pool: see `utilities`.
        reference: see `utilities`.
        vote: see `utilities`.
        features: see `utilities`.
        labelled_features: see `utilities`.
        perturbations: see `utilities`.
        classes: see `utilities`.
        outcomes: for `batchbald`, the largest number of joint outcomes of the labels that is considered (default
            10,000); with more of them, this many are sampled.
        seed: see `utilities`.
        ids: the caller's names of the N images, of which those of the chosen images are returned.
        candidates: which images may be chosen, as a mask (N,) or as positions; the others are ignored altogether.
        costs: (N,), positive: what a label of each image costs. Images are ranked by utility per cost; utilities of
            which some are negative are measured from the lowest.
        balance: the largest number of chosen images for which the members predict the same class. If they predict so
            few classes that k images cannot be chosen, it is raised to the smallest number that allows it.
        return_utilities: also return the utility of each chosen image; for methods that choose a set, its utility at
            the step in which it was chosen.
        return_record: return a `Chosen` instead: ids, positions, utilities and how many images tied. No warning then.

    >>> import versionspace as vs
    >>> pool = [[0, 0, 1], [0, 1, 0], [0, 1, 1]]
    >>> sorted(vs.query("ge", 2, pool=pool, ids=["a.png", "b.png", "c.png"], seed=0).tolist())
    ['b.png', 'c.png']
    """
    row = find(method)
    image_ids = None if ids is None else read_ids(ids)
    given = Arguments(
        pool, reference, vote, features, labelled_features, perturbations, classes, outcomes, candidates, costs, balance
    )
    wanted = read_query(row, given, seed, image_ids)
    record = _choose(row, wanted, k, image_ids)
    if return_record:
        return record
    if record.by_lot == len(record.ids) > 1:
        warnings.warn(
            f"{method}: {record.tied} images have the same utility, the highest, and {record.by_lot} of them were "
            "drawn by lot. More members or probabilities distinguish images better; return_record=True reports ties.",
            TieWarning,
            stacklevel=2,
        )
    return (record.ids, record.utilities) if return_utilities else record.ids


def _choose(method: Method, wanted: Query, k: object, ids: Array | None) -> Chosen:
    """Return the chosen images as a record, with positions in the whole pool."""
    problem = wanted.problem
    count = read_k(k, problem.images)
    selection = choose_images(method, problem, count, wanted.limits.for_query(count))
    positions = selection.indices if wanted.kept is None else wanted.kept[selection.indices]
    draws = selection.tied is not None and count < problem.images
    tied = selection.tied if draws and selection.tied is not None else np.ones(count, np.int64)
    named = positions if ids is None else ids[positions]
    return Chosen(named, positions, selection.utilities, int(tied[-1]), int((tied > 1).sum()))


def score_images(method: Method, problem: Problem) -> Floats:
    """Return the utilities of all images, (N,). Raises `InputError` if the method returns anything else."""
    scores = np.asarray(method.score(problem))
    if scores.shape != (problem.images,) or scores.dtype != np.float64 or not np.isfinite(scores).all():
        raise InputError(
            f"utilities of {method.name!r}",
            expected=f"finite float64 numbers of shape ({problem.images},)",
            got=describe(scores) + ("" if np.isfinite(scores).all() else ", not all finite"),
            fix="Correct the score function of this method.",
        )
    return scores


def choose_images(method: Method, problem: Problem, k: int, limits: Limits = NO_LIMITS) -> Selection:
    """Return the k images to label next. Raises `InputError` if the method chooses anything else."""
    if method.choose is None:
        return _best(score_images(method, problem), np.arange(problem.images), problem, k, limits)
    if not limits.any:
        return _checked(method, problem, k)
    ahead = min(problem.images, AHEAD * k)
    while True:
        ranked = _checked(method, problem, ahead)
        chosen = _best(ranked.utilities, ranked.indices, problem, k, limits)
        if len(chosen.indices) == k:
            return chosen
        ahead = min(problem.images, AHEAD * ahead)


def _best(utilities: Floats, images: Ints, problem: Problem, k: int, limits: Limits) -> Selection:
    """Return the best of some images by utility, within the limits; fewer than k if these do not suffice."""
    values = limits.per_cost(utilities, images)
    taken = limits.take(values, images, problem.tie_hashes()[images], k)
    last = values[taken[-1]]
    needed, equal = int((values[taken] == last).sum()), int((values == last).sum())
    tied = np.ones(len(taken), np.int64)
    if equal > needed:
        tied[values[taken] == last] = equal
    return Selection(images[taken], utilities[taken], tied)


def _checked(method: Method, problem: Problem, k: int) -> Selection:
    """Return what a method that chooses a set chooses. Raises `InputError` unless these are k different images."""
    assert method.choose is not None
    selection = method.choose(problem, k)
    distinct = np.unique(selection.indices)
    if len(selection.indices) != k or len(distinct) != k or distinct[0] < 0 or distinct[-1] >= problem.images:
        raise InputError(
            f"images chosen by {method.name!r}",
            expected=f"{k} different positions from 0 to {problem.images - 1}",
            got=str(selection.indices),
            fix="Correct the choose function of this method.",
        )
    return selection
