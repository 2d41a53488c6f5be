"""Agreement and bias: where all members say the same, and how often they are wrong together.

    AGR                          the images on which all M votes are the same; DIS is the rest
    wrong agreement              (images in AGR whose common vote is wrong) / N
    distance to the projection   (images in DIS on which a hypothesis is wrong) / N

Error = wrong agreement + distance to the projection, exactly, for every hypothesis. Liu et al. 2020, section 6.
"""

from dataclasses import dataclass

from versionspace.space.beliefs import read, read_truth
from versionspace.space.diameter import read_vote, vote_of
from versionspace.types import Array, ArrayLike, Bools, Vote


def agreement_of(votes_MN: Array) -> Bools:
    """(N,): True where all members vote the same."""
    agree: Bools = (votes_MN == votes_MN[0]).all(axis=0)
    return agree


def agreement_region(votes: ArrayLike) -> Bools:
    """AGR: True on the images on which all members vote the same. Votes (M, N) or probabilities. Cost M·N.

    >>> agreement_region([[0, 0], [0, 1]])
    array([ True, False])
    """
    return agreement_of(read(votes, "votes").votes)


def wrong_agreement(votes: ArrayLike, truth: ArrayLike) -> float:
    """The share of images on which all members vote the same and are wrong: the bias of the version space.

    Votes (M, N) or probabilities (M, N, C), true classes (N,). Cost M·N.

    >>> wrong_agreement([[0, 0, 1], [0, 1, 1]], truth=[0, 0, 0])
    0.3333333333333333
    """
    beliefs = read(votes, "votes")
    classes = read_truth(truth, beliefs)
    return float((agreement_of(beliefs.votes) & (beliefs.votes[0] != classes)).mean())


@dataclass(frozen=True)
class ProjectionDistance:
    """Distances to the projection of the truth onto what the members agree on."""

    gibbs: float
    """Of a member drawn at random: the mean over members."""
    vote: float
    """Of the majority vote."""


def projection_distance(probs: ArrayLike, truth: ArrayLike, vote: Vote = "soft") -> ProjectionDistance:
    """How far a random member, and the vote, are from the best hypothesis that agrees with all of AGR.

    Probabilities (M, N, C), or votes (M, N) with ``vote="hard"``; true classes (N,). Cost M·N·C.

    >>> projection_distance([[0, 0, 1], [0, 1, 1]], truth=[0, 0, 0], vote="hard")
    ProjectionDistance(gibbs=0.16666666666666666, vote=0.0)
    """
    beliefs = read(probs, "probs")
    classes = read_truth(truth, beliefs)
    differ = ~agreement_of(beliefs.votes)
    chosen = vote_of(beliefs, read_vote(vote))
    return ProjectionDistance(
        gibbs=float((differ & (beliefs.votes != classes)).mean()),
        vote=float((differ & (chosen != classes)).mean()),
    )
