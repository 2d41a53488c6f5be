"""Coverage methods: each greedy step is compared with its definition in plain loops."""

import numpy as np
import pytest

import reference as plain
import versionspace as vs
from committees import probabilities
from versionspace import rng
from versionspace.query import coverage

N = 40


def centred(points, centres):
    """Both scaled to length 1 and about the mean of the pool: of three features, all components are kept."""
    points, centres = (np.array([plain.unit(row) for row in rows]).reshape(-1, 3) for rows in (points, centres))
    return points - points.mean(axis=0), centres - points.mean(axis=0)


def radius(method, features, labelled, seed):
    """The width of the kernel that a query with this seed uses."""
    points, centres = np.float32([plain.unit(row) for row in features]), [plain.unit(row) for row in labelled]
    if method == "uherding" and len(labelled):
        return min(plain.euclidean(a, b) for a in centres for b in centres if a != b) / 2**0.5
    return coverage.RADIUS * coverage.median_distance(points, rng.key(seed, "coverage"))


def features(count=N, seed=0):
    return np.random.default_rng(seed).normal(1, 1, (count, 3))


def weights(method, pool):
    if method == "maxherding" or pool is None:
        return np.ones(N)
    if pool.ndim == 2:
        return vs.gibbs_error(pool) if method == "pwd-cover" else vs.variation_ratio(pool)
    mean = pool.mean(axis=0)
    if method == "uherding":
        return [1 + plain.margin(pool, x) for x in range(N)]
    return 1 - (mean**2).sum(axis=1) if method == "pwd-cover" else 1 - mean.max(axis=1)


@pytest.mark.parametrize("labelled", [0, 5])
@pytest.mark.parametrize(
    ("method", "kind"),
    [("maxherding", ""), ("pwd-cover", "probs"), ("pwd-cover", "votes"), ("pwd-cover", ""), ("gvd-cover", "probs"),
     ("gvd-cover", "votes"), ("gvd-cover", ""), ("uherding", "probs"), ("uherding", "one member"), ("uherding", "")],
)  # fmt: skip
def test_every_step_takes_the_image_with_the_largest_gain(method, kind, labelled):
    points, centres = features(), features(labelled, seed=1)
    probs = probabilities(6, N, 4)
    pool = {"probs": probs, "votes": probs.argmax(axis=2), "one member": probs[:1], "": None}[kind]
    given = {"features": points, "labelled_features": centres if labelled else None, "seed": 3}
    points, centres = centred(points, centres)
    width, delta = radius(method, points, centres, seed=3), weights(method, pool)
    if method in ("pwd-cover", "gvd-cover"):
        delta = [plain.doubted(points, centres, weight, width, x) for x, weight in enumerate(delta)]

    def gain(picks, x):
        return plain.uncovered_gain(points, [*centres, *points[picks]], delta, width, x)

    if pool is not None:
        given["pool"] = pool
    chosen, utilities = vs.query(method, 10, return_utilities=True, **given)
    for step, (image, utility) in enumerate(zip(chosen, utilities, strict=True)):
        before = chosen[:step].tolist()
        assert utility == pytest.approx(gain(before, image), rel=1e-4)
        # Two images apart from all others cover each other alike, so gains tie.
        assert utility == pytest.approx(max(gain(before, x) for x in range(N) if x not in before), rel=1e-4)
    np.testing.assert_allclose(vs.utilities(method, **given), [gain([], x) for x in range(N)], rtol=1e-4)


def test_members_that_agree_everywhere_are_herded():
    points, agreed = features(), np.zeros((4, N), int)
    herded = vs.query("maxherding", 8, features=points, seed=0).tolist()
    assert vs.query("pwd-cover", 8, pool=agreed, features=points, seed=0).tolist() == herded
    assert vs.query("gvd-cover", 8, features=points, seed=0).tolist() == herded


def test_agreement_counts_only_where_labels_cover():
    """All members agree on the first half of the pool, which is one cluster; a label of it makes that evidence."""
    points = np.concatenate([np.eye(4)[np.zeros(20, int)], np.eye(4)[np.arange(20) % 3 + 1]])
    points += 0.3 * np.random.default_rng(0).normal(size=(N, 4))
    pool = np.zeros((4, N), int)
    pool[:2, 20:] = 1
    given = {"features": points, "seed": 0}
    np.testing.assert_array_equal(vs.utilities("pwd-cover", pool=pool, **given), vs.utilities("maxherding", **given))
    given["labelled_features"] = points[:3]
    doubted, herded = vs.utilities("pwd-cover", pool=pool, **given), vs.utilities("maxherding", **given)
    agreed, split = (doubted[half].sum() / herded[half].sum() for half in (slice(20), slice(20, None)))
    assert agreed < 0.85 * split


def test_a_sample_of_the_pool_serves_for_the_expectation(monkeypatch):
    points = np.repeat(np.eye(4), [150, 80, 50, 20], axis=0) + 0.2 * np.random.default_rng(4).normal(size=(300, 4))
    whole = vs.utilities("maxherding", features=points, seed=0)
    monkeypatch.setattr(coverage, "SAMPLE", 150)
    sampled = vs.utilities("maxherding", features=points, seed=0)
    assert np.corrcoef(whole, sampled)[0, 1] > 0.9
    assert not np.array_equal(whole, sampled)


@pytest.mark.parametrize("points", [np.zeros((5, 3)), np.ones((5, 3)), np.ones((1, 3))])
@pytest.mark.parametrize("method", ["maxherding", "uherding", "probcover", "typiclust"])
def test_features_without_any_difference_are_fine(method, points):
    orders = [tuple(vs.query(method, len(points), features=points, seed=seed)) for seed in range(10)]
    assert {tuple(sorted(order)) for order in orders} == {tuple(range(len(points)))}
    assert len(set(orders)) > 5 or len(points) == 1  # all are tied, and the seed decides


@pytest.mark.parametrize("count", [0, 1])
def test_uherding_has_a_fixed_radius_while_there_are_no_two_labels(count):
    given = {"features": features(), "labelled_features": features(count, seed=1), "seed": 0}
    assert vs.query("uherding", 5, **given).tolist() == vs.query("maxherding", 5, **given).tolist()


def test_uherding_ignores_copies_among_the_labels():
    centres = features(4, seed=1)
    copies = np.concatenate([centres, centres * 2])
    expected = vs.query("uherding", 5, features=features(), labelled_features=centres, seed=0)
    assert vs.query("uherding", 5, features=features(), labelled_features=copies, seed=0).tolist() == expected.tolist()
    only_copies = np.repeat(centres[:1], 3, axis=0)
    expected = vs.query("maxherding", 5, features=features(), labelled_features=centres[:1], seed=0)
    found = vs.query("uherding", 5, features=features(), labelled_features=only_copies, seed=0)
    assert found.tolist() == expected.tolist()


def test_the_length_of_features_does_not_matter():
    points = features()
    scaled = points * np.random.default_rng(0).uniform(0.1, 1e30, (N, 1))
    for method in ("maxherding", "probcover", "typiclust"):
        assert vs.query(method, 8, features=scaled, seed=0).tolist() == vs.query(
            method, 8, features=points, seed=0).tolist()  # fmt: skip
