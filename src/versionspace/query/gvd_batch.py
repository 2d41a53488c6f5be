"""gvd-batch: the Gibbs-vote disagreement, greedy within a batch.

The members that vote alike on all images picked so far form a cell; the picks' common refinement is the set of
cells. The next image is scored by the worst GVD over the cells that it would leave,

    u(x | picks) = −max_{cell, y} GVD(cell ∩ V̂_x^y),

so that an image that asks the same split again brings nothing. When every cell has a diameter of 0, nothing is left
to refine and the refinement starts afresh from the whole version space.
"""

import numpy as np

from versionspace.query.chosen import Chosen
from versionspace.query.order import first
from versionspace.query.problem import Problem
from versionspace.space import masks
from versionspace.space.splits import Splits, split
from versionspace.types import Floats, Words


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
