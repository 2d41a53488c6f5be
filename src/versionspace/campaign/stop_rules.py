"""Stop rules: conditions on the metrics of the rounds so far, combined with ``|`` and ``&``.

    budget(n)                       at least n labels were given for training; audit labels do not count
    accuracy(a, on="validation")    the members' mean accuracy on a labelled set is at least a
    diameter(d)                     PWD on the reference is at most d; needs no labels, and PWD/2 is a lower bound on
                                    the members' mean error
    flat(rounds, within)            PWD changed by at most ``within`` over this many rounds
    kappa(k, rounds=1)              kappa between the votes of consecutive rounds is at least k, this many times
    audit(a)                        the audit's lower bound on the accuracy of the vote is at least a

A small or flat diameter means that members agree, not that they are right: wrong agreement persists (Liu et al. 2020,
section 6). Combine it with an audit.

>>> rule = flat(2, 0.01) & audit(0.9) | budget(500)
>>> rule
flat(2, 0.01) & audit(0.9) | budget(500)
>>> parse_rule(str(rule)) == rule
True
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

from versionspace.errors import InputError
from versionspace.store import RoundMetrics
from versionspace.text import nearest
from versionspace.types import is_count, is_number

LABELLED_SETS = ("validation", "test", "pool", "reference")
"""The sets of images on which accuracy may be known."""


class Rule:
    """A condition on the rounds so far, evaluated after each round."""

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """Return why to stop after these rounds; an empty string if the rule does not hold."""
        raise NotImplementedError

    def basic_rules(self) -> Iterator["Rule"]:
        """Yield the rules that this one combines, or itself if it combines none."""
        yield self

    def __or__(self, other: "Rule") -> "Rule":
        return Either(self, other)

    def __and__(self, other: "Rule") -> "Rule":
        return Both(self, other)


@dataclass(frozen=True, repr=False)
class Either(Rule):
    """A rule that holds if one of two rules holds."""

    first: Rule
    second: Rule

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """Return the reason of the first rule that holds."""
        return self.first.reason(rounds) or self.second.reason(rounds)

    def basic_rules(self) -> Iterator[Rule]:
        """Yield the basic rules of both."""
        yield from self.first.basic_rules()
        yield from self.second.basic_rules()

    def __repr__(self) -> str:
        return f"{self.first} | {self.second}"


@dataclass(frozen=True, repr=False)
class Both(Rule):
    """A rule that holds if two rules hold."""

    first: Rule
    second: Rule

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """Return both reasons if both rules hold."""
        reasons = (self.first.reason(rounds), self.second.reason(rounds))
        return " and ".join(reasons) if all(reasons) else ""

    def basic_rules(self) -> Iterator[Rule]:
        """Yield the basic rules of both."""
        yield from self.first.basic_rules()
        yield from self.second.basic_rules()

    def __repr__(self) -> str:
        return " & ".join(f"({part})" if isinstance(part, Either) else str(part) for part in (self.first, self.second))


@dataclass(frozen=True, repr=False)
class _Basic(Rule):
    usage: ClassVar[str]
    """The arguments and their ranges, in words."""

    def __post_init__(self) -> None:
        if not self._is_valid():
            raise InputError("stop.when", expected=self.usage, got=repr(self), fix="See docs/campaigns.md.")

    def _is_valid(self) -> bool:
        """Return whether the arguments make sense: the rule neither always holds nor can never hold."""
        raise NotImplementedError

    def __repr__(self) -> str:
        values = [getattr(self, field.name) for field in fields(self)]
        return f"{type(self).__name__}({', '.join(repr(v) for v in values)})"


@dataclass(frozen=True, repr=False)
class budget(_Basic):  # noqa: N801 — rules are written in lower case
    """Enough labels were given for training; audit labels do not count."""

    usage = "budget(n) with n a whole number of at least 1"
    total: int

    def _is_valid(self) -> bool:
        return is_count(self.total)

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """Return the number of labels if it is reached."""
        return f"{self.total} labels were given" if rounds and rounds[-1].labels >= self.total else ""


@dataclass(frozen=True, repr=False)
class accuracy(_Basic):  # noqa: N801
    """The members' mean accuracy on a labelled set is high enough."""

    usage = f"accuracy(a, on) with a above 0 and at most 1, and on one of {', '.join(LABELLED_SETS)}"
    at_least: float
    on: str = "validation"

    def _is_valid(self) -> bool:
        return is_number(self.at_least) and 0 < self.at_least <= 1 and self.on in LABELLED_SETS

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """Return the accuracy if it is high enough."""
        metrics = rounds[-1].sets.get(self.on) if rounds else None
        value = None if metrics is None else metrics.accuracy
        if value is None or value < self.at_least:
            return ""
        return f"accuracy on {self.on} is {value:.1%}, at least {self.at_least:.1%}"


@dataclass(frozen=True, repr=False)
class diameter(_Basic):  # noqa: N801
    """PWD on the reference is small enough."""

    usage = "diameter(d) with d at least 0 and below 1"
    at_most: float

    def _is_valid(self) -> bool:
        return is_number(self.at_most) and 0 <= self.at_most < 1

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """Return the diameter if it is small enough."""
        value = rounds[-1].diameter if rounds else 1.0
        return f"the diameter is {value:.1%}, at most {self.at_most:.1%}" if value <= self.at_most else ""


@dataclass(frozen=True, repr=False)
class flat(_Basic):  # noqa: N801
    """PWD on the reference no longer changes."""

    usage = "flat(rounds, within) with rounds a whole number of at least 1, and within from 0 to 1"
    rounds: int
    within: float

    def _is_valid(self) -> bool:
        return is_count(self.rounds) and is_number(self.within) and 0 <= self.within <= 1

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """Return the change of the diameter if it is small enough."""
        if len(rounds) <= self.rounds:
            return ""
        diameters = [metrics.diameter for metrics in rounds[-self.rounds - 1 :]]
        change = max(diameters) - min(diameters)
        if change > self.within:
            return ""
        return f"the diameter changed by {change:.1%} in {self.rounds} rounds, at most {self.within:.1%}"


@dataclass(frozen=True, repr=False)
class kappa(_Basic):  # noqa: N801
    """The vote no longer changes from round to round."""

    usage = "kappa(k, rounds) with k above 0 and at most 1, and rounds a whole number of at least 1"
    at_least: float
    rounds: int = 1

    def _is_valid(self) -> bool:
        return is_number(self.at_least) and 0 < self.at_least <= 1 and is_count(self.rounds)

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """Return the smallest kappa if it is high enough."""
        kappas = [metrics.kappa for metrics in rounds[-self.rounds :] if metrics.kappa is not None]
        if len(kappas) < self.rounds or min(kappas) < self.at_least:
            return ""
        return f"kappa between rounds is {min(kappas):.3f}, at least {self.at_least:.3f}"


@dataclass(frozen=True, repr=False)
class audit(_Basic):  # noqa: N801
    """The lower end of the audit's interval is high enough."""

    usage = "audit(a) with a between 0 and 1"
    at_least: float

    def _is_valid(self) -> bool:
        return is_number(self.at_least) and 0 < self.at_least < 1

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """Return the lower bound if it is high enough."""
        metrics = rounds[-1].audit if rounds else None
        if metrics is None or metrics.low < self.at_least:
            return ""
        return f"by the audit, the accuracy of the vote is {metrics.low:.1%} or more, at least {self.at_least:.1%}"


RULES: dict[str, type[Rule]] = {rule.__name__: rule for rule in (budget, accuracy, diameter, flat, kappa, audit)}


def parse_rule(text: str) -> Rule | None:
    """Return the rule in a text; None if the text is empty. Raises InputError if it is not a rule.

    >>> parse_rule("diamter(0.1)")
    Traceback (most recent call last):
    versionspace.errors.InputError: stop.when: expected rules budget, accuracy, diameter, flat, kappa, audit joined by |
    and &, got 'diamter(0.1)'. Did you mean diameter?
    """
    if not text.strip():
        return None
    try:
        return _rule(ast.parse(text.strip(), mode="eval").body, text)
    except InputError:
        raise
    except (SyntaxError, TypeError, ValueError) as error:
        raise _not_a_rule(text, f"Python reports: {error}.") from error


def _rule(node: ast.expr, text: str) -> Rule:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _rule(node.left, text) | _rule(node.right, text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        return _rule(node.left, text) & _rule(node.right, text)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name = node.func.id
        if name not in RULES:
            near = nearest(name, RULES)
            raise _not_a_rule(text, f"Did you mean {near}?" if near else "See docs/campaigns.md.")
        positional = [ast.literal_eval(value) for value in node.args]
        keywords = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
        return RULES[name](*positional, **keywords)
    raise _not_a_rule(text, "For example: flat(3, 0.002) & audit(0.9).")


def _not_a_rule(text: str, fix: str) -> InputError:
    return InputError("stop.when", expected=f"rules {', '.join(RULES)} joined by | and &", got=repr(text), fix=fix)
