"""Scaling recovers planar configurations, and stages are placed as in the paper's appendix."""

import numpy as np
import pytest
from sklearn.manifold import smacof

from versionspace.errors import InputError
from versionspace.report.mds import disagreements, map_stages, scale, stress


def distances(points):
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(2))


@pytest.mark.parametrize("seed", range(5))
def test_a_planar_configuration_is_recovered(seed):
    points = np.random.default_rng(seed).normal(size=(9, 2))
    found = scale(distances(points))
    assert found.stress < 1e-5
    assert distances(found.points) == pytest.approx(distances(points), abs=1e-4)


def test_the_orientation_is_fixed():
    points = np.random.default_rng(1).normal(size=(6, 2))
    turned = points @ np.array([[0, -1], [1, 0]]) + 7
    assert scale(distances(points)).points == pytest.approx(scale(distances(turned)).points, abs=1e-6)


def test_a_configuration_that_is_not_planar_has_stress():
    corners = 1.0 - np.eye(5)  # five points at distance 1: four dimensions
    found = scale(corners)
    assert 0.1 < found.stress < 0.5
    assert stress(corners, found.points) == pytest.approx(found.stress)


@pytest.mark.parametrize("seed", range(3))
def test_the_stress_is_no_larger_than_scikit_learns(seed):
    high = distances(np.random.default_rng(seed).normal(size=(12, 6)))
    theirs, _ = smacof(high, n_components=2, n_init=8, random_state=0, normalized_stress=False)
    assert scale(high).stress <= stress(high, theirs) + 5e-3


def test_the_same_distances_give_the_same_points():
    high = distances(np.random.default_rng(3).normal(size=(7, 4)))
    assert (scale(high, seed=4).points == scale(high, seed=4).points).all()


def test_coinciding_and_few_points():
    found = scale(np.zeros((4, 4)))
    assert (found.points == 0).all()
    assert found.stress == 0
    assert scale([[0.0]]).points.shape == (1, 2)
    assert scale([[0, 2], [2, 0]]).stress == pytest.approx(0, abs=1e-9)


def test_disagreements_equal_plain_loops():
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 3, (4, 30)), rng.integers(0, 3, (5, 30))
    found = disagreements(one, other)
    for i in range(4):
        for j in range(5):
            assert found[i, j] == sum(a != b for a, b in zip(one[i], other[j], strict=True)) / 30


def test_stages_are_placed_as_in_the_appendix():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 10, 400)
    votes = [np.where(rng.random((8, 400)) < share, (truth + 1) % 10, truth) for share in (0.5, 0.1)]
    found = map_stages(votes, truth)
    error = [float((v != truth).mean()) for v in votes]
    cross = float(np.mean([[(a != b).mean() for b in votes[1]] for a in votes[0]]))
    placed = distances(np.array([*found.gibbs, found.truth]))
    # Three points always fit in the plane, so the distances are exact.
    assert placed[0, 2] == pytest.approx(error[0], abs=1e-4)
    assert placed[1, 2] == pytest.approx(error[1], abs=1e-4)
    assert placed[0, 1] == pytest.approx(cross, abs=1e-4)
    for members, gibbs in zip(found.members, found.gibbs, strict=True):
        assert members.mean(axis=0) == pytest.approx(gibbs, abs=1e-9)
    assert len(found.member_stress) == 2


def test_without_truth_only_the_stages_are_placed():
    votes = np.random.default_rng(0).integers(0, 3, (4, 20))
    assert map_stages([votes], None).truth is None


def test_unusable_inputs_are_rejected():
    with pytest.raises(InputError, match="the same test images"):
        map_stages([np.zeros((2, 5)), np.zeros((2, 6))], None)
    with pytest.raises(InputError, match="at least one stage"):
        map_stages([], None)
    with pytest.raises(InputError, match="finite"):
        scale([[0.0, np.nan], [np.nan, 0.0]])
