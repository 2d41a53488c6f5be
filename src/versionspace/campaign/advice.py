"""Advice whether to stop, for a person who labels: a traffic light and what to do next, from the rounds so far.

red     continue: the members' disagreement still moves, or it is too early to tell
amber   the disagreement no longer moves, but the sentence says what speaks against stopping, and what to do about it
green   the disagreement no longer moves, and a check of the audit assures the accuracy that the person wants

Agreement alone never yields green: members may agree and be wrong (Liu et al. 2020, section 6). Only the audit can
tell, since its images are drawn uniformly and never trained on; and it is the lower bound of a check
(`versionspace.campaign.audit_checks`) that has to reach the target. The budget has no say: the same rounds give the
same advice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from versionspace.campaign.audit_checks import (
    MOST_IMAGES,
    Check,
    audit_checks,
    images_needed,
    next_check_size,
    right_answers,
)
from versionspace.campaign.stop_rules import Rule, accuracy, audit
from versionspace.store import RoundMetrics

Light = Literal["red", "amber", "green"]
Case = Literal[
    "no model", "early", "falling", "rising", "unsteady", "fit", "class", "no audit", "unchecked", "low", "unsure",
    "done",
]  # fmt: skip

FLAT_ROUNDS = 3
"""Number of models over which the diameter must hardly change to be called flat."""
FLAT_WITHIN = 0.02
"""The largest such change; a tenth of the diameter if that is more."""
WORTH_LABELLING = 50
"""Random images that are worth labelling to be sure, or as many as there are labels if that is more."""
_LOOK_BACK = 50
"""Rounds that are enough to tell whether the diameter is flat."""
MIN_PER_CLASS = 5
"""The fewest labels of a class that are enough to stop."""


@dataclass(frozen=True)
class Advice:
    """A light and the reason for it."""

    light: Light
    case: Case
    sentence: str
    random_images: int = 0
    """Number of random images to label next, for a check of the audit; 0 if the advice is another."""


def stop_advice(
    rounds: Sequence[RoundMetrics],
    *,
    target: float,
    confidence: float = 0.95,
    rule: Rule | None = None,
    available: int = MOST_IMAGES,
) -> Advice:
    """Return the advice after these rounds.

    Args:
        rounds: all of them, the first one first.
        target: the accuracy that is good enough, as a share.
        confidence: of the checks of the audit.
        rule: the campaign's stop rule.
        available: number of random images that may still be labelled for the audit.

    >>> stop_advice([], target=0.9).light
    'red'
    >>> some = [RoundMetrics(labels=90 + 10 * n, classes={"cat": 45, "dog": 45}, fit=1.0, consistent=1.0, epochs=30.0,
    ...                      diameter=0.02, kappa=None, audit=None, votes_sha256="", sets={}) for n in range(5)]
    >>> print(stop_advice(some, target=0.9).sentence)
    The disagreement stays at 2.0%, but nothing tells yet if the model is right: label 20 random images to check it.
    """
    if not rounds:
        return Advice(
            "red", "no model", "No model yet: the first one is trained once two classes have two labels each."
        )
    models = _latest_by_labels(rounds)
    moved = _movement(models)
    reason = rule.reason(rounds) if rule else ""
    if not reason and (moved is None or moved.direction != "flat"):
        return _continue(models, moved)
    why = _capitalise(reason) if reason else f"The disagreement stays at {_share(rounds[-1].diameter)}"
    problem = _problem(rounds[-1])
    if problem is not None:
        return Advice("amber", problem.case, f"{why}, but {problem.clause}.")
    settled = [_is_settled(rounds[: number + 1], rule) for number in range(len(rounds))]
    return _verdict(rounds[-1], audit_checks(rounds, settled, confidence), target, confidence, available, why)


def _verdict(
    last: RoundMetrics, checks: Sequence[Check], target: float, confidence: float, available: int, why: str
) -> Advice:
    """Return the advice for members that have settled: what the audit says, and what it takes to know more."""
    seen = last.audit.images if last.audit else 0
    if seen + available < next_check_size([]):
        told = "no audit tells whether the members are right: compare some images that you draw at random"
        return Advice("amber", "no audit", f"{why}, but {told}.")
    passed = checks[-1] if checks else None
    if passed is not None and passed.low >= target:
        of = f"{passed.right} of {passed.images} random images"
        found = f"{of} are" if passed.labels == last.labels else f"with {passed.labels} labels, {of} were"
        told = f"{_capitalise(found)} right: at least {_floor(passed.low)} of all ({confidence:.0%} confidence)"
        return Advice("green", "done", f"{told}. You want {target:.0%}: take the results.")
    if passed is None and seen < next_check_size([]):
        more = next_check_size([]) - seen
        told = "nothing tells yet if the model is right: label"
        return Advice(
            "amber", "unchecked", f"{why}, but {told} {more}{' more' if seen else ''} random images to check it.", more
        )
    assert last.audit is not None
    right = right_answers(last.audit)
    if right < target * seen:
        told = f"only {right} of {seen} random images are right, not {target:.0%}"
        return Advice("amber", "low", f"{why}, but {told}: look at the mistakes, and label more.")
    needed = images_needed(last.audit, checks, target, confidence)
    low = passed.low if passed else last.audit.low  # a rule on the audit ended the campaign before any check
    told = f"{right} of {seen} random images are right, which assures only {_floor(low)}, not {target:.0%}"
    more = MOST_IMAGES if needed is None else max(1, needed - seen)
    if more > min(available, max(WORTH_LABELLING, last.labels)):
        return Advice("amber", "unsure", f"{told}. That takes {more:,} more: improve the model, or lower the target.")
    return Advice("amber", "unsure", f"{told}: label {more} more random images, or improve the model.", more)


def _latest_by_labels(rounds: Sequence[RoundMetrics]) -> list[RoundMetrics]:
    """Return the rounds without those that were followed by another one with as many labels.

    Only new labels can show a trend: members that are trained again on the same ones always seem to have settled.
    """
    return [
        r for r, later in zip(rounds, [*rounds[1:], None], strict=True) if later is None or later.labels != r.labels
    ]


@dataclass(frozen=True)
class _Movement:
    direction: Literal["falling", "rising", "unsteady", "flat"]
    start: float
    least: float
    most: float


def _movement(models: Sequence[RoundMetrics]) -> _Movement | None:
    """Return where the diameter went over the last models; None if there are too few."""
    if len(models) <= FLAT_ROUNDS:
        return None
    diameters = [r.diameter for r in models[-FLAT_ROUNDS - 1 :]]
    within = max(FLAT_WITHIN, 0.1 * diameters[-1])
    start, least, most = diameters[0], min(diameters), max(diameters)
    if abs(diameters[-1] - start) > within:
        return _Movement("rising" if diameters[-1] > start else "falling", start, least, most)
    return _Movement("unsteady" if most - least > 2 * within else "flat", start, least, most)


def _continue(models: Sequence[RoundMetrics], moved: _Movement | None) -> Advice:
    """Return why to continue."""
    last = models[-1]
    some = last.audit and last.audit.images
    known = f" So far {right_answers(last.audit)} of {some} random images are right." if last.audit and some else ""
    if moved is None:
        left = FLAT_ROUNDS + 1 - len(models)
        more = "one more model shows" if left == 1 else f"{left} more models show"
        told = f"Too early to tell: the members disagree on {_share(last.diameter)}; {more} the trend.{known}"
        return Advice("red", "early", told)
    change = f"from {_share(moved.start)} to {_share(last.diameter)} in {FLAT_ROUNDS} models"
    match moved.direction:
        case "rising":
            return Advice("red", "rising", f"Something new appeared: the disagreement rose {change}.{known}")
        case "unsteady":
            swing = f"the disagreement swings between {_share(moved.least)} and {_share(moved.most)}"
            return Advice("red", "unsteady", f"Not settled yet: {swing}.{known}")
    return Advice("red", "falling", f"Labels still help: the disagreement fell {change}.{known}")


@dataclass(frozen=True)
class _Problem:
    case: Case
    clause: str


def _problem(last: RoundMetrics) -> _Problem | None:
    """Return what speaks against stopping and needs no audit, and what to do about it; None if nothing does."""
    if not last.samples_version_space:
        told = f"members reproduce only {last.fit:.1%} of their labels: look for wrong labels, or try another network"
        return _Problem("fit", told)
    rarest, labels = min(last.classes.items(), key=lambda item: item[1], default=("", MIN_PER_CLASS))
    unseen = sum(count == 0 for count in last.classes.values())
    if unseen > 1:
        told = (
            f"{unseen} classes were never seen, such as “{rarest}”: look for them, or delete those that no image shows"
        )
        return _Problem("class", told)
    if labels == 0:
        return _Problem("class", f"“{rarest}” was never seen: look for it, or delete the class if no image shows it")
    if labels < MIN_PER_CLASS:
        count = "one label" if labels == 1 else f"{labels} labels"
        return _Problem("class", f"“{rarest}” has only {count}: look for more of it, or delete the class")
    return None


def _is_settled(rounds: Sequence[RoundMetrics], rule: Rule | None) -> bool:
    """Return whether these rounds end with members that are worth a check. Does not depend on the audit."""
    if _problem(rounds[-1]) is not None:
        return False
    moved = _movement(_latest_by_labels(rounds[-_LOOK_BACK:]))
    measured = rule is None or any(isinstance(one, audit | accuracy) for one in rule.basic_rules())
    return (moved is not None and moved.direction == "flat") or (not measured and bool(rule and rule.reason(rounds)))


def _share(value: float) -> str:
    return f"{value:.1%}"


def _floor(value: float) -> str:
    """Return a share in percent, rounded down: a bound must not be overstated."""
    return f"{int(100 * value)}%"


def _capitalise(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
