"""Methods that look at how the members' votes split on an image: prior mass, and the worst-case diameters.

    pwd     −max_y PWD(V̂_x^y)            m-pwd   −max_y (s/M) PWD        m2-pwd  −max_y (s/M)² PWD
    gvd     −max_y GVD(V̂_x^y)            m-gvd   −max_y (s/M) GVD        gvd-loo  as gvd, leave-one-out

Liu et al. 2020; m2-pwd: Tosh and Dasgupta 2017.
"""

from versionspace.query.problem import Problem
from versionspace.space import mass
from versionspace.space.splits import Splits, split
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


def worst_case(problem: Problem, splits: Splits, power: int = 0) -> Floats:
    """−max_y (s/M)^power diam(V̂_x^y) over the classes that some member votes for."""
    assert problem.diameter is not None
    values = problem.diameter(splits.masks, splits.sizes)
    if power:
        values = values * splits.sizes**power / float(splits.members**power)
    return 0.0 - splits.worst(values)  # 0 − 0 is 0, not −0


def diameter(problem: Problem) -> Floats:
    """pwd, gvd, gvd-loo: the diameter that is left in the worst case."""
    return worst_case(problem, split(problem.beliefs()))


def mass_times_diameter(problem: Problem) -> Floats:
    """m-pwd, m-gvd: weighted by the prior mass."""
    return worst_case(problem, split(problem.beliefs()), power=1)


def squared_mass_times_diameter(problem: Problem) -> Floats:
    """m2-pwd: weighted by the squared prior mass."""
    return worst_case(problem, split(problem.beliefs()), power=2)
