"""Metrics of a round, and the audit's interval."""

import numpy as np
import pytest
from scipy.stats import binomtest

from versionspace.campaign.metrics import audit_metrics, kappa, set_metrics


def test_kappa_on_known_cases():
    assert kappa(np.array([0, 1, 2]), np.array([0, 1, 2])) == 1.0
    assert kappa(np.array([1, 1, 1]), np.array([1, 1, 1])) == 1.0
    assert kappa(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])) == 0.0
    # Cohen's own kind of table: 20 yes/yes, 15 no/no, 5 yes/no, 10 no/yes gives 0.4
    before, now = [1] * 25 + [0] * 25, [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert kappa(np.array(before, np.uint8), np.array(now, np.uint8)) == pytest.approx(0.4)


def test_without_truth_only_what_needs_none():
    found = set_metrics(np.array([[0, 1], [0, 0]]), np.array([0, 0]), None)
    assert found.to_body() == {"images": 2, "pwd": 0.5, "gvd": 0.25, "gvd_hard": 0.25, "agreement": 0.5}


def test_one_member_has_no_deviation():
    assert set_metrics(np.array([[0, 1]]), np.array([0, 1]), np.array([0, 0])).accuracy_deviation == 0.0


@pytest.mark.parametrize(("right", "n"), [(0, 10), (10, 10), (7, 10), (45, 50)])
def test_the_first_interval_is_clopper_and_pearsons_at_half_the_level(right, n):
    votes = dict.fromkeys(range(n), 0)
    answers = {i: 0 if i < right else 1 for i in range(n)}
    found = audit_metrics(votes, answers, 1, 0.9)
    exact = binomtest(right, n).proportion_ci(0.95, "exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))
    assert found.accuracy == right / n


def test_the_interval_holds_in_all_rounds_at_once():
    """Classifiers that get better; looked at in each of 30 rounds, the truth leaves the interval in few runs."""
    rng = np.random.default_rng(0)
    runs, n, level = 300, 40, 0.9
    truths = np.linspace(0.5, 0.95, 30)
    failed = 0
    for _ in range(runs):
        draws = rng.uniform(size=n)  # the same audit images all along
        for t, truth in enumerate(truths, 1):
            votes = {i: int(u < truth) for i, u in enumerate(draws)}
            found = audit_metrics(votes, dict.fromkeys(range(n), 1), t, level)
            if not found.low <= truth <= found.high:
                failed += 1
                break
    assert failed / runs <= 1 - level


def test_a_later_look_pays_with_a_wider_interval():
    votes, answers = dict.fromkeys(range(30), 0), {i: int(i < 6) for i in range(30)}
    first, tenth = audit_metrics(votes, answers, 1, 0.95), audit_metrics(votes, answers, 10, 0.95)
    assert tenth.low < first.low < first.high < tenth.high
