"""The metrics of a round: accuracy, diameters, agreement and bias on a set of images, kappa between rounds, the audit.

Also: the methods of a grid that chose the same images. With few members all candidates tie, and the same random
tie-break chooses for each of these methods.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from versionspace.extras import require
from versionspace.space import (
    agreement_region,
    gibbs_vote_disagreement,
    pairwise_disagreement,
    wrong_agreement,
)
from versionspace.store import AuditMetrics, Record, SetMetrics
from versionspace.types import Array


def set_metrics(votes_MN: Array, majority_N: Array, truth_N: Array | None) -> SetMetrics:
    """Return the metrics on one set of images. Cost M²·N.

    Error = wrong agreement + distance, for a random member (Gibbs) and for the vote.

    >>> set_metrics(np.array([[0, 0, 1], [0, 1, 1]]), np.array([0, 0, 1]), np.array([0, 0, 0])).wrong_agreement
    0.3333333333333333
    """
    agree_N = agreement_region(votes_MN)
    known = SetMetrics(
        images=int(votes_MN.shape[1]),
        pwd=pairwise_disagreement(votes_MN),
        gvd=float((votes_MN != majority_N).mean()),
        gvd_hard=gibbs_vote_disagreement(votes_MN, vote="hard"),
        agreement=float(agree_N.mean()),
    )
    if truth_N is None:
        return known
    right_MN = votes_MN == truth_N
    members = right_MN.mean(axis=1)
    return replace(
        known,
        accuracy=float(right_MN.mean()),
        accuracy_deviation=float(members.std(ddof=1)) if len(members) > 1 else 0.0,
        vote_accuracy=float((majority_N == truth_N).mean()),
        wrong_agreement=wrong_agreement(votes_MN, truth_N),
        gibbs_distance=float((~agree_N & ~right_MN).mean()),
        vote_distance=float((~agree_N & (majority_N != truth_N)).mean()),
    )


def kappa(before_N: Array, now_N: Array) -> float:
    """Return Cohen's kappa between the votes of two rounds: 1 if they are equal, 0 if they agree only by chance.

    Bloodgood and Vijay-Shanker (2009) stop when it stays near 1.

    >>> kappa(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]))
    0.5
    """
    classes = int(max(before_N.max(), now_N.max())) + 1
    same = float((before_N == now_N).mean())
    shares = np.bincount(before_N, minlength=classes) * np.bincount(now_N, minlength=classes) / len(now_N) ** 2
    chance = float(shares.sum())
    return 1.0 if chance >= 1.0 else (same - chance) / (1.0 - chance)


def audit_metrics(
    majority_by_id: Mapping[Any, int], answers: Mapping[Any, int], round_: int, confidence: float
) -> AuditMetrics:
    """Return the vote's accuracy on the audit, with an interval that holds in all rounds at once.

    In round t = 1, 2, … it is the exact binomial interval (Clopper and Pearson 1934) of level 1 − α/(t(t+1)): the error
    probabilities add up to at most α over any number of rounds, and the votes do not depend on the audit's labels.

    >>> metrics = audit_metrics({1: 0, 2: 1}, {1: 0, 2: 1}, 1, 0.95)
    >>> metrics.accuracy, round(metrics.low, 3), metrics.high
    (1.0, 0.112, 1.0)
    """
    beta = require("scipy.stats").beta

    n = len(answers)
    right = sum(majority_by_id[i] == name for i, name in answers.items())
    alpha = (1.0 - confidence) / (round_ * (round_ + 1))
    low = float(beta.ppf(alpha / 2, right, n - right + 1)) if right else 0.0
    high = float(beta.ppf(1 - alpha / 2, right + 1, n - right)) if right < n else 1.0
    return AuditMetrics(n, right / n if n else None, low, high if n else 1.0)


def indistinguishable_methods(records: Iterable[Record]) -> dict[tuple[str, ...], list[int]]:
    """Return groups of methods that asked for the same images in every query, all of them tied, and for which seeds."""
    same: dict[tuple[int, tuple[frozenset[object], ...]], list[str]] = {}
    for record in records:
        queries = [r for r in record.rounds if r.purpose == "query" and r.asked]
        if queries and all(len(r.asked) > 1 and len(set(r.utilities)) == 1 for r in queries):
            same.setdefault((record.seed, tuple(frozenset(r.asked) for r in queries)), []).append(record.method)
    seeds: dict[tuple[str, ...], list[int]] = {}
    for (seed, _), methods in same.items():
        if len(methods) > 1:
            seeds.setdefault(tuple(methods), []).append(seed)
    return seeds


def describe_indistinguishable(records: Iterable[Record], label: Callable[[str], str] = str) -> list[str]:
    """Return a sentence for each group of `indistinguishable_methods`. ``label``: returns the name of a method."""
    campaigns = list(records)
    members = {record.method: record.config.ensemble.members for record in campaigns}
    return [
        f"{', '.join(map(label, methods[:-1]))} and {label(methods[-1])} asked for the same images in every query "
        f"(seed {', '.join(map(str, sorted(seeds)))}): all candidates tied, and the same random tie-break chose for "
        f"each method. {members[methods[0]]} members are too few to distinguish these methods; use more "
        "(ensemble.members)."
        for methods, seeds in indistinguishable_methods(campaigns).items()
    ]
