"""ProbCover against its definition in plain loops."""

import numpy as np
import pytest

import reference as plain
import versionspace as vs
from versionspace import rng
from versionspace.query import probcover
from versionspace.query.kmeans import fit_centres, nearest_centres
from versionspace.query.unit_rows import unit_rows

N = 70


def features(count=N, seed=0):
    draws = np.random.default_rng(seed)
    return np.random.default_rng(99).normal(size=(4, 3))[draws.integers(0, 4, count)] + 0.4 * draws.normal(
        size=(count, 3)
    )


def radius(points, classes, seed):
    """The radius that a query with this seed uses."""
    sample = unit_rows(points, slice(None))
    clusters = nearest_centres(sample, fit_centres(sample, classes, rng.key(seed, "coverage")))
    return probcover.purity_radius(sample, clusters), clusters.tolist()


@pytest.mark.parametrize("labelled", [0, 5])
@pytest.mark.parametrize("classes", [3, None])
def test_every_step_takes_the_ball_with_most_uncovered_images(labelled, classes):
    points, centres = features(), features(labelled, seed=1)
    width, _ = radius(points, classes or 10, seed=3)
    given = {"features": points, "labelled_features": centres, "classes": classes, "seed": 3}
    chosen, utilities = vs.query("probcover", 12, return_utilities=True, **given)
    for step, utility in enumerate(utilities):
        before = chosen[:step]
        gains = {x: plain.ball_share(points, [*centres, *points[before]], width, x) for x in range(N)}
        assert utility == pytest.approx(gains[chosen[step]], abs=1e-12)
        assert utility == pytest.approx(max(gain for x, gain in gains.items() if x not in before), abs=1e-12)
    expected = [plain.ball_share(points, centres, width, x) for x in range(N)]
    np.testing.assert_allclose(vs.utilities("probcover", **given), expected, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3, 8])
def test_the_radius_is_the_largest_at_which_95_of_100_balls_are_pure(classes):
    points = features()
    width, clusters = radius(points, classes, seed=0)
    assert plain.purity(points, clusters, width) >= 0.95
    assert plain.purity(points, clusters, width * 1.0002) < 0.95


def test_one_cluster_is_pure_at_any_radius():
    assert probcover.purity_radius(np.eye(3, dtype=np.float32), np.zeros(3, np.int64)) == np.inf
    assert vs.utilities("probcover", features=features(), classes=1).tolist() == [1.0] * N


def test_ties_do_not_follow_position():
    """Once everything is covered, all images gain nothing and the seed chooses among them."""
    last = [vs.query("probcover", N, features=features(), seed=seed)[-20:].mean() for seed in range(30)]
    assert abs(np.mean(last) - (N - 1) / 2) < 5
