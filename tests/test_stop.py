"""Stop rules on arrays, compared with SciPy, scikit-learn and the campaign's rules."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

import versionspace as vs
from committees import probabilities


def test_the_audit_is_the_bound_of_clopper_and_pearson():
    for correct, n in [(0, 10), (1, 1), (7, 10), (190, 200), (2000, 2000), (999, 1234)]:
        for rounds in (1, 7):
            bound = stats.beta.ppf(0.05 / rounds, correct, n - correct + 1) if correct else 0.0
            assert vs.stop.audit(correct, n, rounds).value == pytest.approx(bound, abs=1e-9)


def test_the_audit_errs_in_at_most_5_percent_of_simulated_campaigns():
    """Ten looks at a classifier whose accuracy is exactly what is asked for."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(400):
        correct = np.cumsum(rng.random((10, 30)) < 0.9, axis=None).reshape(10, 30)[:, -1]
        wrong += any(vs.stop.audit(int(c), 30 * (r + 1), rounds=10, at_least=0.9) for r, c in enumerate(correct))
    assert wrong <= 0.05 * 400


def test_kappa_is_cohens():
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 4, 300), rng.integers(0, 4, 300)
    second[:200] = first[:200]
    found = vs.stop.kappa(first, second, at_least=0.5)
    assert found.value == pytest.approx(cohen_kappa_score(first, second))
    assert bool(found) == (found.value >= 0.5)
    names = np.array(["cat", "dog", "cow", "owl"])
    assert vs.stop.kappa(names[first], names[second]).value == pytest.approx(found.value)
    probs = probabilities(5, 40, 3)
    assert vs.stop.kappa(probs, probs)
    assert vs.stop.kappa(np.zeros(5, int), np.zeros(5, int)).value == 1.0


def test_the_diameter_is_that_of_the_members():
    probs = probabilities(6, 80, 4)
    value = vs.pairwise_disagreement(probs)
    assert vs.stop.diameter(probs, at_most=value)
    assert not vs.stop.diameter(probs, at_most=value - 1e-6)
    assert vs.stop.diameter(probs, at_most=value).value == value


def test_flat_looks_at_the_last_rounds():
    assert vs.stop.flat([0.5, 0.2, 0.2, 0.2, 0.2])
    assert not vs.stop.flat([0.5, 0.2, 0.2, 0.2])
    assert not vs.stop.flat([0.2, 0.2, 0.2])
    assert np.isnan(vs.stop.flat([0.2]).value)


def test_the_rules_of_campaigns_agree_with_these():
    from versionspace.campaign import stop_rules

    class Round:
        def __init__(self, diameter):
            self.diameter = diameter

    history = [0.31, 0.2, 0.199, 0.2, 0.1995]
    for n in range(1, 6):
        rounds = [Round(value) for value in history[:n]]
        assert bool(stop_rules.flat(2, 0.002).reason(rounds)) == bool(vs.stop.flat(history[:n], 2, 0.002))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vs.stop.diameter([[0, 1]]), "votes: expected at least 2 members"),
        (lambda: vs.stop.diameter([[0], [1]], at_most=5), "at_most: expected a number from 0 to 1, got 5"),
        (lambda: vs.stop.flat([0.1, None]), "diameters: expected a finite number"),
        (lambda: vs.stop.flat([0.1], rounds=0), "rounds: "),
        (lambda: vs.stop.kappa([0, 1], [0]), "after: expected 2 images"),
        (lambda: vs.stop.kappa(0, [0]), "before: expected predicted classes"),
        (lambda: vs.stop.audit(5, 4), "0 ≤ correct ≤ n"),
    ],
)
def test_invalid_arguments_raise_an_explained_error(call, message):
    with pytest.raises(vs.InputError, match=message):
        call()
