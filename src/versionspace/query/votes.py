"""Methods that look at how the members' votes split on an image: prior mass, and the worst-case diameters.

    pwd     −max_y PWD(V̂_x^y)            m-pwd   −max_y (s/M) PWD        m2-pwd  −max_y (s/M)² PWD
    gvd     −max_y GVD(V̂_x^y)            m-gvd   −max_y (s/M) GVD        gvd-loo  as gvd, leave-one-out

Liu et al. 2020; m2-pwd: Tosh and Dasgupta 2017.
"""

from versionspace.query.problem import Problem
from versionspace.space import mass
from versionspace.space.splits import split
from versionspace.types import Floats


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
