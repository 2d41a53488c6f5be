"""Coverage methods: each greedy step is compared with its definition in plain loops."""

import numpy as np
import pytest

import reference as plain
import versionspace as vs
from committees import probabilities
from versionspace import rng
from versionspace.query import coverage

N = 40


def radius(features, seed):
    """The width of the kernel that a query with this seed uses."""
    points = coverage._unit_length(features)
    return coverage.RADIUS * coverage.median_distance(points, rng.key(seed, "coverage"))


def features(count=N, seed=0):
    return np.random.default_rng(seed).normal(1, 1, (count, 3))


def weights(method, pool):
    if method == "maxherding" or pool is None:
        return np.ones(N)
    if pool.ndim == 2:
        return vs.gibbs_error(pool) if method == "pwd-cover" else vs.variation_ratio(pool)
    mean = pool.mean(axis=0)
    return 1 - (mean**2).sum(axis=1) if method == "pwd-cover" else 1 - mean.max(axis=1)


@pytest.mark.parametrize("labelled", [0, 5])
@pytest.mark.parametrize(
    ("method", "kind"),
    [("maxherding", ""), ("pwd-cover", "probs"), ("pwd-cover", "votes"), ("pwd-cover", ""), ("gvd-cover", "probs"),
     ("gvd-cover", "votes"), ("gvd-cover", "")],
)  # fmt: skip
def test_every_step_takes_the_image_with_the_largest_gain(method, kind, labelled):
    points, centres = features(), features(labelled, seed=1)
    probs = probabilities(6, N, 4)
    pool = {"probs": probs, "votes": probs.argmax(axis=2), "": None}[kind]
    width, delta = radius(points, seed=3), weights(method, pool)

    def gain(picks, x):
        return plain.uncovered_gain(points, [*centres, *points[picks]], delta, width, x)

    given = {"features": points, "labelled_features": centres if labelled else None, "seed": 3}
    if pool is not None:
        given["pool"] = pool
    chosen, utilities = vs.query(method, 10, return_utilities=True, **given)
    for step, (image, utility) in enumerate(zip(chosen, utilities, strict=True)):
        before = chosen[:step].tolist()
        assert utility == pytest.approx(gain(before, image), rel=1e-4)
        # Two images apart from all others cover each other alike, so gains tie.
        assert utility == pytest.approx(max(gain(before, x) for x in range(N) if x not in before), rel=1e-4)
    np.testing.assert_allclose(vs.utilities(method, **given), [gain([], x) for x in range(N)], rtol=1e-4)


def test_lazy_evaluation_is_exact_and_evaluates_few_images(monkeypatch):
    points = features(600, seed=2)
    evaluated = []
    real = coverage.Coverage.gains

    def counted(self, candidates):
        evaluated.append(len(candidates))
        return real(self, candidates)

    monkeypatch.setattr(coverage.Coverage, "gains", counted)
    lazily = vs.query("maxherding", 30, features=points, seed=0)
    assert sum(evaluated) < 600 + 30 * 200  # far fewer than 30 times 600
    monkeypatch.setattr(coverage, "_REFRESHED", 600)
    assert vs.query("maxherding", 30, features=points, seed=0).tolist() == lazily.tolist()


def test_members_that_agree_everywhere_are_herded():
    points, agreed = features(), np.zeros((4, N), int)
    herded = vs.query("maxherding", 8, features=points, seed=0).tolist()
    assert vs.query("pwd-cover", 8, pool=agreed, features=points, seed=0).tolist() == herded
    assert vs.query("gvd-cover", 8, features=points, seed=0).tolist() == herded


def test_only_doubtful_images_count():
    """All members agree on the first half of the pool: the images asked for are near the second half."""
    points = np.concatenate([np.eye(4)[np.zeros(20, int)], np.eye(4)[np.arange(20) % 3 + 1]])
    points += 0.01 * np.random.default_rng(0).normal(size=(N, 4))
    pool = np.zeros((4, N), int)
    pool[:2, 20:] = 1
    chosen = vs.query("pwd-cover", 3, pool=pool, features=points, seed=0)
    assert sorted(points[chosen].argmax(axis=1)) == [1, 2, 3]


def test_a_sample_of_the_pool_serves_for_the_expectation(monkeypatch):
    points = features(300, seed=4)
    whole = vs.utilities("maxherding", features=points, seed=0)
    monkeypatch.setattr(coverage, "SAMPLE", 150)
    sampled = vs.utilities("maxherding", features=points, seed=0)
    assert np.corrcoef(whole, sampled)[0, 1] > 0.9
    assert not np.array_equal(whole, sampled)


def test_blocks_do_not_change_the_choice(monkeypatch):
    points, centres = features(200, seed=5), features(30, seed=6)
    whole = vs.query("maxherding", 20, features=points, labelled_features=centres, seed=0)
    monkeypatch.setattr(coverage, "_ELEMENTS", 1_000)
    assert vs.query("maxherding", 20, features=points, labelled_features=centres, seed=0).tolist() == whole.tolist()


@pytest.mark.parametrize("points", [np.zeros((5, 3)), np.ones((5, 3)), np.ones((1, 3))])
def test_features_without_any_difference_are_fine(points):
    assert sorted(vs.query("maxherding", len(points), features=points, seed=0)) == list(range(len(points)))
