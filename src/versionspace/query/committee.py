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

import numpy as np

from versionspace.query.inputs import Problem
from versionspace.query.ranking import Selection, best_remaining
from versionspace.space import Splits, gibbs_error_of, masks, split_members, variation_ratio_of, vote_entropy_of
from versionspace.types import Floats, Words


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
    """Choose k images by greedy refinement. Each step costs one `gvd` per cell, over ever smaller sub-spaces."""
    splits = split_members(problem.beliefs())
    whole = masks.pack(np.ones((1, splits.members), bool))
    ties = problem.tie_hashes(problem.positions())
    taken = np.zeros(problem.images, bool)
    indices, utilities = np.empty(k, np.int64), np.empty(k)
    cells = whole
    for j in range(k):
        score = _score_refinement(problem, splits, cells)
        chosen = best_remaining(score, ties, taken)
        indices[j], utilities[j] = chosen, score[chosen]
        taken[chosen] = True
        cells = _refine(cells, splits.masks_of(chosen)) if score[chosen] < 0.0 else whole
    return Selection(indices, utilities)


def _score_refinement(problem: Problem, splits: Splits, cells: Words) -> Floats:
    """Return −max over the cells of GVD(cell ∩ V̂_x^y), with 0 for an empty intersection."""
    assert problem.diameter is not None
    worst = np.zeros(len(splits.masks))
    for cell in cells:
        within = masks.unique(splits.masks & cell)
        sizes = masks.sizes(within.masks)
        values = problem.diameter(within.masks, np.maximum(sizes, 1))
        np.maximum(worst, values[within.inverse], out=worst)
    return 0.0 - splits.worst(worst)


def _refine(cells: Words, subspaces: Words) -> Words:
    """Return the cells that a pick leaves, without those of fewer than two members, which have diameter 0."""
    parts = (cells[:, None, :] & subspaces[None, :, :]).reshape(-1, cells.shape[1])
    return parts[masks.sizes(parts) > 1]
