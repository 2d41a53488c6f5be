"""Methods that choose a set: each greedy step is compared with its definition in plain loops."""

import numpy as np
import pytest

import reference as plain
import versionspace as vs
from committees import probabilities
from versionspace.query import batchbald

pytestmark = pytest.mark.filterwarnings("ignore::versionspace.errors.TieWarning")


def greedy(images, k, score):
    """Return the image with the highest score at each step, and that score. Ties are not handled."""
    picks, scores = [], []
    for _ in range(k):
        left = [x for x in range(images) if x not in picks]
        values = [score(picks, x) for x in left]
        picks.append(left[plain.argmax(values)])
        scores.append(max(values))
    return picks, scores


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("labelled", [0, 1, 8])
def test_coreset_is_greedy_k_centre(dtype, labelled):
    rng = np.random.default_rng(labelled)
    features = rng.normal(3, 1, (50, 6)).astype(dtype)
    centres = rng.normal(3, 1, (labelled, 6)).astype(dtype)
    first = vs.query("coreset", 1, features=features, labelled_features=centres, seed=0).tolist()

    def score(picks, x):
        if not picks and not labelled:
            return float(x == first[0])
        return plain.nearest(features, [*centres, *(features[p] for p in picks)], x)

    picks, scores = greedy(50, 12, score)
    found, utilities = vs.query(
        "coreset", 12, features=features, labelled_features=centres, seed=0, return_utilities=True
    )
    assert found.tolist() == picks
    np.testing.assert_allclose(utilities[1:], scores[1:], rtol=1e-12)
    expected = [plain.nearest(features, centres, x) for x in range(50)]
    np.testing.assert_allclose(vs.utilities("coreset", features=features, labelled_features=centres), expected)


def test_coreset_without_labels_starts_at_a_random_image():
    features = np.random.default_rng(0).normal(size=(200, 3))
    starts = {int(vs.query("coreset", 1, features=features, seed=seed)[0]) for seed in range(30)}
    assert len(starts) > 20


def test_coreset_chooses_copies_last_even_if_products_cancel():
    """Far from the origin, ‖x‖² − 2x·c + ‖c‖² loses all digits in float32; differences do not."""
    rng = np.random.default_rng(1)
    features = (10_000 + rng.normal(size=(40, 8))).astype(np.float32)
    twice = np.concatenate([features, features])
    chosen, utilities = vs.query("coreset", 80, features=twice, seed=0, return_utilities=True)
    assert sorted(chosen[:40] % 40) == list(range(40))
    assert utilities[40:].tolist() == [0.0] * 40
    assert (np.diff(utilities[1:]) <= 0).all()


def test_coreset_finds_the_nearest_label_despite_a_common_offset():
    draw = np.random.default_rng(3)
    labelled = (100 + 0.05 * draw.standard_normal((40, 64))).astype(np.float32)
    pool = np.concatenate([labelled, (100 + 0.05 * draw.standard_normal((40, 64))).astype(np.float32)])
    scores = vs.utilities("coreset", features=pool, labelled_features=labelled)
    gaps = pool[:, None].astype(np.float64) - labelled
    assert (scores[:40] == 0).all()
    np.testing.assert_allclose(scores, np.sqrt((gaps**2).sum(axis=2).min(axis=1)), rtol=1e-12)


def test_badge_starts_with_the_longest_gradient_and_draws_by_squared_distance():
    pool = probabilities(1, 5, 3, seed=4)
    features = np.random.default_rng(0).normal(size=(5, 4))
    gradients = [plain.gradient_embedding(pool[0][x], features[x]) for x in range(5)]
    zero = [0.0] * 12
    norms = [plain.euclidean(g, zero) for g in gradients]
    np.testing.assert_allclose(vs.utilities("badge", pool=pool, features=features), norms, rtol=1e-12)
    first = plain.argmax(norms)
    squared = np.array([plain.euclidean(g, gradients[first]) ** 2 for g in gradients])
    seconds = np.zeros(5)
    for seed in range(3000):
        chosen, utilities = vs.query("badge", 2, pool=pool, features=features, seed=seed, return_utilities=True)
        assert chosen[0] == first
        assert utilities[1] ** 2 == pytest.approx(squared[chosen[1]], rel=1e-9)
        seconds[chosen[1]] += 1
    expected = squared / squared.sum() * 3000
    drawn = expected > 0
    assert ((seconds - expected)[drawn] ** 2 / expected[drawn]).sum() < 16.3  # χ², 3 degrees of freedom, p = .001


def test_badge_never_repeats_an_image_if_all_are_copies():
    pool = np.repeat(probabilities(1, 1, 3), 30, axis=1)
    features = np.ones((30, 4))
    assert sorted(vs.query("badge", 30, pool=pool, features=features, seed=0).tolist()) == list(range(30))


@pytest.mark.parametrize("at_once", [1, 4_000_000])
@pytest.mark.parametrize("classes", [2, 4])
def test_batchbald_is_greedy_joint_information(classes, at_once, monkeypatch):
    monkeypatch.setattr(batchbald, "_ELEMENTS", at_once)  # with 1, the bounds are checked after every image
    pool = probabilities(5, 20, classes, seed=classes, noise=2.0)
    picks, scores = greedy(20, 4, lambda picks, x: plain.batchbald_gain(pool, picks, x))
    found, utilities = vs.query("batchbald", 4, pool=pool, seed=0, return_utilities=True)
    assert found.tolist() == picks
    np.testing.assert_allclose(utilities, scores, atol=1e-10)


def test_batchbald_samples_outcomes_if_there_are_too_many(monkeypatch):
    """Sampled gains are close to the exact ones, and the same seed draws the same samples."""
    pool = probabilities(5, 20, 4, seed=4, noise=2.0)
    exact, gains = vs.query("batchbald", 4, pool=pool, seed=0, return_utilities=True)
    monkeypatch.setattr(batchbald, "OUTCOMES", 3000)
    monkeypatch.setattr(
        batchbald.Outcomes, "initial", staticmethod(lambda m, most: batchbald.Outcomes(*empty_samples(m)))
    )
    sampled, estimates = vs.query("batchbald", 4, pool=pool, seed=0, return_utilities=True)
    again, _ = vs.query("batchbald", 4, pool=pool, seed=0, return_utilities=True)
    assert sampled.tolist() == again.tolist()
    assert sampled[0] == exact[0]
    np.testing.assert_allclose(estimates, gains, atol=0.03)


def test_sampled_joint_information_is_at_most_that_of_the_members(monkeypatch):
    """Members drawn uniformly carry ln M nats: a batch cannot tell more, however its outcomes are sampled."""
    pool = probabilities(8, 60, 5, seed=3, noise=4.0)
    monkeypatch.setattr(batchbald, "OUTCOMES", 200)
    for seed in range(5):
        _, gains = vs.query("batchbald", 20, pool=pool, seed=seed, return_utilities=True)
        assert gains.sum() <= np.log(8) + 1e-3


def test_sampling_errors_of_gains_cancel():
    """Both entropies of a gain are those of the same samples."""
    pool = probabilities(6, 30, 4, seed=2, noise=2.0)
    exact = batchbald.Outcomes.initial(6, 4**6)
    for image in range(6):
        exact = exact.extend(pool[:, image], np.random.default_rng(0))
    assert exact.exact
    errors = []
    for seed in range(10):
        sampled, generator = batchbald.Outcomes(*empty_samples(6)), np.random.default_rng(seed)
        for image in range(6):
            sampled = sampled.extend(pool[:, image], generator)
        errors.append(sampled.gain(pool[:, 6:]) - exact.gain(pool[:, 6:]))
    assert np.sqrt(np.square(errors).mean()) < 0.004  # 0.005 if only one of the entropies is that of the samples


def empty_samples(members):
    """Return 3,000 empty outcomes that count as samples, so that every later label is sampled."""
    return np.full(3000, 1 / 3000), np.full((3000, members), 1 / members), False, 3000


def test_batchbald_switches_from_exact_to_sampled(monkeypatch):
    monkeypatch.setattr(batchbald, "OUTCOMES", 20)
    pool = probabilities(6, 30, 4, seed=1, noise=2.0)
    chosen, gains = vs.query("batchbald", 12, pool=pool, seed=5, return_utilities=True)
    assert len(set(chosen.tolist())) == 12
    assert np.isfinite(gains).all()
    assert chosen.tolist() == vs.query("batchbald", 12, pool=pool, seed=5).tolist()


def test_batchbald_avoids_copies_of_its_picks():
    """Copies of the most informative image gain nothing after the first; bald would choose all of them."""
    sure = np.repeat(probabilities(1, 10, 3, seed=1), 4, axis=0)
    split = np.eye(3)[np.array([0, 1, 2, 0])][:, None]
    other = np.eye(3)[np.array([0, 0, 0, 1])][:, None]
    pool = np.concatenate([split, split, split, other, sure], axis=1)
    assert set(vs.query("bald", 3, pool=pool, seed=0).tolist()) == {0, 1, 2}
    assert vs.query("batchbald", 2, pool=pool, seed=0).tolist()[1] == 3


@pytest.mark.usefixtures("either_kernel")
@pytest.mark.parametrize("vote", ["soft", "hard"])
def test_gvd_batch_scores_the_refinement_of_its_picks(vote):
    pool = probabilities(9, 30, 4, seed=7, noise=2.5)
    reference = probabilities(9, 40, 4, seed=8, noise=2.5)
    pool_votes, ref_votes = plain.votes(pool), plain.votes(reference)
    probs = reference if vote == "soft" else plain.one_hot(ref_votes, 4)
    found, utilities = vs.query(
        "gvd-batch", 6, pool=pool, reference=reference, vote=vote, seed=0, return_utilities=True
    )
    refined = []
    for j, (x, utility) in enumerate(zip(found.tolist(), utilities.tolist(), strict=True)):
        scores = {}
        for other in set(range(30)) - set(found[:j].tolist()):
            scores[other] = -max(plain.gvd(S, probs, ref_votes) for S in plain.cells(pool_votes, [*refined, other]))
        assert utility == pytest.approx(max(scores.values()), abs=1e-14)
        assert scores[x] == pytest.approx(utility, abs=1e-14)
        refined = [*refined, x] if utility < 0 else []


def test_gvd_batch_does_not_repeat_a_split():
    """Nine images split the members into the same halves, one into other halves."""
    members = np.arange(8)
    pool = np.stack([members < 4] * 9 + [members % 2 == 0], axis=1).astype(int)
    reference = np.stack([members >> b & 1 for b in range(3)] * 2, axis=1)
    chosen = vs.query("gvd-batch", 2, pool=pool, reference=reference, vote="hard", seed=1)
    assert 9 in chosen.tolist()


def test_gvd_batch_restarts_when_nothing_is_left_to_refine():
    """After two picks every cell has one member; the third pick is scored on the whole version space again."""
    pool = np.array([[0, 0, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0], [1, 1, 0, 0]])
    reference = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    found, utilities = vs.query(
        "gvd-batch", 4, pool=pool, reference=reference, vote="hard", seed=0, return_utilities=True
    )
    whole = vs.utilities("gvd", pool=pool, reference=reference, vote="hard")
    restart = utilities.tolist().index(0.0) + 1
    assert utilities[restart] == whole[found[restart]]
    assert utilities[restart] < 0


def test_the_number_of_outcomes_of_batchbald_is_an_argument():
    """Sampled gains are close to exact ones and at most what is possible; more outcomes are closer."""
    pool = probabilities(20, 30, 6, noise=1.0)
    exact = batchbald.Outcomes.initial(20, 10**6)
    for image in range(4):
        exact = exact.extend(pool[:, image], None)
    assert exact.exact
    truth, errors = exact.gain(pool), {}
    for most in (100, 1000):
        squared = []
        for seed in range(5):
            sampled, generator = batchbald.Outcomes.initial(20, most), np.random.default_rng(seed)
            for image in range(4):
                sampled = sampled.extend(pool[:, image], generator)
            assert len(sampled.weights) == most
            squared.append((sampled.gain(pool) - truth) ** 2)
        errors[most] = np.sqrt(np.mean(squared))
    assert errors[1000] < 0.5 * errors[100] < 0.02
    chosen = vs.query("batchbald", 6, pool=pool, outcomes=10, seed=0, return_record=True)
    assert chosen.utilities.sum() <= np.log(20)
    assert (
        vs.query("batchbald", 6, pool=pool, outcomes=10_000, seed=0).tolist()
        == vs.query("batchbald", 6, pool=pool, seed=0).tolist()
    )
    for method, outcomes, message in (
        ("bald", 5, "outcomes: expected nothing, since 'bald'"),
        ("batchbald", 0, "whole"),
    ):
        with pytest.raises(vs.InputError, match=message):
            vs.query(method, 1, pool=pool, outcomes=outcomes)
