"""Methods that use how the members' votes split on an image: prior mass and worst-case diameters.

    ge            Σ_y (s_y/M)(1 − s_y/M)      expected share of the version space that a label removes
    vr            1 − max_y s_y/M             the same in the worst case
    vote-entropy  −Σ_y (s_y/M) ln(s_y/M)

    pwd     −max_y PWD(V̂_x^y)            m-pwd   −max_y (s/M) PWD        m2-pwd   −max_y (s/M)² PWD
    gvd     −max_y GVD(V̂_x^y)            m-gvd   −max_y (s/M) GVD        gvd-loo  as gvd, leave-one-out

Liu et al. 2020; m2-pwd: Tosh and Dasgupta 2017.

gvd-batch is greedy within a batch. The members that vote alike on all images picked so far form a cell; the cells are
the common refinement of the picks' splits. The next image is scored by the worst GVD over the cells that it would
leave,

    u(x | picks) = −max_{cell, y} GVD(cell ∩ V̂_x^y),

so an image that repeats the split of a pick gains nothing. When every cell has diameter 0, nothing is left to refine
and the refinement restarts from the whole version space.
"""

from typing import NamedTuple

import numpy as np

from versionspace.query.inputs import Problem
from versionspace.query.ranking import Selection
from versionspace.space import (
    CachedDiameter,
    Diameter,
    Splits,
    gibbs_error_of,
    masks,
    split_members,
    variation_ratio_of,
    vote_entropy_of,
)
from versionspace.types import Bools, Floats, Ints, Words

_CACHE_SIZE = 1 << 20
"""Number of sub-spaces whose diameters are remembered within a batch."""


def gibbs_error(problem: Problem) -> Floats:
    """Return the utilities of ge: the expected prior mass removed."""
    return gibbs_error_of(split_members(problem.beliefs()))


def variation_ratio(problem: Problem) -> Floats:
    """Return the utilities of vr: the prior mass removed in the worst case."""
    return variation_ratio_of(split_members(problem.beliefs()))


def vote_entropy(problem: Problem) -> Floats:
    """Return the utilities of vote-entropy: the entropy of the votes, in nats."""
    return vote_entropy_of(split_members(problem.beliefs()))


def worst_case_diameter(problem: Problem) -> Floats:
    """Return −max_y diam(V̂_x^y) over the classes that receive a vote, with the diameter of ``problem``."""
    assert problem.diameter is not None
    splits = split_members(problem.beliefs())
    return 0.0 - splits.worst(problem.diameter(splits.masks, splits.sizes))  # 0 − 0 is 0, not −0


def choose_gvd_batch(problem: Problem, k: int) -> Selection:
    """Choose k images by greedy refinement. The first step costs a `gvd`; later ones score what may still be best."""
    assert problem.diameter is not None
    splits = split_members(problem.beliefs())
    diameter = CachedDiameter(problem.diameter, _CACHE_SIZE)
    whole = masks.pack(np.ones((1, splits.members), bool))
    ties = problem.tie_hashes()
    left = np.ones(problem.images, bool)
    indices, utilities, tied = np.empty(k, np.int64), np.empty(k), np.ones(k, np.int64)
    cells = whole
    for j in range(k):
        best = _least_refined(diameter, splits, cells, left)
        chosen = int(best.images[np.argmin(ties[best.images])])
        indices[j], utilities[j], tied[j] = chosen, 0.0 - best.diameter, len(best.images)
        left[chosen] = False
        cells = _refine(cells, splits.masks_of(chosen)) if best.diameter > 0.0 else whole
    return Selection(indices, utilities, tied)


class _Least(NamedTuple):
    """The images that leave the smallest diameter, and that diameter."""

    images: Ints
    diameter: float


def _least_refined(diameter: Diameter, splits: Splits, cells: Words, left: Bools) -> _Least:
    """Return those of the images left with the smallest max over the cells of GVD(cell ∩ V̂_x^y).

    An empty intersection counts as 0.

    Cells are considered one after another, the widest first. An image whose maximum so far exceeds the whole maximum
    of another image is dropped: most are after the first cell.
    """
    if len(cells) == 0:
        return _Least(np.flatnonzero(left), 0.0)
    widest = np.argsort(-diameter(cells, masks.sizes(cells)), kind="stable")
    some, images, excluded = splits, np.arange(len(left)), np.where(left, 0.0, np.inf)
    worst = np.zeros(len(splits.masks))
    for cell in cells[widest]:
        used = np.zeros(len(worst), bool)
        used[some.entries] = True
        active = np.flatnonzero(used)
        worst[active] = np.maximum(worst[active], _within(diameter, splits.masks[active], cell))
        so_far = some.worst(worst) + excluded[images]
        first = int(np.argmin(so_far))
        subspaces = splits.masks_of(int(images[first]))
        bound = max(float(_within(diameter, subspaces, other).max()) for other in cells)
        kept = np.flatnonzero(so_far <= bound)
        if len(kept) < len(images):
            images, some = images[kept], some.take(kept)
    so_far = some.worst(worst) + excluded[images]
    return _Least(images[so_far == so_far.min()], float(so_far.min()))


def _within(diameter: Diameter, subspaces: Words, cell: Words) -> Floats:
    """Return the diameters of the intersections of sub-spaces with a cell."""
    within = masks.unique(subspaces & cell)
    return diameter(within.masks, np.maximum(masks.sizes(within.masks), 1))[within.inverse]


def _refine(cells: Words, subspaces: Words) -> Words:
    """Return the cells that a pick leaves, without those of fewer than two members, which have diameter 0."""
    parts = (cells[:, None, :] & subspaces[None, :, :]).reshape(-1, cells.shape[1])
    return parts[masks.sizes(parts) > 1]
