"""BatchBALD: greedy search for the batch with the largest joint mutual information (Kirsch et al. 2019).

    u(x | picks) = I[y_x ; ω | y_picks] = H[y_picks, y_x] − H[y_picks] − mean_m H[p_m(x)]        nats

Mutual information is submodular: the gain of an image never grows as picks are added, so the gains of the last step
bound those of this step. Images are scored in order of their bounds until the next bound is below the best gain. This
makes the same choice as scoring all images, for a fraction of the work.

The joint distribution is exact while it has at most `OUTCOMES` outcomes, or as many as the caller allows. Beyond that,
this many outcomes are sampled from it, each with its posterior over members, and the gain is the mean over the samples;
the bounds are then estimates as well.
"""

import numpy as np

from versionspace import rng
from versionspace.query import uncertainty
from versionspace.query.inputs import Problem
from versionspace.query.ranking import Selection, best_remaining
from versionspace.types import Array, Floats, Ints

OUTCOMES = 10_000
"""Default of the largest number of joint outcomes of the picks' labels; with more of them, this many are sampled."""
_ELEMENTS = 4_000_000
"""Approximate number of elements in a temporary array."""
_EQUAL = 1e-12
"""Gains that differ by less count as equal: only rounding distinguishes them."""


def choose_batchbald(problem: Problem, k: int) -> Selection:
    """Choose k images greedily with lazy bounds. Scoring an image costs min(C^picks, outcomes)·M·C."""
    beliefs = problem.beliefs()
    generator = rng.generator(problem.seed, "batchbald")
    ties = problem.tie_hashes()
    taken = np.zeros(problem.images, bool)
    bounds = uncertainty.bald(problem)
    outcomes = Outcomes.initial(beliefs.members, problem.outcomes or OUTCOMES)
    indices, utilities, tied = np.empty(k, np.int64), np.empty(k), np.ones(k, np.int64)
    for j in range(k):
        if j > 0:
            bounds = _update_bounds(problem, outcomes, bounds, taken)
        chosen, tied[j] = best_remaining(np.round(bounds / _EQUAL) * _EQUAL, ties, taken)
        indices[j], utilities[j] = chosen, bounds[chosen]
        taken[chosen] = True
        if j + 1 < k:
            outcomes = outcomes.extend(beliefs.probs_at(np.array([chosen]))[:, 0], generator)
    return Selection(indices, utilities, tied)


def _update_bounds(problem: Problem, outcomes: "Outcomes", bounds: Floats, taken: Array) -> Floats:
    """Return the bounds, replaced by gains for all images that can still be the best.

    The other images keep their bounds, which are below the best gain, so they cannot be chosen in this step.
    """
    beliefs = problem.beliefs()
    order = np.argsort(-np.where(taken, -np.inf, bounds), kind="stable")[: problem.images - int(taken.sum())]
    gains = bounds.copy()
    best, at = -np.inf, 0
    size = max(1, _ELEMENTS // (len(outcomes.weights) * beliefs.classes))
    while at < len(order) and bounds[order[at]] >= best - _EQUAL:
        chunk = order[at : at + size]
        gains[chunk] = outcomes.gain(beliefs.probs_at(chunk))
        best = max(best, float(gains[chunk].max()))
        at += size
    return gains


class Outcomes:
    """Joint outcomes of the picks' labels: the probability of each, and its posterior over members."""

    def __init__(self, mass: Floats, weights: Array, exact: bool, most: int) -> None:
        self.mass = mass
        """(J,): probability of each outcome, summing to 1."""
        self.weights = weights
        """(J, M): posterior of the members given each outcome, rows summing to 1."""
        self.exact = exact
        """Whether these are all outcomes rather than samples."""
        self.most = most
        """The largest number of outcomes; with more of them, this many are sampled."""

    @staticmethod
    def initial(members: int, most: int) -> "Outcomes":
        """Return the single empty outcome before the first pick."""
        return Outcomes(np.ones(1), np.full((1, members), 1.0 / members), True, most)

    def gain(self, probs_MBC: Floats) -> Floats:
        """Return (B,): Σ_j mass_j (H[Σ_m weight_jm p_m(x)] − Σ_m weight_jm H[p_m(x)]).

        Of all outcomes, the mean weight of each member is 1/M. Of samples it is not, and both entropies have to be
        weighted alike: each term is then a mutual information, at least 0, and its sampling errors cancel.
        """
        M, B, C = probs_MBC.shape
        predicted = (self.weights @ probs_MBC.reshape(M, B * C)).reshape(-1, B, C)
        conditional = (self.mass @ self.weights) @ uncertainty.entropies(probs_MBC)
        return np.maximum(self.mass @ uncertainty.entropies(predicted) - conditional, 0.0)

    def extend(self, probs_MC: Floats, generator: np.random.Generator) -> "Outcomes":
        """Return the outcomes with the label of one more pick: all of them if there are few enough, else samples."""
        J, (M, C) = len(self.mass), probs_MC.shape
        if self.exact and self.most >= J * C:
            joint = (self.weights[:, None, :] * probs_MC.T[None]).reshape(J * C, M)
            mass = np.repeat(self.mass, C) * joint.sum(axis=1)
            possible = mass > 0
            return Outcomes(mass[possible], _normalise_rows(joint[possible]), True, self.most)
        rows = np.arange(J)
        if self.exact:
            rows = generator.choice(J, size=self.most, p=self.mass / self.mass.sum())
        weights = self.weights[rows]
        labels = _sample_classes(weights @ probs_MC, generator)
        joint = weights * probs_MC[:, labels].T
        return Outcomes(np.full(len(rows), 1.0 / len(rows)), _normalise_rows(joint), False, self.most)


def _normalise_rows(joint: Floats) -> Floats:
    total: Floats = joint.sum(axis=1, keepdims=True)
    return joint / total


def _sample_classes(probs_JC: Floats, generator: np.random.Generator) -> Ints:
    """Sample one class from each row, never one of probability 0."""
    cumulative = np.cumsum(probs_JC, axis=1)
    at = generator.random(len(cumulative)) * cumulative[:, -1]
    drawn: Ints = (cumulative <= at[:, None]).sum(axis=1, dtype=np.int64)
    last: Ints = probs_JC.shape[1] - 1 - (probs_JC[:, ::-1] > 0).argmax(axis=1)
    return np.minimum(drawn, last)
