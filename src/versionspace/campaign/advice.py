"""Whether to stop, as a light and one sentence: from the rounds so far, for a person who labels.

red     go on: the next labels still change the classifiers much, or nothing is known yet
amber   one may stop, but something speaks against it, and the sentence says what
green   members agree, more labels change little, and the audit says how good they are

Agreement alone never gives green: members may agree and be wrong (Liu et al. 2020, section 6). Only labels that were
drawn uniformly and never trained on, the audit's, tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from versionspace.campaign.stop_rules import Rule
from versionspace.store.metrics import RoundMetrics

Light = Literal["red", "amber", "green"]

FLAT_ROUNDS = 3
FLAT_WITHIN = 0.01
"""The diameter is flat when it moved by no more than this, or a tenth of itself, over so many rounds."""
AUDITED = 20
"""An audit of fewer images has an interval too wide to be of use."""
FEW = 5
"""A class with fewer labels is not known well."""


@dataclass(frozen=True)
class Advice:
    """A light and why."""

    light: Light
    sentence: str


def advice(
    rounds: Sequence[RoundMetrics], *, total: int, spent: int, rule: Rule | None = None, aim: float = 0.9
) -> Advice:
    """The light after these rounds' metrics; ``aim`` is the accuracy on the audit that is good enough.

    >>> advice([], total=300, spent=4).light
    'red'
    >>> one = RoundMetrics(labels=90, classes={"cat": 45, "dog": 45}, fit=1.0, consistent=1.0, epochs=30.0,
    ...                    diameter=0.02, kappa=None, audit=None, votes_sha256="", sets={})
    >>> print(advice([one] * 5, total=300, spent=90).sentence)
    The diameter is flat at 2.0%, but no audit says whether the members are right.
    """
    if not rounds:
        return Advice("red", "No model yet: the first one is trained once the classes have examples.")
    last = rounds[-1]
    moved = _moved(rounds)
    flat = moved is not None and moved <= max(FLAT_WITHIN, 0.1 * last.diameter)
    fired = rule.reason(rounds) if rule else ""
    over = spent >= total
    if not (flat or fired or over):
        return Advice("red", _go_on(rounds, moved))
    why = "The budget is spent" if over else _sentence(fired) if fired else f"The diameter is flat at {_of(last)}"
    doubts = _doubts(last, aim)
    if doubts:
        return Advice("amber", f"{why}, but {doubts}.")
    if over and not flat and moved is not None:
        return Advice("amber", f"{why}, but the diameter still moved by {moved:.1%} in the last {FLAT_ROUNDS} rounds.")
    return Advice("green", f"{why}, and {_audit(last)}.")


def _moved(rounds: Sequence[RoundMetrics]) -> float | None:
    """By how much the diameter moved in the last rounds; None where there are too few."""
    if len(rounds) <= FLAT_ROUNDS:
        return None
    found = [r.diameter for r in rounds[-FLAT_ROUNDS - 1 :]]
    return max(found) - min(found)


def _go_on(rounds: Sequence[RoundMetrics], moved: float | None) -> str:
    last = rounds[-1]
    known = f" {_sentence(_audit(last))}." if last.audit else ""
    if moved is None:
        left = FLAT_ROUNDS + 1 - len(rounds)
        more = "one more round shows" if left == 1 else f"{left} more rounds show"
        return f"Too early to tell: the diameter is {_of(last)}, and {more} whether it falls.{known}"
    return f"Labels still help: the diameter moved by {moved:.1%} in {FLAT_ROUNDS} rounds, to {_of(last)}.{known}"


def _doubts(last: RoundMetrics, aim: float) -> str:
    """The first thing that speaks against stopping."""
    audit = last.audit
    rare = min(last.classes.items(), key=lambda item: item[1], default=("", FEW))
    if not last.samples_version_space:
        return f"members give back only {last.fit:.1%} of their labels: look for wrong ones, or try another net"
    if audit is None or audit.accuracy is None:
        return "no audit says whether the members are right"
    if audit.images < AUDITED:
        return f"only {audit.images} audit images are labelled: {AUDITED} would tell how good it is"
    if rare[1] < FEW:
        count = "no label" if rare[1] == 0 else "one label" if rare[1] == 1 else f"{rare[1]} labels"
        return f"“{rare[0]}” has {count} to learn from"
    if audit.accuracy < aim:
        return f"{_audit(last)}: more of the same may not help; look at the mistakes"
    return ""


def _audit(last: RoundMetrics) -> str:
    audit = last.audit
    assert audit is not None
    return f"the audit puts accuracy at {audit.accuracy:.0%} ({audit.low:.0%} to {audit.high:.0%})"


def _of(last: RoundMetrics) -> str:
    return f"{last.diameter:.1%}"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
