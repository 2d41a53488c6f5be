"""gvd-batch: the Gibbs-vote disagreement, greedy within a batch.

The members that vote alike on all images picked so far form a cell; the picks' common refinement is the set of
cells. The next image is scored by the worst GVD over the cells that it would leave,

    u(x | picks) = −max_{cell, y} GVD(cell ∩ V̂_x^y),

so that an image that asks the same split again brings nothing. When every cell has a diameter of 0, nothing is left
to refine and the refinement starts afresh from the whole version space.

Methods that look at how the members' votes split on an image: prior mass, and the worst-case diameters.

    pwd     −max_y PWD(V̂_x^y)            m-pwd   −max_y (s/M) PWD        m2-pwd  −max_y (s/M)² PWD
    gvd     −max_y GVD(V̂_x^y)            m-gvd   −max_y (s/M) GVD        gvd-loo  as gvd, leave-one-out

Liu et al. 2020; m2-pwd: Tosh and Dasgupta 2017.
"""

import numpy as np

from versionspace.query.inputs import Problem
from versionspace.query.ranking import Chosen, first
from versionspace.space import masks, mass
from versionspace.space.splits import Splits, split
from versionspace.types import Floats, Words


def gibbs_error(problem: Problem) -> Floats:
    """Expected prior mass removed."""
    return mass.gibbs_error_of(split(problem.beliefs()))


def variation_ratio(problem: Problem) -> Floats:
    """Prior mass removed at worst."""
    return mass.variation_ratio_of(split(problem.beliefs()))


def vote_entropy(problem: Problem) -> Floats:
    """Entropy of the votes, in nats."""
    return mass.vote_entropy_of(split(problem.beliefs()))


def diameter(problem: Problem) -> Floats:
    """−max_y diam(V̂_x^y) over the classes that some member votes for: the diameter, weighted or not, left at worst."""
    assert problem.diameter is not None
    splits = split(problem.beliefs())
    return 0.0 - splits.worst(problem.diameter(splits.masks, splits.sizes))  # 0 − 0 is 0, not −0


def choose(problem: Problem, k: int) -> Chosen:
    """Greedy refinement. A step costs a `gvd` over the sub-spaces that the cells and the pool's splits share."""
    splits = split(problem.beliefs())
    whole = masks.pack(np.ones((1, splits.members), bool))
    ties = problem.ties(problem.positions())
    taken = np.zeros(problem.images, bool)
    indices, utilities = np.empty(k, np.int64), np.empty(k)
    cells = whole
    for j in range(k):
        score = _score(problem, splits, cells)
        chosen = first(score, ties, taken)
        indices[j], utilities[j] = chosen, score[chosen]
        taken[chosen] = True
        cells = _refined(cells, splits.of(chosen)) if score[chosen] < 0.0 else whole
    return Chosen(indices, utilities)


def _score(problem: Problem, splits: Splits, cells: Words) -> Floats:
    """−max over the cells of GVD(cell ∩ V̂_x^y). An empty intersection counts 0, which no diameter is below."""
    assert problem.diameter is not None
    worst = np.zeros(len(splits.masks))
    for cell in cells:
        within = masks.unique(splits.masks & cell)
        sizes = masks.sizes(within.masks)
        values = problem.diameter(within.masks, np.maximum(sizes, 1))
        np.maximum(worst, values[within.inverse], out=worst)
    return 0.0 - splits.worst(worst)


def _refined(cells: Words, subspaces: Words) -> Words:
    """The cells that a pick leaves; those of one member or none have no diameter and are dropped."""
    parts = (cells[:, None, :] & subspaces[None, :, :]).reshape(-1, cells.shape[1])
    return parts[masks.sizes(parts) > 1]
