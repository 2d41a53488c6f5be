"""Advice whether to stop: each case from rounds made by hand. test_advice_campaigns.py runs real campaigns."""

from dataclasses import replace

import pytest

from metrics import AuditMetrics, round_metrics
from versionspace.campaign.advice import FLAT_ROUNDS, MIN_PER_CLASS, stop_advice
from versionspace.campaign.audit_checks import FIRST_CHECK
from versionspace.campaign.stop_rules import parse_rule


def a_round(labels, diameter, audit=None, fit=1.0, **classes):
    classes = classes or {"cat": 50, "dog": 50}
    return round_metrics(labels=labels, diameter=diameter, fit=fit, kappa=0.99, classes=classes, audit=audit)


def audit(right=50, images=50):
    return AuditMetrics(images, right / images if images else None, 0.1, 1.0)


def flat(found=None, count=5):
    return [a_round(60 + 10 * n, 0.02, found) for n in range(count)]


def moving(*diameters, found=None):
    return [a_round(10 * n, diameter, found) for n, diameter in enumerate(diameters, start=1)]


def advise(rounds, target=0.8, **more):
    return stop_advice(rounds, target=target, **more)


def test_before_the_first_round_it_is_red():
    assert (advise([]).light, advise([]).case) == ("red", "no model")


def test_a_flat_disagreement_and_a_check_that_assures_the_target_are_green():
    found = advise(flat(audit()))
    assert (found.light, found.case, found.random_images) == ("green", "done", 0)
    assert found.sentence == (
        "With 90 labels, 50 of 50 random images were right: at least 92% of all (95% confidence). You want 80%: take "
        "the results."
    )
    assert advise(flat(audit(), 4)).sentence.startswith("50 of 50 random images are right"), (
        "the check was made on the newest model"
    )


@pytest.mark.parametrize(("mistakes", "light"), [(0, "green"), (3, "green"), (4, "amber"), (10, "amber")])
def test_the_lower_bound_decides_and_fifty_images_allow_three_mistakes_at_80_percent(mistakes, light):
    assert advise(flat(audit(50 - mistakes))).light == light


def test_a_target_that_the_bound_does_not_reach_says_how_many_more_random_images_are_needed():
    found = advise(flat(audit(48)), target=0.9)
    assert (found.light, found.case) == ("amber", "unsure")
    assert "48 of 50 random images are right, which assures only 85%, not 90%: label " in found.sentence
    assert f"label {found.random_images} more random images, or" in found.sentence
    grown = 50 + found.random_images
    assert 75 <= grown <= 150
    rounds = [*flat(audit(48)), a_round(110, 0.02, audit(round(0.96 * grown), grown))]
    assert advise(rounds, target=0.9).light == "green"


def test_more_random_images_than_labels_are_not_worth_it():
    found = advise(flat(audit(46)), target=0.9)
    assert (found.light, found.case, found.random_images) == ("amber", "unsure", 0)
    assert "more: improve the model, or lower the target" in found.sentence


def test_the_offer_is_never_more_than_the_images_that_are_left():
    assert advise(flat(audit(48)), target=0.9, available=100).random_images
    found = advise(flat(audit(48)), target=0.9, available=20)
    assert (found.random_images, found.case) == (0, "unsure")
    assert advise(flat(), available=10).case == "no audit"


def test_too_small_an_audit_is_grown_first():
    for images in (0, 1, FIRST_CHECK - 1):
        found = advise(flat(audit(images, images)), target=0.1)
        assert (found.light, found.case, found.random_images) == ("amber", "unchecked", FIRST_CHECK - images)
    assert advise(flat(None)).random_images == FIRST_CHECK


def test_an_audit_below_the_target_points_to_the_mistakes_and_asks_for_no_random_images():
    found = advise(flat(audit(30)))
    assert (found.light, found.case, found.random_images) == ("amber", "low", 0)
    assert "only 30 of 50 random images are right, not 80%: look at the mistakes" in found.sentence


def test_another_model_on_the_same_audit_is_no_new_check():
    lucky = [*flat(audit(46)), a_round(200, 0.02, audit(50))]
    assert advise(lucky).light == "amber", "the audit has to grow before it is asked again"
    assert advise([*flat(audit(46)), a_round(200, 0.02, audit(75, 75))]).light == "green"


def test_a_target_may_be_chosen_afterwards():
    rounds = flat(audit(50))
    assert [advise(rounds, target=target).light for target in (0.5, 0.9, 0.92, 0.93)] == ["green"] * 3 + ["amber"]


def test_a_stop_rule_on_the_diameter_alone_is_amber():
    assert advise(flat()[:1], rule=parse_rule("diameter(0.05)")).light == "amber"
    assert advise(flat(audit())[:1], rule=parse_rule("diameter(0.05)")).light == "green"


def test_a_rule_on_the_audit_itself_is_no_moment_for_a_check():
    found = advise(flat(audit())[:1], rule=parse_rule("audit(0.05)"))
    assert (found.light, "assures only 10%" in found.sentence) == ("amber", True)


def test_a_falling_disagreement_is_red_whatever_the_audit_says():
    found = advise(moving(0.5, 0.4, 0.3, 0.2, found=audit()))
    assert (found.light, found.case) == ("red", "falling")
    assert found.sentence.startswith("Labels still help: the disagreement fell from 50.0% to 20.0% in 3 models.")


def test_a_rising_disagreement_is_red_and_not_called_progress():
    found = advise(moving(0.5, 0.1, 0.1, 0.12, 0.2, found=audit()))
    assert (found.light, found.case) == ("red", "rising")
    assert "rose from 10.0% to 20.0% in 3 models" in found.sentence
    assert "still help" not in found.sentence


def test_a_disagreement_that_swings_is_not_settled():
    found = advise(moving(0.10, 0.30, 0.05, 0.11, found=audit()))
    assert (found.light, found.case) == ("red", "unsteady")
    assert "swings between 5.0% and 30.0%" in found.sentence


def test_two_rounds_are_too_few_and_so_are_many_on_the_same_labels():
    found = advise(flat(audit())[:2])
    assert (found.light, found.case) == ("red", "early")
    assert "2 more models show" in found.sentence
    assert advise([a_round(60, 0.02, audit())] * 9).case == "early"


def test_an_audit_without_labels_is_not_quoted():
    rounds = moving(0.5, 0.4, 0.3, 0.2, found=audit(0, 0))
    for shown in (rounds, rounds[:1]):
        assert advise(shown).light == "red"
        assert "random" not in advise(shown).sentence


def test_a_class_with_few_labels_or_a_bad_fit_is_amber_and_says_what_to_do():
    rare = [replace(r, classes={"cat": 90, "other": 1}) for r in flat(audit())]
    assert "“other” has only one label: look for more of it" in advise(rare).sentence
    unseen = [replace(r, classes={"cat": 90, "dog": 9, "other": 0}) for r in flat(audit())]
    assert "“other” was never seen: look for it, or delete the class" in advise(unseen).sentence
    several = [replace(r, classes={"cat": 90, "dog": 0, "other": 0}) for r in flat(audit())]
    assert "2 classes were never seen, such as “dog”: look for them, or delete those" in advise(several).sentence
    loose = [replace(r, fit=0.9) for r in flat(audit())]
    assert "90.0% of their labels: look for wrong labels" in advise(loose).sentence
    assert [(advise(r).light, advise(r).case) for r in (rare, unseen, loose)] == [
        ("amber", "class"), ("amber", "class"), ("amber", "fit"),
    ]  # fmt: skip
    enough = [replace(r, classes={"cat": 90, "other": MIN_PER_CLASS}) for r in flat(audit())]
    assert advise(enough).light == "green"


def test_sentences_fit_two_lines_of_the_page():
    cases = [[], flat(audit()), flat(audit())[:2], moving(0.5, 0.4, 0.3, 0.2, found=audit()),
             moving(0.1, 0.1, 0.12, 0.2, found=audit()), moving(0.10, 0.30, 0.05, 0.11, found=audit()), flat(audit(30)),
             flat(audit(44)), flat(audit(3, 3)), flat()]  # fmt: skip
    for target in (0.8, 0.9):
        assert max(len(advise(rounds, target=target).sentence) for rounds in cases) <= 130
    assert FLAT_ROUNDS == 3
