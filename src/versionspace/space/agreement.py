"""Agreement and bias: where all members vote for the same class, and how often that class is wrong.

    AGR                          the images on which all M votes are equal; DIS is its complement
    wrong agreement              (images in AGR whose common vote is wrong) / N
    distance to the projection   (images in DIS on which a hypothesis is wrong) / N

Error = wrong agreement + distance to the projection, exactly, for every hypothesis. Liu et al. 2020, section 6.
"""

from dataclasses import dataclass

from versionspace.space.beliefs import read_beliefs, read_truth
from versionspace.space.diameter import read_vote, vote_of
from versionspace.types import Array, ArrayLike, Bools, Vote


def agreement_of(votes_MN: Array) -> Bools:
    """Return (N,): True where all members vote for the same class."""
    agree: Bools = (votes_MN == votes_MN[0]).all(axis=0)
    return agree


def agreement_region(votes: ArrayLike) -> Bools:
    """Return AGR as (N,): True on the images on which all members vote for the same class.

    Votes (M, N) or probabilities (M, N, C). Cost M·N.

    >>> agreement_region([[0, 0], [0, 1]])
    array([ True, False])
    """
    return agreement_of(read_beliefs(votes, "votes").votes)


def wrong_agreement(votes: ArrayLike, truth: ArrayLike) -> float:
    """Return the share of images on which all members agree on a wrong class: the bias of the version space.

    Votes (M, N) or probabilities (M, N, C), true classes (N,). Cost M·N.

    >>> wrong_agreement([[0, 0, 1], [0, 1, 1]], truth=[0, 0, 0])
    0.3333333333333333
    """
    beliefs = read_beliefs(votes, "votes")
    classes = read_truth(truth, beliefs)
    return float((agreement_of(beliefs.votes) & (beliefs.votes[0] != classes)).mean())


@dataclass(frozen=True)
class ProjectionDistance:
    """Distances to the projection: the hypothesis that agrees with the members on AGR and is correct on DIS."""

    gibbs: float
    """Of a member drawn at random: the mean over members."""
    vote: float
    """Of the majority vote."""


def projection_distance(probs: ArrayLike, truth: ArrayLike, vote: Vote = "soft") -> ProjectionDistance:
    """Return the distances of a random member and of the majority vote to the projection of the truth.

    The projection is the best of all hypotheses that agree with the members on AGR. Probabilities (M, N, C), or votes
    (M, N) with ``vote="hard"``; true classes (N,). Cost M·N·C.

    >>> projection_distance([[0, 0, 1], [0, 1, 1]], truth=[0, 0, 0], vote="hard")
    ProjectionDistance(gibbs=0.16666666666666666, vote=0.0)
    """
    beliefs = read_beliefs(probs, "probs")
    classes = read_truth(truth, beliefs)
    differ = ~agreement_of(beliefs.votes)
    majority = vote_of(beliefs, read_vote(vote))
    return ProjectionDistance(
        gibbs=float((differ & (beliefs.votes != classes)).mean()),
        vote=float((differ & (majority != classes)).mean()),
    )
