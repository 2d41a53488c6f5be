"""The lazy choice of the largest gain is compared with one that computes all gains at every step."""

import numpy as np
import pytest

import versionspace as vs
from versionspace.query import cover, coverage, greedy_cover
from versionspace.query.cover import Ball, Cover, Gaussian
from versionspace.query.unit_rows import sample_rows


def features(count, width=8, seed=0, clusters=6):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(clusters, width))
    return (centres[rng.integers(0, clusters, count)] + 0.5 * rng.normal(size=(count, width))).astype(np.float32)


def make(points, kernel, labelled=0, seed=0):
    weights = np.random.default_rng(seed).random(len(points)) if isinstance(kernel, Gaussian) else np.ones(len(points))
    return Cover(points, features(labelled, seed=9), np.arange(len(points)), weights, kernel)


def plain_greedy(one, images, k, ties):
    """Compute all gains at every step."""
    chosen, utilities = [], []
    for _ in range(k):
        gains = one.gains(np.arange(images))
        gains[chosen] = -1
        tied = np.flatnonzero(gains == gains.max())
        chosen.append(int(tied[np.argmin(ties[tied])]))
        utilities.append(gains.max())
        one.add(chosen[-1])
    return chosen, utilities


@pytest.mark.parametrize("cached", [700, 300, 1])
@pytest.mark.parametrize("labelled", [0, 7])
@pytest.mark.parametrize("kernel", [Gaussian(0.4), Gaussian(0.05), Ball(0.5)], ids=str)
def test_the_choice_is_that_of_the_plain_greedy_algorithm(kernel, labelled, cached, monkeypatch):
    points = features(700)
    monkeypatch.setattr(greedy_cover, "CACHE", 2 * 700 * cached)
    monkeypatch.setattr(greedy_cover, "_UPDATED", 64)
    ties = np.random.default_rng(1).permutation(700)
    found = greedy_cover.choose_greedily(make(points, kernel, labelled), 700, 60, ties)
    chosen, utilities = plain_greedy(make(points, kernel, labelled), 700, 60, ties)
    assert found.indices.tolist() == chosen
    np.testing.assert_allclose(found.utilities, utilities, rtol=1e-4, atol=1e-9)


def test_few_images_are_evaluated_in_full(monkeypatch):
    evaluated = []
    real = Cover.gains
    monkeypatch.setattr(Cover, "gains", lambda self, some: (evaluated.append(len(some)), real(self, some))[1])
    points = np.random.default_rng(0).normal(size=(2000, 64)).astype(np.float32)  # without clusters
    vs.query("maxherding", 30, features=points, seed=0)
    assert sum(evaluated) < 30 * 50


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Ball(0.6)], ids=str)
def test_bounds_are_never_below_the_gains_and_close_to_them(kernel, monkeypatch):
    monkeypatch.setattr(greedy_cover, "CACHE", 2 * 600 * 400)
    one = make(features(600), kernel)
    bounds = greedy_cover.Bounds(one, 600)
    for step in range(40):
        gains = one.gains(np.arange(600))
        assert (bounds.values >= gains - bounds.slack).all()
        current = bounds.values[bounds.current]
        np.testing.assert_allclose(current, gains[bounds.current], rtol=2e-3, atol=5e-5)
        bounds.highest(16, -np.inf, np.zeros(0, np.int64))
        bounds.take(step * 13)
    assert 400 <= bounds.current.sum() < 600


def test_gains_add_up_to_what_is_covered():
    one = make(features(300), Gaussian(0.4), labelled=3)
    before = one.uncovered()
    found = greedy_cover.choose_greedily(one, 300, 10, np.arange(300))
    assert before - one.uncovered() == pytest.approx(found.utilities.sum(), rel=1e-5)


def test_copies_are_tied_and_the_hash_decides():
    """Copies have bitwise equal gains, wherever they are in the pool."""
    points = np.tile(features(90), (5, 1))
    ties = np.random.default_rng(3).permutation(450)
    found = greedy_cover.choose_greedily(make(points[:450], Ball(0.3)), 450, 8, ties).indices
    herded = greedy_cover.choose_greedily(
        Cover(points, points[:0], np.arange(450), np.ones(450), Gaussian(0.3)), 450, 8, ties
    ).indices
    for image in (*found, *herded):
        copies = np.arange(image % 90, 450, 90)
        assert image == copies[np.argmin(ties[copies])]


def test_images_of_weight_0_do_not_change_the_gains():
    points = features(80)
    some = Cover(points, points[:2], np.arange(80), np.repeat([1.0, 0.0], 40), Gaussian(0.4))
    half = Cover(points, points[:2], np.arange(40), np.ones(40), Gaussian(0.4))
    assert len(some.covered) == 40
    np.testing.assert_allclose(some.gains(np.arange(80)), half.gains(np.arange(80)) / 2, rtol=1e-5)


def test_blocks_do_not_change_the_choice(monkeypatch):
    points, centres = features(500, seed=5), features(30, seed=6)
    given = {"features": points, "labelled_features": centres, "seed": 0}
    whole = vs.query("maxherding", 20, **given, return_utilities=True)
    monkeypatch.setattr(greedy_cover, "_ELEMENTS", 1_000)
    monkeypatch.setattr(greedy_cover, "CENTRES", 40)
    monkeypatch.setattr(cover, "CENTRES", 40)
    blocked = vs.query("maxherding", 20, **given, return_utilities=True)
    assert blocked[0].tolist() == whole[0].tolist()
    np.testing.assert_array_equal(blocked[1], whole[1])


def test_features_on_disk_are_read_in_blocks(tmp_path):
    points = features(3000, width=40).astype(np.float16)
    points.tofile(tmp_path / "pool.bin")
    mapped = np.memmap(tmp_path / "pool.bin", np.float16, "r", shape=points.shape)
    for method in ("maxherding", "probcover", "typiclust", "coreset"):
        found = vs.query(method, 10, features=mapped, seed=0)
        assert found.tolist() == vs.query(method, 10, features=points.astype(np.float32), seed=0).tolist()


def test_codes_are_ordered_and_enclose_their_numbers():
    values = np.float32([0, 1e-12, 2**-31, 1e-7, 0.1, 0.100001, 0.5, 1 - 2**-24, 1])
    up, down = greedy_cover._round_up(values.copy()), greedy_cover._round_down(values)
    assert (np.diff(up.astype(int)) >= 0).all()
    assert (greedy_cover._decode(up) >= values).all()
    assert (greedy_cover._decode(down) <= np.maximum(values, 2**-31)).all()
    np.testing.assert_allclose(greedy_cover._decode(up), values, rtol=2**-11, atol=2**-31)
    assert greedy_cover._decode(up)[-1] == 1


def test_the_sample_is_drawn_from_the_whole_pool_by_the_seed():
    samples = [sample_rows(1000, 50, seed) for seed in range(40)]
    assert all(len(set(sample)) == 50 and (np.diff(sample) > 0).all() for sample in samples)
    assert len({tuple(sample) for sample in samples}) == 40
    assert abs(np.mean(samples) - 499.5) < 30
    assert sample_rows(50, 50, 0).tolist() == list(range(50))


def test_the_sample_is_of_the_size_asked_for(monkeypatch):
    monkeypatch.setattr(coverage, "SAMPLE", 100)
    sizes = []
    real = Cover.__init__

    def counted(self, features, labelled, sample, *given, **options):
        sizes.append(len(sample))
        real(self, features, labelled, sample, *given, **options)

    monkeypatch.setattr(Cover, "__init__", counted)
    vs.query("maxherding", 3, features=features(400), seed=0)
    assert sizes == [100]
