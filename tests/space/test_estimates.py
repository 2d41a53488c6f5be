"""Diameters, prior mass, agreement and bias: compared with plain loops, and the identities between them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference as plain
import versionspace as vs
from committees import probabilities

committee = st.tuples(st.integers(2, 9), st.integers(1, 30), st.integers(1, 6), st.integers(0, 10**6))


def votes_of(shape):
    members, images, classes, seed = shape
    return np.random.default_rng(seed).integers(0, classes, (members, images))


@given(committee)
def test_prior_mass_equals_the_definition(shape):
    votes = votes_of(shape)
    images = range(votes.shape[1])
    np.testing.assert_allclose(vs.gibbs_error(votes), [plain.gibbs_error(votes, x) for x in images], atol=1e-14)
    np.testing.assert_allclose(vs.variation_ratio(votes), [plain.variation_ratio(votes, x) for x in images], atol=1e-14)


@given(committee)
def test_diameters_equal_the_definition(shape):
    votes = votes_of(shape)
    members = list(range(len(votes)))
    assert vs.pairwise_disagreement(votes) == pytest.approx(plain.pwd(members, votes), abs=1e-14)
    expected = [[plain.distance(a, b) for b in votes.tolist()] for a in votes.tolist()]
    assert vs.disagreement_matrix(votes).tolist() == expected
    hard = plain.one_hot(votes.tolist(), int(votes.max()) + 1)
    assert vs.gibbs_vote_disagreement(votes, vote="hard") == pytest.approx(plain.gvd(members, hard, votes), abs=1e-14)


@given(committee)
@settings(max_examples=50)
def test_the_soft_vote_equals_the_definition(shape):
    members, images, classes, seed = shape
    probs = probabilities(members, images, classes, seed=seed)
    everyone = list(range(members))
    assert vs.majority_vote(probs).tolist() == [plain.soft_vote(everyone, probs, x) for x in range(images)]
    expected = plain.gvd(everyone, probs, plain.votes(probs))
    assert vs.gibbs_vote_disagreement(probs) == pytest.approx(expected, abs=1e-14)


@given(committee)
def test_the_hard_vote_is_the_lowest_of_the_most_frequent(shape):
    votes = votes_of(shape)
    expected = [min(np.flatnonzero(np.bincount(column) == np.bincount(column).max())) for column in votes.T]
    assert vs.majority_vote(votes, vote="hard").tolist() == expected


@given(committee)
def test_mean_gibbs_error_equals_the_plug_in_disagreement(shape):
    votes = votes_of(shape)
    plug_in = vs.disagreement_matrix(votes).sum() / len(votes) ** 2
    assert vs.gibbs_error(votes).mean() == pytest.approx(plug_in, abs=1e-12)


@given(committee)
def test_mean_variation_ratio_equals_the_hard_gvd(shape):
    votes = votes_of(shape)
    gvd = vs.gibbs_vote_disagreement(votes, vote="hard")
    assert vs.variation_ratio(votes).mean() == pytest.approx(gvd, abs=1e-12)


@given(committee)
def test_gvd_is_between_half_the_plug_in_pwd_and_the_plug_in_pwd(shape):
    votes = votes_of(shape)
    plug_in = vs.disagreement_matrix(votes).sum() / len(votes) ** 2
    gvd = vs.gibbs_vote_disagreement(votes, vote="hard")
    assert plug_in / 2 - 1e-12 <= gvd <= plug_in + 1e-12


@given(committee)
def test_error_equals_wrong_agreement_plus_distance(shape):
    votes = votes_of(shape)
    truth = np.random.default_rng(shape[3] + 1).integers(0, shape[2], votes.shape[1])
    bias = vs.wrong_agreement(votes, truth)
    assert bias == pytest.approx(plain.wrong_agreement(votes, truth), abs=1e-14)
    np.testing.assert_array_equal(
        vs.agreement_region(votes), [plain.agreement(votes, x) for x in range(votes.shape[1])]
    )
    distance = vs.projection_distance(votes, truth, vote="hard")
    mean = np.mean([plain.projection_distance(member, votes, truth) for member in votes])
    assert distance.gibbs == pytest.approx(mean, abs=1e-14)
    assert (votes != truth).mean() == pytest.approx(bias + distance.gibbs, abs=1e-12)
    vote = vs.majority_vote(votes, vote="hard")
    assert (vote != truth).mean() == pytest.approx(bias + distance.vote, abs=1e-12)


def test_pwd_is_unbiased_and_gvd_is_biased_as_documented():
    """With independent votes and class probabilities .4/.35/.25, the true values are .655 and .60."""
    rng = np.random.default_rng(0)
    p = np.array([0.4, 0.35, 0.25])
    names = rng.permuted(np.tile(np.arange(3), (60_000, 1)), axis=1)  # so that ties favour no class
    for size, low, loo in ((20, 0.537, 0.634), (5, 0.434, 0.649)):
        votes = names[np.arange(60_000), rng.choice(3, size=(size, 60_000), p=p)]
        assert vs.pairwise_disagreement(votes) == pytest.approx(1 - (p**2).sum(), abs=0.004)
        assert vs.gibbs_vote_disagreement(votes, vote="hard") == pytest.approx(low, abs=0.005)
        unanimous = np.zeros((size, 1), int)
        left_out = -vs.utilities("gvd-loo", pool=unanimous, reference=votes, vote="hard")[0]
        assert left_out == pytest.approx(loo, abs=0.005)


@given(committee, st.randoms(use_true_random=False))
def test_member_order_does_not_matter(shape, shuffler):
    votes = votes_of(shape)
    order = list(range(len(votes)))
    shuffler.shuffle(order)
    assert vs.pairwise_disagreement(votes[order]) == vs.pairwise_disagreement(votes)
    assert vs.gibbs_vote_disagreement(votes[order], "hard") == vs.gibbs_vote_disagreement(votes, "hard")
    np.testing.assert_array_equal(vs.gibbs_error(votes[order]), vs.gibbs_error(votes))


def test_identical_members_have_diameter_0():
    probs = np.repeat(probabilities(1, 40, 5), 7, axis=0)
    assert vs.pairwise_disagreement(probs) == 0.0
    assert vs.gibbs_vote_disagreement(probs) == 0.0
    assert vs.gibbs_error(probs).tolist() == [0.0] * 40


def test_one_member_has_diameter_0():
    assert vs.pairwise_disagreement([[0, 1, 2]]) == 0.0
    assert vs.gibbs_vote_disagreement([[0, 1, 2]], vote="hard") == 0.0


def test_votes_have_the_smallest_integer_type():
    assert vs.majority_vote(probabilities(2, 3, 256)).dtype == np.uint8
    assert vs.majority_vote(probabilities(2, 3, 257)).dtype == np.uint16
