"""When to stop: rules that look at the rounds so far, joined by ``|`` and ``&``.

    budget(n)                   n labels to learn from are given: the audit's do not count
    accuracy(a, on="validation")    the members' mean accuracy on a labelled set is at least a
    diameter(d)                 PWD on the reference is at most d; label-free: PWD/2 bounds the mean error from below
    flat(rounds, within)        PWD moved by no more than ``within`` over so many rounds
    kappa(k, rounds=1)          the vote agrees with that of the round before by a kappa of at least k, so many times
    audit(a)                    the audit's lower bound on the vote's accuracy is at least a

A small or flat diameter says that members agree, not that they are right: wrong agreement persists (Liu et al. 2020,
section 6). Join it with an audit.

>>> rule = flat(2, 0.01) & audit(0.9) | budget(500)
>>> rule
flat(2, 0.01) & audit(0.9) | budget(500)
>>> parse(str(rule)) == rule
True
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

from versionspace.errors import InputError
from versionspace.store.metrics import RoundMetrics
from versionspace.text import nearest
from versionspace.types import is_count, is_number

SETS = ("validation", "test", "pool", "reference")
"""Images whose accuracy may be known."""


class Rule:
    """Asked after each round; gives a sentence when it is time to stop, and nothing otherwise."""

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """Why to stop after these rounds; empty: go on."""
        raise NotImplementedError

    def named(self) -> Iterator["Rule"]:
        """The rules that this one is made of, itself where it is not made of others."""
        yield self

    def __or__(self, other: "Rule") -> "Rule":
        return Either(self, other)

    def __and__(self, other: "Rule") -> "Rule":
        return Both(self, other)


@dataclass(frozen=True, repr=False)
class Either(Rule):
    """One of two is enough."""

    first: Rule
    second: Rule

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """That of the first that holds."""
        return self.first.reason(rounds) or self.second.reason(rounds)

    def named(self) -> Iterator[Rule]:
        """Those of both."""
        yield from self.first.named()
        yield from self.second.named()

    def __repr__(self) -> str:
        return f"{self.first} | {self.second}"


@dataclass(frozen=True, repr=False)
class Both(Rule):
    """Two are needed."""

    first: Rule
    second: Rule

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """Both reasons, where both hold."""
        reasons = (self.first.reason(rounds), self.second.reason(rounds))
        return " and ".join(reasons) if all(reasons) else ""

    def named(self) -> Iterator[Rule]:
        """Those of both."""
        yield from self.first.named()
        yield from self.second.named()

    def __repr__(self) -> str:
        return " & ".join(f"({part})" if isinstance(part, Either) else str(part) for part in (self.first, self.second))


@dataclass(frozen=True, repr=False)
class _Named(Rule):
    wanted: ClassVar[str]
    """What its values must be, in words."""

    def __post_init__(self) -> None:
        if not self._fine():
            raise InputError("stop.when", expected=self.wanted, got=repr(self), fix="See docs/campaigns.md.")

    def _fine(self) -> bool:
        """Whether its values make sense: neither such that it always holds, nor such that it never can."""
        raise NotImplementedError

    def __repr__(self) -> str:
        values = [getattr(self, field.name) for field in fields(self)]
        return f"{type(self).__name__}({', '.join(repr(v) for v in values)})"


@dataclass(frozen=True, repr=False)
class budget(_Named):  # noqa: N801 — reads as the word in a rule
    """So many labels to learn from are given; the audit's do not count."""

    wanted = "budget(n) with a whole number of at least 1"
    total: int

    def _fine(self) -> bool:
        return is_count(self.total)

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """Enough labels."""
        return f"{self.total} labels are given" if rounds and rounds[-1].labels >= self.total else ""


@dataclass(frozen=True, repr=False)
class accuracy(_Named):  # noqa: N801
    """The members' mean accuracy on a labelled set is high enough."""

    wanted = f"accuracy(a, on) with a number above 0 and up to 1, on one of {', '.join(SETS)}"
    at_least: float
    on: str = "validation"

    def _fine(self) -> bool:
        return is_number(self.at_least) and 0 < self.at_least <= 1 and self.on in SETS

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """High enough."""
        metrics = rounds[-1].sets.get(self.on) if rounds else None
        found = None if metrics is None else metrics.accuracy
        if found is None or found < self.at_least:
            return ""
        return f"accuracy on {self.on} is {found:.1%}, at least {self.at_least:.1%}"


@dataclass(frozen=True, repr=False)
class diameter(_Named):  # noqa: N801
    """PWD on the reference is small enough."""

    wanted = "diameter(d) with a number from 0 up to 1, without 1"
    at_most: float

    def _fine(self) -> bool:
        return is_number(self.at_most) and 0 <= self.at_most < 1

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """Small enough."""
        found = rounds[-1].diameter if rounds else 1.0
        return f"the diameter is {found:.1%}, at most {self.at_most:.1%}" if found <= self.at_most else ""


@dataclass(frozen=True, repr=False)
class flat(_Named):  # noqa: N801
    """PWD has stopped moving."""

    wanted = "flat(rounds, within) with a whole number of at least 1, and a number from 0 to 1"
    rounds: int
    within: float

    def _fine(self) -> bool:
        return is_count(self.rounds) and is_number(self.within) and 0 <= self.within <= 1

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """It has."""
        if len(rounds) <= self.rounds:
            return ""
        last = [found.diameter for found in rounds[-self.rounds - 1 :]]
        if max(last) - min(last) > self.within:
            return ""
        return f"the diameter moved by {max(last) - min(last):.1%} in {self.rounds} rounds, at most {self.within:.1%}"


@dataclass(frozen=True, repr=False)
class kappa(_Named):  # noqa: N801
    """The vote no longer changes from round to round."""

    wanted = "kappa(k, rounds) with a number above 0 and up to 1, and a whole number of at least 1"
    at_least: float
    rounds: int = 1

    def _fine(self) -> bool:
        return is_number(self.at_least) and 0 < self.at_least <= 1 and is_count(self.rounds)

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """It does not."""
        last = [found.kappa for found in rounds[-self.rounds :] if found.kappa is not None]
        if len(last) < self.rounds or min(last) < self.at_least:
            return ""
        return f"kappa between rounds is {min(last):.3f}, at least {self.at_least:.3f}"


@dataclass(frozen=True, repr=False)
class audit(_Named):  # noqa: N801
    """The audit's interval lies above a target."""

    wanted = "audit(a) with a number between 0 and 1"
    at_least: float

    def _fine(self) -> bool:
        return is_number(self.at_least) and 0 < self.at_least < 1

    def reason(self, rounds: Sequence[RoundMetrics]) -> str:
        """It does."""
        found = rounds[-1].audit if rounds else None
        if found is None or found.low < self.at_least:
            return ""
        return f"the audit puts the vote's accuracy at {found.low:.1%} or more, at least {self.at_least:.1%}"


RULES: dict[str, type[Rule]] = {rule.__name__: rule for rule in (budget, accuracy, diameter, flat, kappa, audit)}


def parse(text: str) -> Rule | None:
    """A rule from its words; nothing from nothing.

    >>> parse("diamter(0.1)")
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
        raise _refused(text, f"Python says: {error}.") from error


def _rule(node: ast.expr, text: str) -> Rule:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _rule(node.left, text) | _rule(node.right, text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        return _rule(node.left, text) & _rule(node.right, text)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name = node.func.id
        if name not in RULES:
            near = nearest(name, RULES)
            raise _refused(text, f"Did you mean {near}?" if near else "See docs/campaigns.md.")
        values = [ast.literal_eval(value) for value in node.args]
        named = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
        return RULES[name](*values, **named)
    raise _refused(text, "For example: flat(3, 0.002) & audit(0.9).")


def _refused(text: str, fix: str) -> InputError:
    return InputError("stop.when", expected=f"rules {', '.join(RULES)} joined by | and &", got=repr(text), fix=fix)
