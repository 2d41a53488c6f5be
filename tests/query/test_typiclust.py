"""TypiClust against its definition in plain loops, and the k-means clusters on which it is based."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

import reference as plain
import versionspace as vs
from versionspace import rng
from versionspace.query import kmeans, typiclust
from versionspace.query.inputs import Problem
from versionspace.query.unit_rows import unit_rows


def features(count, seed=0, clusters=7, width=6):
    draws = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(clusters, width))
    return centres[draws.integers(0, clusters, count)] + 0.2 * draws.normal(size=(count, width))


def clusters_of(points, labelled, k, seed):
    """The clusters that a query with this seed uses: of the pool, and of the labelled images."""
    key = rng.key(seed, "typiclust")
    both = unit_rows(np.concatenate([points, labelled]), slice(None))
    found = kmeans.nearest_centres(both, kmeans.fit_centres(both, len(labelled) + k, key)).tolist()
    return found[: len(points)], found[len(points) :]


@pytest.mark.parametrize(("count", "labelled", "k"), [(120, 0, 10), (120, 6, 5), (60, 3, 20), (12, 2, 6), (30, 4, 30)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_most_typical_images_of_the_largest_clusters_without_a_label(count, labelled, k, seed):
    points, centres = features(count), features(labelled, seed=5)
    chosen, utilities = vs.query(
        "typiclust", k, features=points, labelled_features=centres, seed=seed, return_utilities=True
    )
    clusters = clusters_of(points, centres, k, seed)
    for step, (image, utility) in enumerate(zip(chosen.tolist(), utilities, strict=True)):
        visited = plain.typiclust_visit(*clusters, chosen[:step].tolist())
        typical = {x: plain.typicality(points, visited, x) for x in visited}
        assert utility == pytest.approx(typical[image], rel=1e-4)
        assert utility == pytest.approx(max(typical.values()), rel=1e-4)  # two nearest neighbours tie


def test_utilities_are_typicality_in_the_first_cluster():
    points = features(80)
    scores = vs.utilities("typiclust", features=points, seed=0)
    cluster = np.flatnonzero(np.array(clusters_of(points, points[:0], 1, 0)[0]) == 0).tolist()
    np.testing.assert_allclose(scores, [plain.typicality(points, cluster, x) for x in range(80)], rtol=1e-5)
    centres = points[:2] * [[1], [-1]]
    scores = vs.utilities("typiclust", features=points, labelled_features=centres, seed=0)
    assert 0 < (scores > 0).sum() < 80


def test_every_cluster_is_visited_before_one_is_visited_again():
    points = features(300, clusters=8)
    chosen = vs.query("typiclust", 8, features=points, seed=0)
    assert len({int(np.argmax(plain.unit(points[x]))) for x in chosen}) >= 4
    found = np.array(clusters_of(points, points[:0], 8, 0)[0])[chosen]
    assert len(set(found.tolist())) == 8


def test_small_clusters_come_last():
    """Three outliers far from everything are clusters of their own and are not asked for."""
    crowd = np.random.default_rng(0).normal(size=(40, 3)) * 0.05 + [1, 0, 0]
    points = np.concatenate([crowd, -np.eye(3)])
    assert set(vs.query("typiclust", 8, features=points, seed=0)) <= set(range(40))
    assert set(vs.query("typiclust", 43, features=points, seed=0)) == set(range(43))


def test_a_large_cluster_is_sampled(monkeypatch):
    points = features(400, clusters=1)
    monkeypatch.setattr(typiclust, "LARGEST", 50)
    scores = vs.utilities("typiclust", features=points, seed=0)
    assert (scores > 0).sum() == 50
    assert scores[vs.query("typiclust", 1, features=points, seed=0)] == scores.max()


def test_the_number_of_clusters_is_limited(monkeypatch):
    monkeypatch.setattr(typiclust, "CLUSTERS", 4)
    problem = Problem(images=200, seed=0, features=features(200))
    assert sum(map(len, typiclust._visited_clusters(problem, 50))) == 4
    assert len(set(vs.query("typiclust", 50, features=features(200), seed=0).tolist())) == 50


def inertia(points, centres):
    return sum(float(((points[n] - centres) ** 2).sum(axis=1).min()) for n in range(len(points)))


@pytest.mark.parametrize("clusters", [1, 3, 7, 20])
def test_clusters_are_as_tight_as_those_of_scikit_learn(clusters):
    points = unit_rows(features(500), slice(None))
    ours = [inertia(points, kmeans.fit_centres(points, clusters, seed)) for seed in range(5)]
    theirs = [KMeans(clusters, n_init=1, random_state=seed).fit(points).inertia_ for seed in range(5)]
    assert np.median(ours) < 1.2 * np.median(theirs)
    assert min(ours) < 1.05 * min(theirs)


def test_centres_are_the_means_of_their_rows():
    points = unit_rows(features(300), slice(None))
    centres = kmeans.fit_centres(points, 7, seed=0)
    nearest = kmeans.nearest_centres(points, centres)
    for c in range(7):
        np.testing.assert_allclose(centres[c], points[nearest == c].mean(axis=0), atol=1e-5)
        assert ((points[nearest == c] - centres[c]) ** 2).sum() <= ((points[nearest == c] - centres[c - 1]) ** 2).sum()


def test_there_are_no_more_clusters_than_distinct_rows():
    points = np.tile(unit_rows(features(4), slice(None)), (10, 1))
    assert len(kmeans.fit_centres(points, 9, seed=0)) == 4
    assert len(kmeans.fit_centres(np.zeros((5, 2), np.float32), 9, seed=0)) == 1
