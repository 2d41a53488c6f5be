"""Stop rules, alone and combined."""

import pytest

from metrics import AuditMetrics, round_metrics, set_metrics
from versionspace.campaign.stop_rules import accuracy, audit, budget, diameter, flat, kappa, parse_rule
from versionspace.errors import InputError


def round_(labels=50, pwd=0.2, k=None, low=None, acc=0.8):
    found = None if low is None else AuditMetrics(30, low + 0.05, low, 1.0)
    sets = {"validation": set_metrics(accuracy=acc)}
    return round_metrics(labels=labels, diameter=pwd, kappa=k, audit=found, sets=sets)


@pytest.mark.parametrize(
    ("rule", "rounds", "stops"),
    [
        (budget(50), [round_(49)], False), (budget(50), [round_(50)], True),
        (accuracy(0.8), [round_(acc=0.79)], False), (accuracy(0.8), [round_(acc=0.8)], True),
        (accuracy(0.8, on="test"), [round_(acc=0.9)], False),
        (diameter(0.1), [round_(pwd=0.11)], False), (diameter(0.1), [round_(pwd=0.1)], True),
        (flat(2, 0.02), [round_(pwd=p) for p in (0.2, 0.2)], False),
        (flat(2, 0.02), [round_(pwd=p) for p in (0.5, 0.2, 0.21, 0.2)], True),
        (flat(2, 0.02), [round_(pwd=p) for p in (0.2, 0.25, 0.2)], False),
        (kappa(0.9), [round_(k=None)], False), (kappa(0.9), [round_(k=0.95)], True),
        (kappa(0.9, 2), [round_(k=0.8), round_(k=0.95)], False),
        (kappa(0.9, 2), [round_(k=0.91), round_(k=0.95)], True),
        (audit(0.9), [round_()], False), (audit(0.9), [round_(low=0.89)], False), (audit(0.9), [round_(low=0.9)], True),
    ],
)  # fmt: skip
def test_rules(rule, rounds, stops):
    assert bool(rule.reason(rounds)) == stops
    assert rule.reason([]) == ""


def test_combined_rules():
    both, either = budget(50) & diameter(0.1), budget(50) | diameter(0.1)
    assert both.reason([round_(50, 0.2)]) == ""
    assert both.reason([round_(50, 0.1)]) == "50 labels were given and the diameter is 10.0%, at most 10.0%"
    assert either.reason([round_(50, 0.2)]) == "50 labels were given"
    assert either.reason([round_(40, 0.2)]) == ""


@pytest.mark.parametrize(
    "text",
    ["budget(5)", "flat(3, 0.002) & audit(0.9) | budget(5)", "(budget(5) | kappa(0.9, 2)) & accuracy(0.9, 'test')"],
)
def test_a_rule_is_parsed_from_its_text(text):
    rule = parse_rule(text)
    assert parse_rule(str(rule)) == rule


def test_precedence_is_pythons():
    assert parse_rule("budget(1) | budget(2) & diameter(0.1)") == budget(1) | (budget(2) & diameter(0.1))


@pytest.mark.parametrize(
    "text", ["flat", "flat(", "flat(1)", "flat(1,2,3)", "__import__('os')", "1 | 2", "budget(x)", "budget(5) + 1"]
)
def test_a_text_that_is_not_a_rule_is_rejected(text):
    with pytest.raises(InputError, match="joined by"):
        parse_rule(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budget(0)", "at least 1"), ("budget(1.5)", "whole number"), ("budget(True)", "whole number"),
        ("accuracy('0.9')", "a above 0"), ("accuracy(90)", "at most 1"), ("accuracy(0.0)", "above 0"),
        ("accuracy(0.05, on='tets')", "validation, test, pool, reference"), ("accuracy(0.9, on=['test'])", "on one of"),
        ("diameter(-0.1)", "at least 0"), ("diameter(1)", "below 1"), ("diameter(None)", "diameter(d) with d"),
        ("flat(1.5, 0.1)", "whole number"), ("flat(0, 0.0)", "at least 1"), ("flat(3, -0.1)", "from 0 to 1"),
        ("kappa(-1.0, rounds=0)", "above 0"), ("kappa(0.9, rounds=0)", "at least 1"), ("kappa(1.1)", "at most 1"),
        ("audit(0.0)", "between 0 and 1"), ("audit(1.0)", "between 0 and 1"),
        ("budget(5) & audit('x')", "audit(a) with a between 0 and 1"),
    ],
)  # fmt: skip
def test_arguments_out_of_range_are_rejected(text, message):
    with pytest.raises(InputError, match="stop.when: expected") as error:
        parse_rule(text)
    assert message in str(error.value)


def test_the_basic_rules_of_a_combined_rule():
    rule = parse_rule("(budget(5) | kappa(0.9, 2)) & accuracy(0.9, 'test')")
    assert list(rule.basic_rules()) == [budget(5), kappa(0.9, 2), accuracy(0.9, "test")]


def test_an_empty_text_is_no_rule():
    assert parse_rule("  ") is None
