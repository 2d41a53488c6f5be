"""Advice whether to stop: never green without an audit."""

from dataclasses import replace

from metrics import AuditMetrics, round_metrics
from versionspace.campaign.advice import MIN_AUDIT, stop_advice
from versionspace.campaign.stop_rules import parse_rule


def a_round(labels, diameter, audit=None, fit=1.0, **classes):
    classes = classes or {"cat": 50, "dog": 50}
    return round_metrics(labels=labels, diameter=diameter, fit=fit, kappa=0.99, classes=classes, audit=audit)


def audit(accuracy=0.95, images=40):
    return AuditMetrics(images, accuracy if images else None, accuracy - 0.1, min(1.0, accuracy + 0.04))


FLAT = [a_round(60 + 10 * n, 0.02, audit()) for n in range(5)]


def test_before_the_first_round_it_is_red():
    assert stop_advice([], total=300, spent=3).light == "red"


def test_a_flat_diameter_and_a_good_audit_are_green():
    found = stop_advice(FLAT, total=300, spent=110)
    assert found.light == "green"
    assert "flat at 2.0%" in found.sentence
    assert "95% (85% to 99%)" in found.sentence


def test_a_flat_diameter_alone_is_never_green():
    for missing in (None, audit(images=0), audit(images=MIN_AUDIT - 1)):
        found = stop_advice([replace(r, audit=missing) for r in FLAT], total=300, spent=110)
        assert found.light == "amber"
        assert "audit" in found.sentence


def test_a_stop_rule_on_the_diameter_alone_is_amber():
    rounds = [replace(r, audit=None) for r in FLAT[:1]]
    assert stop_advice(rounds, total=300, spent=60, rule=parse_rule("diameter(0.05)")).light == "amber"


def test_a_falling_diameter_is_red_and_its_change_is_stated():
    rounds = [a_round(10 * n, d, audit()) for n, d in enumerate((0.5, 0.4, 0.3, 0.2), start=1)]
    found = stop_advice(rounds, total=300, spent=40)
    assert found.light == "red"
    assert "changed by 30.0%" in found.sentence


def test_two_rounds_are_too_few():
    found = stop_advice(FLAT[:2], total=300, spent=70)
    assert found.light == "red"
    assert "2 more rounds show" in found.sentence


def test_an_audit_without_labels_is_not_quoted():
    rounds = [a_round(10 * n, d, audit(images=0)) for n, d in enumerate((0.5, 0.4, 0.3, 0.2), start=1)]
    for shown in (rounds, rounds[:1]):
        found = stop_advice(shown, total=300, spent=40)
        assert found.light == "red"
        assert "audit" not in found.sentence


def test_a_rare_class_a_bad_fit_or_a_low_audit_is_amber():
    rare = [replace(r, classes={"cat": 90, "other": 1}) for r in FLAT]
    assert "“other” has only one label" in stop_advice(rare, total=300, spent=110).sentence
    loose = [replace(r, fit=0.9) for r in FLAT]
    assert "90.0%" in stop_advice(loose, total=300, spent=110).sentence
    low = [replace(r, audit=audit(0.6)) for r in FLAT]
    assert "60%" in stop_advice(low, total=300, spent=110).sentence
    assert {stop_advice(r, total=300, spent=110).light for r in (rare, loose, low)} == {"amber"}


def test_a_spent_budget_with_a_changing_diameter_is_amber():
    rounds = [a_round(10 * n, d, audit()) for n, d in enumerate((0.5, 0.4, 0.3, 0.2), start=1)]
    found = stop_advice(rounds, total=40, spent=40)
    assert found.light == "amber"
    assert found.sentence.startswith("The budget is spent, but the diameter still changed")
