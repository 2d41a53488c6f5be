"""Methods with nothing to compute: a seeded draw, and the sizes of adversarial perturbations."""

from versionspace import rng
from versionspace.query.problem import Problem
from versionspace.types import Floats


def random(problem: Problem) -> Floats:
    """Uniform numbers, functions of seed and position."""
    return rng.uniforms(rng.key(problem.seed, "random"), problem.positions())


def smallest_perturbation(problem: Problem) -> Floats:
    """dfal: minus the size of the smallest perturbation that changes the network's mind (Ducoffe, Precioso 2018)."""
    assert problem.perturbations is not None
    return 0.0 - problem.perturbations
