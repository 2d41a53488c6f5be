"""Advice whether to stop, for a person who labels: a traffic light and one sentence, from the rounds so far.

red     continue: new labels still change the classifiers considerably, or it is too early to tell
amber   stopping is possible, but the sentence says what speaks against it
green   members agree, new labels change little, and the audit shows how accurate they are

Agreement alone never yields green: members may agree and be wrong (Liu et al. 2020, section 6). Only the audit can
tell, since its images are drawn uniformly and never trained on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from versionspace.campaign.stop_rules import Rule
from versionspace.store import RoundMetrics

Light = Literal["red", "amber", "green"]

FLAT_ROUNDS = 3
"""Number of rounds over which the diameter must hardly change to be called flat."""
FLAT_WITHIN = 0.01
"""The largest such change; a tenth of the diameter if that is more."""
MIN_AUDIT = 20
"""The interval of an audit of fewer images is too wide to be useful."""
MIN_PER_CLASS = 5
"""The fewest labels of a class that are enough to stop."""


@dataclass(frozen=True)
class Advice:
    """A light and the reason for it."""

    light: Light
    sentence: str


def stop_advice(
    rounds: Sequence[RoundMetrics], *, total: int, spent: int, rule: Rule | None = None, aim: float = 0.9
) -> Advice:
    """Return the advice after these rounds.

    ``total``, ``spent``: the budget, and the labels given so far. ``rule``: the campaign's stop rule. ``aim``: the
    accuracy on the audit that is good enough.

    >>> stop_advice([], total=300, spent=4).light
    'red'
    >>> one = RoundMetrics(labels=90, classes={"cat": 45, "dog": 45}, fit=1.0, consistent=1.0, epochs=30.0,
    ...                    diameter=0.02, kappa=None, audit=None, votes_sha256="", sets={})
    >>> print(stop_advice([one] * 5, total=300, spent=90).sentence)
    The diameter is flat at 2.0%, but there is no audit to tell whether the members are right.
    """
    if not rounds:
        return Advice("red", "No model yet: the first one is trained once the classes have examples.")
    last = rounds[-1]
    change = _change(rounds)
    flat = change is not None and change <= max(FLAT_WITHIN, 0.1 * last.diameter)
    reason = rule.reason(rounds) if rule else ""
    over = spent >= total
    if not (flat or reason or over):
        return Advice("red", _continue(rounds, change))
    why = "The budget is spent" if over else _capitalise(reason) if reason else f"The diameter is flat at {_size(last)}"
    doubt = _doubt(last, aim)
    if doubt:
        return Advice("amber", f"{why}, but {doubt}.")
    if over and not flat and change is not None:
        return Advice("amber", f"{why}, but the diameter still changed by {change:.1%} in {FLAT_ROUNDS} rounds.")
    return Advice("green", f"{why}, and {_audit(last)}.")


def _change(rounds: Sequence[RoundMetrics]) -> float | None:
    """Return the change of the diameter over the last rounds; None if there are too few."""
    if len(rounds) <= FLAT_ROUNDS:
        return None
    diameters = [r.diameter for r in rounds[-FLAT_ROUNDS - 1 :]]
    return max(diameters) - min(diameters)


def _continue(rounds: Sequence[RoundMetrics], change: float | None) -> str:
    """Return why to continue."""
    last = rounds[-1]
    audit = f" {_capitalise(_audit(last))}." if last.audit and last.audit.accuracy is not None else ""
    if change is None:
        left = FLAT_ROUNDS + 1 - len(rounds)
        more = "one more round shows" if left == 1 else f"{left} more rounds show"
        return f"Too early to tell: the diameter is {_size(last)}, and {more} whether it falls.{audit}"
    return f"Labels still help: the diameter changed by {change:.1%} in {FLAT_ROUNDS} rounds, to {_size(last)}.{audit}"


def _doubt(last: RoundMetrics, aim: float) -> str:
    """Return the first reason not to stop; an empty string if there is none."""
    audit = last.audit
    rarest, labels = min(last.classes.items(), key=lambda item: item[1], default=("", MIN_PER_CLASS))
    if not last.samples_version_space:
        return f"members reproduce only {last.fit:.1%} of their labels: look for wrong labels, or try another network"
    if audit is None or audit.accuracy is None:
        return "there is no audit to tell whether the members are right"
    if audit.images < MIN_AUDIT:
        return f"only {audit.images} audit images are labelled: {MIN_AUDIT} are needed to estimate the accuracy"
    if labels < MIN_PER_CLASS:
        count = "no labels" if labels == 0 else "only one label" if labels == 1 else f"only {labels} labels"
        return f"“{rarest}” has {count}"
    if audit.accuracy < aim:
        return f"{_audit(last)}: more labels of the same kind may not help; look at the mistakes"
    return ""


def _audit(last: RoundMetrics) -> str:
    audit = last.audit
    assert audit is not None
    return f"the audit estimates the accuracy at {audit.accuracy:.0%} ({audit.low:.0%} to {audit.high:.0%})"


def _size(last: RoundMetrics) -> str:
    return f"{last.diameter:.1%}"


def _capitalise(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
