"""BatchBALD: the batch with the largest joint mutual information, greedily (Kirsch et al. 2019).

    u(x | picks) = I[y_x ; ω | y_picks] = H[y_picks, y_x] − H[y_picks] − mean_m H[p_m(x)]        nats

The gain of an image never grows as picks are added (mutual information is submodular), so that last step's gains
bound this step's: images are scored in order of their bounds until the next bound is below the best score found. The
greedy choice is the same as by scoring all, for a fraction of the work.

The joint distribution is exact while it has at most `CONFIGURATIONS` outcomes; past that, so many outcomes are drawn
from it, each with its posterior over members, and the gain is the mean over them. The bounds are then estimates too.
"""

import numpy as np

from versionspace import rng
from versionspace.query import uncertainty
from versionspace.query.inputs import Problem
from versionspace.query.ranking import Chosen, first
from versionspace.types import Array, Floats, Ints

CONFIGURATIONS = 10_000
"""Outcomes of the picks' labels that are looked at: all of them, or so many draws."""
_ELEMENTS = 4_000_000
"""Elements of a temporary array, about."""
_EQUAL = 1e-12
"""Gains nearer than this are told apart by rounding alone: both are scored, and the hash of ties decides."""


def choose(problem: Problem, k: int) -> Chosen:
    """Greedy with lazy bounds. Scoring an image costs min(C^picks, CONFIGURATIONS)·M·C."""
    beliefs = problem.beliefs()
    generator = rng.generator(problem.seed, "batchbald")
    ties = problem.ties(problem.positions())
    taken = np.zeros(problem.images, bool)
    bounds = uncertainty.bald(problem)
    outcomes = Outcomes.none(beliefs.members)
    indices, utilities = np.empty(k, np.int64), np.empty(k)
    for j in range(k):
        if j > 0:
            bounds = _gains(problem, outcomes, bounds, taken)
        chosen = first(np.round(bounds / _EQUAL) * _EQUAL, ties, taken)
        indices[j], utilities[j] = chosen, bounds[chosen]
        taken[chosen] = True
        if j + 1 < k:
            outcomes = outcomes.extended(beliefs.probs_at(np.array([chosen]))[:, 0], generator)
    return Chosen(indices, utilities)


def _gains(problem: Problem, outcomes: "Outcomes", bounds: Floats, taken: Array) -> Floats:
    """The bounds, replaced by gains as far down as any could still be the best; the rest lies below that."""
    beliefs = problem.beliefs()
    order = np.argsort(-np.where(taken, -np.inf, bounds), kind="stable")[: problem.images - int(taken.sum())]
    gains = bounds.copy()
    best, at = -np.inf, 0
    size = max(1, _ELEMENTS // (len(outcomes.weights) * beliefs.classes))
    while at < len(order) and bounds[order[at]] >= best - _EQUAL:
        some = order[at : at + size]
        gains[some] = outcomes.gain(beliefs.probs_at(some))
        best = max(best, float(gains[some].max()))
        at += size
    # An unscored image keeps its bound, which is below the best gain: it cannot be chosen in this step.
    return gains


class Outcomes:
    """Outcomes of the picks' labels: how probable each is, and the posterior over members that it leaves."""

    def __init__(self, mass: Floats, weights: Array, exact: bool) -> None:
        self.mass = mass
        """(J,): probability of each outcome, summing to 1."""
        self.weights = weights
        """(J, M): posterior of the members after that outcome, rows summing to 1."""
        self.exact = exact
        """Whether all outcomes are here, not draws of them."""

    @staticmethod
    def none(members: int) -> "Outcomes":
        """Before the first pick."""
        return Outcomes(np.ones(1), np.full((1, members), 1.0 / members), exact=True)

    def gain(self, probs_MBC: Floats) -> Floats:
        """(B,): Σ_j mass_j H[Σ_m weight_jm p_m(x)] − mean_m H[p_m(x)]."""
        M, B, C = probs_MBC.shape
        predicted = (self.weights @ probs_MBC.reshape(M, B * C)).reshape(-1, B, C)
        conditional = uncertainty.mean_entropy(probs_MBC)
        return np.maximum(self.mass @ uncertainty.entropies(predicted) - conditional, 0.0)

    def extended(self, probs_MC: Floats, generator: np.random.Generator) -> "Outcomes":
        """With the label of one more pick: all outcomes while there are few enough, else draws."""
        J, (M, C) = len(self.mass), probs_MC.shape
        if self.exact and J * C <= CONFIGURATIONS:
            joint = (self.weights[:, None, :] * probs_MC.T[None]).reshape(J * C, M)
            mass = np.repeat(self.mass, C) * joint.sum(axis=1)
            possible = mass > 0
            return Outcomes(mass[possible], _rows_to_one(joint[possible]), exact=True)
        rows = np.arange(J)
        if self.exact:
            rows = generator.choice(J, size=CONFIGURATIONS, p=self.mass / self.mass.sum())
        weights = self.weights[rows]
        labels = _drawn(weights @ probs_MC, generator)
        joint = weights * probs_MC[:, labels].T
        return Outcomes(np.full(len(rows), 1.0 / len(rows)), _rows_to_one(joint), exact=False)


def _rows_to_one(joint: Floats) -> Floats:
    total: Floats = joint.sum(axis=1, keepdims=True)
    return joint / total


def _drawn(probs_JC: Floats, generator: np.random.Generator) -> Ints:
    """One class for each row, drawn from it; never a class of probability 0."""
    heap = np.cumsum(probs_JC, axis=1)
    at = generator.random(len(heap)) * heap[:, -1]
    drawn: Ints = (heap <= at[:, None]).sum(axis=1, dtype=np.int64)
    last: Ints = probs_JC.shape[1] - 1 - (probs_JC[:, ::-1] > 0).argmax(axis=1)
    return np.minimum(drawn, last)
