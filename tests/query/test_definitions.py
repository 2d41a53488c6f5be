"""Every pointwise utility is compared with its definition in plain loops."""

from fractions import Fraction

import numpy as np
import pytest

import reference as plain
import versionspace as vs
from committees import probabilities
from versionspace.query import epig

pytestmark = pytest.mark.filterwarnings("ignore::versionspace.errors.TieWarning")

SHAPES = [(2, 2, 1.0), (6, 4, 2.0), (20, 10, 0.7), (66, 3, 1.0)]


@pytest.fixture(params=SHAPES, ids=lambda shape: f"M{shape[0]} C{shape[1]}")
def case(request):
    members, classes, noise = request.param
    return (
        probabilities(members, 25, classes, seed=members, noise=noise, dtype=np.float32),
        probabilities(members, 17, classes, seed=members + 1, noise=noise, dtype=np.float32),
    )


@pytest.mark.parametrize(("name", "power"), [("pwd", 0), ("m-pwd", 1), ("m2-pwd", 2)])
@pytest.mark.usefixtures("either_kernel")
def test_worst_case_pairwise_disagreement(case, name, power):
    pool, reference = case
    pool_votes, ref_votes = plain.votes(pool), plain.votes(reference)
    expected = [plain.worst_case(pool_votes, x, lambda S: plain.pwd(S, ref_votes), power) for x in range(len(pool[0]))]
    found = vs.utilities(name, pool=pool, reference=reference)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0)


VOTED = [("gvd", plain.gvd, 0), ("m-gvd", plain.gvd, 1), ("gvd-loo", plain.gvd_loo, 0), ("gvd-batch", plain.gvd, 0)]


@pytest.mark.parametrize(("name", "diameter", "power"), VOTED, ids=[name for name, *_ in VOTED])
@pytest.mark.parametrize("vote", ["soft", "hard"])
@pytest.mark.usefixtures("either_kernel")
def test_worst_case_vote_disagreement(case, name, diameter, power, vote):
    pool, reference = case
    pool_votes, ref_votes = plain.votes(pool), plain.votes(reference)
    voters = reference if vote == "soft" else plain.one_hot(ref_votes, reference.shape[2])
    expected = [
        plain.worst_case(pool_votes, x, lambda S: diameter(S, voters, ref_votes), power) for x in range(len(pool[0]))
    ]
    found = vs.utilities(name, pool=pool, reference=reference, vote=vote)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0)


POINTWISE = [("entropy", lambda probs, x: plain.entropy(plain.mean_probs(probs, x)))]
POINTWISE += [("margin", plain.margin), ("least-confidence", plain.least_confidence), ("bald", plain.bald)]
POINTWISE += [("batchbald", plain.bald)]
POINTWISE += [("ge", lambda probs, x: plain.gibbs_error(plain.votes(probs), x))]
POINTWISE += [("vr", lambda probs, x: plain.variation_ratio(plain.votes(probs), x))]
POINTWISE += [("vote-entropy", lambda probs, x: plain.vote_entropy(plain.votes(probs), x))]


@pytest.mark.parametrize(("name", "definition"), POINTWISE, ids=[name for name, _ in POINTWISE])
def test_scores_that_need_only_the_pool(case, name, definition):
    pool, _ = case
    expected = [definition(pool, x) for x in range(len(pool[0]))]
    np.testing.assert_allclose(vs.utilities(name, pool=pool), expected, rtol=0, atol=1e-12)


def test_epig_is_the_mean_information_about_the_targets(case):
    pool, reference = case[0][:, :12], case[1][:, :6]
    found = vs.utilities("epig", pool=pool, reference=reference)
    # In float32, rows do not sum to 1 exactly.
    pool, reference = (probs / probs.sum(axis=2, keepdims=True) for probs in (np.float64(pool), np.float64(reference)))
    expected = [plain.epig(pool.tolist(), reference.tolist(), x) for x in range(12)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_epig_takes_the_mean_over_a_sample_of_many_targets(monkeypatch):
    pool, reference = probabilities(6, 40, 4), probabilities(6, 200, 4, seed=1)
    whole = vs.utilities("epig", pool=pool, reference=reference, seed=0)
    assert np.array_equal(whole, vs.utilities("epig", pool=pool, reference=reference, seed=1))
    monkeypatch.setattr(epig, "TARGETS", 100)
    sampled = vs.utilities("epig", pool=pool, reference=reference, seed=0)
    assert not np.array_equal(sampled, vs.utilities("epig", pool=pool, reference=reference, seed=1))
    np.testing.assert_allclose(sampled, whole, rtol=0.2)


def test_epig_of_members_that_say_nothing_about_each_other_is_0():
    """On the targets all members agree, so no label of the pool tells anything about them."""
    targets = np.repeat(probabilities(1, 9, 4), 5, axis=0)
    np.testing.assert_allclose(vs.utilities("epig", pool=probabilities(5, 8, 4), reference=targets), 0, atol=1e-12)


def test_power_bald_adds_noise_of_seed_and_position_to_the_logarithm_of_bald():
    pool, other = probabilities(5, 4000, 3, seed=1), probabilities(7, 4000, 4, seed=2)
    noise = vs.utilities("power-bald", pool=pool, seed=3) - np.log(vs.utilities("bald", pool=pool))
    again = vs.utilities("power-bald", pool=other, seed=3) - np.log(vs.utilities("bald", pool=other))
    np.testing.assert_allclose(noise, again, atol=1e-12)
    quantiles = np.quantile(noise, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(quantiles, -np.log(-np.log([0.1, 0.5, 0.9])), atol=0.12)  # of the Gumbel distribution


def test_power_bald_draws_images_in_proportion_to_bald():
    pool = probabilities(6, 5, 3, seed=4)
    share = vs.utilities("bald", pool=pool) / vs.utilities("bald", pool=pool).sum()
    first = [vs.query("power-bald", 1, pool=pool, seed=seed).item() for seed in range(2000)]
    counts = np.bincount(first, minlength=5)
    assert ((counts - 2000 * share) ** 2 / (2000 * share)).sum() < 18.5  # χ² with 4 degrees of freedom, p = .001


def test_power_bald_without_information_is_random():
    pool = np.repeat(probabilities(1, 300, 4), 5, axis=0)
    orders = {tuple(vs.query("power-bald", 5, pool=pool, seed=seed)) for seed in range(20)}
    assert len(orders) == 20


def test_equal_splits_have_bitwise_equal_utilities():
    """Vote counts 1, 2 and 3 have the same utility in any order of the classes."""
    votes = np.array([[0, 1, 1, 2, 2, 2], [2, 0, 0, 1, 1, 1], [1, 2, 2, 0, 0, 0], [2, 2, 2, 1, 1, 0]]).T
    for name in ("ge", "vr", "vote-entropy"):
        assert len(set(vs.utilities(name, pool=votes).tolist())) == 1


def test_dfal_prefers_the_smallest_perturbation():
    assert vs.query("dfal", 3, perturbations=[0.3, 0.1, 0.2]).tolist() == [1, 2, 0]
    assert vs.utilities("dfal", perturbations=[0.3, 0.0]).tolist() == [-0.3, 0.0]


def test_random_is_uniform():
    scores = vs.utilities("random", pool=np.zeros((1, 20_000), int), seed=1)
    assert 0.0 <= scores.min() < scores.max() < 1.0
    counts = np.histogram(scores, bins=20, range=(0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8  # χ² with 19 degrees of freedom, p = .001


def test_random_needs_no_pool_if_ids_are_passed():
    ids = np.array([70, 3, 12, 5])
    assert sorted(vs.query("random", 4, ids=ids, seed=0).tolist()) == [3, 5, 12, 70]


@pytest.mark.parametrize("name", ["m-pwd", "m2-pwd", "m-gvd"])
def test_equal_weighted_diameters_are_bitwise_equal(name):
    """Weighted diameters equal exact fractions. Two images that leave 3/25 with different counts tie under m-pwd."""
    reference = np.zeros((5, 10), np.int64)
    reference[[1, 4], :3] = 1
    pool = np.array([[0, 0], [0, 1], [1, 2], [2, 2], [3, 2]])
    if name == "m-pwd":
        scores = vs.utilities(name, pool=pool, reference=reference)
        assert scores.tolist() == [-0.12, -0.12]
        first = {vs.query(name, 1, pool=pool, reference=reference, seed=seed).item() for seed in range(20)}
        assert first == {0, 1}
    rng = np.random.default_rng(0)
    exponent = 2 if name == "m2-pwd" else 1
    for _ in range(50):
        M, T = int(rng.integers(3, 12)), int(rng.integers(1, 30))
        ref, votes = rng.integers(0, 3, (M, T)), rng.integers(0, 3, (M, 8))
        options = {"vote": "hard"} if name == "m-gvd" else {}
        found = vs.utilities(name, pool=votes, reference=ref, **options)
        assert found.tolist() == [-float(exact_weighted_diameter(votes[:, x], ref, name, exponent)) for x in range(8)]


def exact_weighted_diameter(votes, ref, name, exponent):
    """Return max_y (s/M)^exponent diam(S) as an exact fraction."""
    M, T = ref.shape
    diameters = []
    for y in set(votes.tolist()):
        S = ref[votes == y]
        s = len(S)
        if name == "m-gvd":
            wrong = sum(int((column != np.bincount(column).argmax()).sum()) for column in S.T)
            diameter = Fraction(wrong, s * T)
        else:
            diameter = Fraction(int((S[:, None] != S[None]).sum()), max(s * (s - 1), 1) * T)
        diameters.append(Fraction(s, M) ** exponent * diameter)
    return max(diameters)
