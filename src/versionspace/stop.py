"""Stop rules on arrays, for a loop of your own: each returns whether to stop, and why.

    diameter(votes, at_most)              PWD on the reference images is small; half of it is a lower bound on the
                                          members' mean error
    flat(diameters, rounds, within)       PWD changed little over the last rounds
    kappa(before, after, at_least)        the vote changed little since the round before, beyond what chance explains
    audit(correct, n, rounds, at_least)   the accuracy on images drawn at random is high, at 95% confidence

Members that agree may agree on what is wrong: combine the others with an audit. The same rules by name, for campaigns,
are in docs/campaigns.md.

>>> import versionspace as vs
>>> bool(vs.stop.diameter([[0, 1, 1, 0], [0, 1, 1, 0]], at_most=0.02) and vs.stop.audit(190, 200, at_least=0.9))
True
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from versionspace.errors import InputError
from versionspace.space import describe, majority_of, pairwise_disagreement, read_beliefs
from versionspace.types import Array, ArrayLike, is_count, is_number


@dataclass(frozen=True)
class Verdict:
    """Whether a rule holds; true in a condition if it does."""

    stop: bool
    value: float
    """What the rule looks at; NaN if there were too few rounds to compute it."""
    reason: str

    def __bool__(self) -> bool:
        return self.stop


def diameter(votes: ArrayLike, at_most: float = 0.02) -> Verdict:
    """Return whether the members' mean pairwise disagreement (PWD) on reference images is at most ``at_most``.

    Votes (M, T) or probabilities (M, T, C), of at least two members.

    >>> diameter([[0, 1, 1, 0], [0, 1, 1, 1]], at_most=0.1).reason
    'the diameter is 25.0%, more than 10.0%'
    """
    limit = _read_share("at_most", at_most)
    if read_beliefs(votes, "votes").members < 2:
        raise InputError(
            "votes",
            expected="at least 2 members",
            got="1",
            fix="One model has no diameter: train several, or use audit.",
        )
    value = pairwise_disagreement(votes)
    return Verdict(value <= limit, value, f"the diameter is {value:.1%}, {_compare(value <= limit)} {limit:.1%}")


def flat(diameters: Sequence[float], rounds: int = 3, within: float = 0.002) -> Verdict:
    """Return whether the diameter changed by at most ``within`` over the last ``rounds`` rounds.

    ``diameters``: one number for each round so far, as `versionspace.pairwise_disagreement` returns.

    >>> bool(flat([0.3, 0.1, 0.101, 0.1], rounds=2)), bool(flat([0.1, 0.1], rounds=2))
    (True, False)
    """
    limit = _read_share("within", within)
    if not is_count(rounds):
        raise InputError("rounds", expected="a whole number of at least 1", got=repr(rounds), fix="The default is 3.")
    if not all(is_number(value) for value in diameters):
        raise InputError(
            "diameters", expected="a finite number for each round", got=repr(list(diameters)),
            fix="Pass what versionspace.pairwise_disagreement returned after each round.",
        )  # fmt: skip
    if len(diameters) <= rounds:
        return Verdict(False, math.nan, f"{len(diameters)} rounds, fewer than {rounds + 1}")
    last = list(diameters)[-rounds - 1 :]
    change = float(max(last) - min(last))
    holds = change <= limit
    return Verdict(
        holds, change, f"the diameter changed by {change:.1%} in {rounds} rounds, {_compare(holds)} {limit:.1%}"
    )


def kappa(before: ArrayLike, after: ArrayLike, at_least: float = 0.99) -> Verdict:
    """Return whether Cohen's kappa between the votes of two consecutive rounds is at least ``at_least``.

    ``before``, ``after``: classes (N,) predicted for the same images, as `versionspace.majority_vote` returns;
    or votes (M, N) or probabilities (M, N, C), of which the majority vote is taken.

    >>> kappa([0, 0, 1, 1], [0, 0, 1, 1]).value, kappa([0, 0, 1, 1], [0, 1, 0, 1]).value
    (1.0, 0.0)
    """
    limit = _read_share("at_least", at_least)
    first, second = _read_classes(before, "before"), _read_classes(after, "after")
    if len(first) != len(second):
        raise InputError(
            "after", expected=f"{len(first)} images, as before has", got=str(len(second)),
            fix="Predict the same images after each round.",
        )  # fmt: skip
    value = cohens_kappa(first, second)
    word = "at least" if value >= limit else "less than"
    return Verdict(value >= limit, value, f"kappa between rounds is {value:.3f}, {word} {limit:.3f}")


def audit(correct: int, n: int, rounds: int = 1, at_least: float = 0.9) -> Verdict:
    """Return whether the accuracy is at least ``at_least`` at 95% confidence, by images drawn at random.

    The value is a lower bound (Clopper and Pearson 1934). Whoever looks after each of several rounds and stops at the
    first success errs more often: the 5% are divided by ``rounds``, the number of looks that were planned.

    Args:
        correct: of how many audit images the vote is right.
        n: the number of audit images, drawn at random and used for nothing else.
        rounds: how often the audit is looked at.
        at_least: the accuracy wanted.

    >>> round(audit(190, 200).value, 3), bool(audit(190, 200)), bool(audit(190, 200, rounds=100, at_least=0.9))
    (0.917, True, False)
    """
    limit = _read_share("at_least", at_least)
    if not (is_count(n) and is_count(rounds)) or isinstance(correct, bool) or not 0 <= correct <= n:
        raise InputError(
            "audit", expected="0 ≤ correct ≤ n, and n and rounds whole numbers of at least 1",
            got=f"correct={correct!r}, n={n!r}, rounds={rounds!r}", fix="Pass counts of images.",
        )  # fmt: skip
    value = lower_bound(int(correct), int(n), 0.05 / rounds)
    word = "at least" if value >= limit else "less than"
    return Verdict(value >= limit, value, f"by the audit, the accuracy is {value:.1%} or more, {word} {limit:.1%}")


def lower_bound(correct: int, n: int, error: float) -> float:
    """Return the largest p with P(at least ``correct`` of n | p) ≤ ``error``: Clopper and Pearson's one-sided bound."""
    if correct == 0:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_least(correct, n, middle) <= error else (low, middle)
    return low


def _at_least(correct: int, n: int, p: float) -> float:
    """Return P(at least ``correct`` of n successes), each of probability 0 < p < 1."""
    i = np.arange(correct, n + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    logs = factorials[n] - factorials[i] - factorials[n - i] + i * math.log(p) + (n - i) * math.log1p(-p)
    return float(np.exp(logs).sum())


def cohens_kappa(first: Array, second: Array) -> float:
    """Return Cohen's kappa of two classifications of the same images; 1 if both are the same single class."""
    classes, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    counts = [np.bincount(part, minlength=len(classes)) / len(first) for part in np.split(codes, 2)]
    agreed, chance = float((first == second).mean()), float(counts[0] @ counts[1])
    return 1.0 if chance == 1.0 else (agreed - chance) / (1.0 - chance)


def _read_classes(given: ArrayLike, name: str) -> Array:
    array = np.asarray(given)
    if array.ndim == 1 and len(array) and array.dtype.kind in "iubUO":
        return array
    if array.ndim in (2, 3):
        return majority_of(read_beliefs(given, name))
    raise InputError(
        name, expected="predicted classes (N,), votes (M, N) or probabilities (M, N, C)", got=describe(array),
        fix="Pass what versionspace.majority_vote returned.",
    )  # fmt: skip


def _read_share(name: str, value: object) -> float:
    if not is_number(value) or not 0 <= value <= 1:
        raise InputError(name, expected="a number from 0 to 1", got=repr(value), fix="Shares are not percentages.")
    return float(value)


def _compare(holds: bool) -> str:
    return "at most" if holds else "more than"
