"""The public functions: `utilities` scores the images of a pool, `query` chooses the k images to label next."""

from typing import Literal, overload

import numpy as np

from versionspace.errors import InputError
from versionspace.query.arguments import Arguments, read_k, read_problem
from versionspace.query.inputs import Problem, read_ids
from versionspace.query.methods import Method, find
from versionspace.query.ranking import Selection, top_k
from versionspace.space import describe
from versionspace.types import Array, ArrayLike, Floats, Ints, Vote


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
    """Return the utility of labelling each image of the pool, float64 (N,); higher means ask first.

    For methods that choose a set, this is the score of their first step.

    Args:
        method: a name in `versionspace.METHODS`; ``versionspace methods`` lists what each method needs.
        pool: the members' probabilities (M, N, C), or votes (M, N) for methods that need no more.
        reference: the same members' probabilities (M, T, C) or votes (M, T) on the reference set, on which distances
            between members are measured.
        vote: "soft" (as in the paper) or "hard", for the methods based on the Gibbs-vote disagreement.
        features: (N, F), for `coreset`, `badge` and the coverage methods.
        labelled_features: (L, F), features of the labelled images, for `coreset` and the coverage methods.
        perturbations: (N,), sizes of the smallest adversarial perturbations, for `dfal`.
        classes: C, to validate votes.
        seed: makes the result reproducible; None draws a new seed.

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
    """Return the k images to label next, best first: their positions in the pool, int64 (k,), or their ids.

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
        seed: see `utilities`; equal utilities are ordered by a hash of seed and position.
        ids: the caller's names of the N images, of which those of the chosen images are returned.
        return_utilities: also return the utility of each chosen image; for methods that choose a set, its utility at
            the step in which it was chosen.

    >>> import versionspace as vs
    >>> pool = [[0, 0, 1], [0, 1, 0], [0, 1, 1]]
    >>> vs.query("ge", 2, pool=pool, ids=["a.png", "b.png", "c.png"], seed=0).tolist()
    ['c.png', 'b.png']
    """
    row = find(method)
    image_ids = None if ids is None else read_ids(ids)
    given = Arguments(pool, reference, vote, features, labelled_features, perturbations, classes)
    problem = read_problem(row, given, seed, image_ids)
    selection = choose_images(row, problem, read_k(k, problem.images))
    answer: Ints | Array = selection.indices if image_ids is None else image_ids[selection.indices]
    return (answer, selection.utilities) if return_utilities else answer


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


def choose_images(method: Method, problem: Problem, k: int) -> Selection:
    """Return the k images to label next. Raises `InputError` if the method chooses anything else."""
    if method.choose is None:
        scores = score_images(method, problem)
        indices = top_k(scores, problem.tie_hashes(problem.positions()), k)
        return Selection(indices, scores[indices])
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
