"""Metrics of a round, the audit's interval, and methods that cannot be distinguished."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import binomtest

from campaign.tiny import config
from versionspace.campaign import run
from versionspace.campaign.metrics import (
    audit_metrics,
    describe_indistinguishable,
    indistinguishable_methods,
    kappa,
    set_metrics,
)
from versionspace.cli.summary import notes


def test_kappa_on_known_cases():
    assert kappa(np.array([0, 1, 2]), np.array([0, 1, 2])) == 1.0
    assert kappa(np.array([1, 1, 1]), np.array([1, 1, 1])) == 1.0
    assert kappa(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])) == 0.0
    # a table with 20 yes/yes, 15 no/no, 5 yes/no and 10 no/yes has a kappa of 0.4
    before, now = [1] * 25 + [0] * 25, [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert kappa(np.array(before, np.uint8), np.array(now, np.uint8)) == pytest.approx(0.4)


def test_metrics_that_need_labels_are_left_out_without_them():
    found = set_metrics(np.array([[0, 1], [0, 0]]), np.array([0, 0]), None)
    assert found.to_body() == {"images": 2, "pwd": 0.5, "gvd": 0.25, "gvd_hard": 0.25, "agreement": 0.5}


def test_the_accuracy_of_one_member_has_no_deviation():
    assert set_metrics(np.array([[0, 1]]), np.array([0, 1]), np.array([0, 0])).accuracy_deviation == 0.0


@pytest.mark.parametrize(("right", "n"), [(0, 10), (10, 10), (7, 10), (45, 50)])
def test_the_interval_of_round_1_is_clopper_pearson_at_half_the_error_level(right, n):
    votes = dict.fromkeys(range(n), 0)
    answers = {i: 0 if i < right else 1 for i in range(n)}
    found = audit_metrics(votes, answers, 1, 0.9)
    exact = binomtest(right, n).proportion_ci(0.95, "exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))
    assert found.accuracy == right / n


def test_the_interval_holds_in_all_rounds_at_once():
    """Classifiers improve over 30 rounds; in few runs does any round's interval miss the true accuracy."""
    rng = np.random.default_rng(0)
    runs, n, level = 300, 40, 0.9
    truths = np.linspace(0.5, 0.95, 30)
    failed = 0
    for _ in range(runs):
        draws = rng.uniform(size=n)  # the same audit images in every round
        for t, truth in enumerate(truths, 1):
            votes = {i: int(u < truth) for i, u in enumerate(draws)}
            found = audit_metrics(votes, dict.fromkeys(range(n), 1), t, level)
            if not found.low <= truth <= found.high:
                failed += 1
                break
    assert failed / runs <= 1 - level


def test_the_interval_widens_with_the_number_of_rounds():
    votes, answers = dict.fromkeys(range(30), 0), {i: int(i < 6) for i in range(30)}
    first, tenth = audit_metrics(votes, answers, 1, 0.95), audit_metrics(votes, answers, 10, 0.95)
    assert tenth.low < first.low < first.high < tenth.high


@pytest.fixture(scope="module")
def two_members(tmp_path_factory):
    """A grid with two members: every image on which they differ has the same utility, so that ge and pwd tie."""
    few = config("ensemble.members=2", "budget.total=20")
    out = tmp_path_factory.mktemp("runs")
    return run(few, methods=["ge", "pwd", "random"], seeds=[0, 1], out=out, progress=False).campaigns()


def test_methods_that_asked_for_the_same_images_are_indistinguishable(two_members):
    assert indistinguishable_methods(two_members) == {("ge", "pwd"): [0, 1]}
    (sentence,) = describe_indistinguishable(two_members, str.upper)
    assert sentence.startswith("GE and PWD asked for the same images in every query (seed 0, 1):")
    assert "all candidates tied, and the same random tie-break chose for each method. 2 members are too few" in sentence
    assert describe_indistinguishable(two_members)[0] in notes(two_members)


def with_rounds(record, **changes):
    return dataclasses.replace(record, rounds=tuple(dataclasses.replace(r, **changes) for r in record.rounds))


def test_methods_that_chose_the_same_images_by_utility_are_distinguishable(two_members):
    """For example when a query takes all images that are left in the pool."""
    one, other = (r for r in two_members if r.method in ("ge", "pwd") and r.seed == 0)
    falling = tuple(float(-i) for i in range(5))
    assert indistinguishable_methods([one, with_rounds(other, utilities=falling)]) == {}
    assert indistinguishable_methods([one, other]) == {("ge", "pwd"): [0]}


def test_methods_that_asked_for_other_images_or_none_are_distinguishable(two_members):
    one, other = (r for r in two_members if r.method in ("ge", "pwd") and r.seed == 0)
    rest = tuple(range(1000, 1005))
    assert indistinguishable_methods([one, with_rounds(other, asked=rest)]) == {}
    assert indistinguishable_methods([with_rounds(one, asked=()), with_rounds(other, asked=())]) == {}
    assert describe_indistinguishable([]) == []
