"""Which arrays are accepted, and the errors for those that are not."""

import re

import numpy as np
import pytest
import torch

import versionspace as vs
from committees import probabilities
from versionspace.space import beliefs

GOOD = probabilities(3, 6, 4)


class Wrapped:
    """Convertible to a NumPy array by ``__array__``."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)


@pytest.mark.parametrize(
    "given",
    [
        GOOD,
        GOOD.tolist(),
        Wrapped(GOOD),
        torch.tensor(GOOD),
        torch.tensor(GOOD, requires_grad=True),
        np.asfortranarray(GOOD),
        np.ascontiguousarray(GOOD.transpose(1, 0, 2)).transpose(1, 0, 2),
        GOOD.astype(np.longdouble),
        GOOD.astype(">f8"),
    ],
    ids=["numpy", "list", "__array__", "torch", "torch with grad", "fortran", "strided", "longdouble", "big-endian"],
)
def test_all_kinds_of_arrays_are_equivalent(given):
    np.testing.assert_array_equal(vs.gibbs_error(given), vs.gibbs_error(GOOD))
    np.testing.assert_array_equal(vs.majority_vote(given), vs.majority_vote(GOOD))
    np.testing.assert_allclose(vs.utilities("bald", pool=given), vs.utilities("bald", pool=GOOD), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, torch.float16, torch.bfloat16, torch.float32])
def test_lower_precision_is_accepted(dtype):
    given = GOOD.astype(dtype) if isinstance(dtype, type) else torch.tensor(GOOD).to(dtype)
    if dtype is torch.bfloat16:  # normalise as a user would: rows sum to 1 only within 1e-2
        given = given.float() / given.float().sum(-1, keepdim=True)
    np.testing.assert_allclose(vs.utilities("entropy", pool=given), vs.utilities("entropy", pool=GOOD), atol=0.02)
    assert vs.utilities("entropy", pool=given).dtype == np.float64


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint32, bool, torch.int64, torch.bool])
def test_votes_of_all_integer_types_are_accepted(dtype):
    votes = [[0, 1, 1], [1, 1, 0]]
    given = torch.tensor(votes).to(dtype) if isinstance(dtype, torch.dtype) else np.array(votes, dtype)
    assert vs.gibbs_error(given).tolist() == [0.5, 0.0, 0.5]


def with_value(value):
    probs = GOOD.copy()
    probs[1, 4, 2] = value
    return probs


@pytest.mark.usefixtures("either_kernel")
@pytest.mark.parametrize(
    ("given", "expected", "arrived", "advice"),
    [
        (with_value(np.nan), "sum to 1", "not finite", "diverged"),
        (with_value(np.inf), "sum to 1", "not finite", "diverged"),
        (with_value(-0.25), "at least 0", "-0.25", "logits"),
        (GOOD * 1.01, "sum to 1", "sums to 1.01", "divided by its sum"),
        (np.zeros((2, 3, 4)), "sum to 1", "sums to 0", "softmax"),
        (np.array([[0.0, 1.0, 2.0]]), "integer votes", "whole numbers", r"astype\(int\)"),
        (np.array([[1, None], [0, 1]], object), "a vote of every member", "1 missing values of 4", "Leave out"),
        (np.array([["cat", "dog"]]), "integer votes", "U3", "numpy.unique"),
        (GOOD[0, 0], r"\(M, N, C\)", r"\(4,\)", "M comes first"),
        (GOOD[None], r"\(M, N, C\)", r"\(1, 3, 6, 4\)", "M comes first"),
        (np.ones((2, 3, 4), int), "float", "int64", "softmax"),
        (np.array([[0, -1]]), "votes from 0", "-1", "encoding"),
        (np.zeros((3, 0), int), "one image", r"\(3, 0\)", "nothing to compute"),
        (np.zeros((0, 5), int), "one member", r"\(0, 5\)", "nothing to compute"),
        (np.zeros((2, 5, 0)), "one class", r"\(2, 5, 0\)", "nothing to compute"),
        ([["a"]], r"\(M, N, C\)", "U1", ""),
        ([[0, 1], [1]], "an array", "list", "numpy.asarray"),
        (object(), "", "", ""),
    ],
)
def test_invalid_beliefs_raise_an_explained_error(given, expected, arrived, advice):
    with pytest.raises(vs.InputError) as caught:
        vs.majority_vote(given)
    message = str(caught.value)
    assert isinstance(caught.value, ValueError)
    for part in (caught.value.name, expected, arrived, advice):
        assert re.search(part if part != caught.value.name else re.escape(part), message), message
    assert message.startswith("probs")


def test_the_error_names_the_member_and_image_of_a_bad_row():
    with pytest.raises(vs.InputError, match=r"^probs\[1, 4\]: "):
        vs.majority_vote(with_value(np.nan))


def test_the_position_is_correct_beyond_the_first_chunk(monkeypatch):
    monkeypatch.setattr(beliefs, "_ELEMENTS", 8)
    with pytest.raises(vs.InputError, match=r"^probs\[1, 4\]: "):
        vs.majority_vote(with_value(-1.0))


def test_rows_may_differ_from_1_by_a_thousandth():
    vs.majority_vote(GOOD * 1.0009)
    with pytest.raises(vs.InputError, match="sums to"):
        vs.majority_vote(GOOD * 1.0011)


@pytest.mark.parametrize(
    ("truth", "match"),
    [
        ([0] * 5, r"shape \(6,\).*got int64 of shape \(5,\)"),
        ([[0] * 6], "shape"),
        ([0.0] * 6, "float64"),
        ([0, 1, 2, 3, 4, 0], "classes from 0 to 3, got 0 to 4"),
        ([0, 1, 2, 3, -1, 0], "got -1 to 3"),
    ],
)
def test_invalid_truth_raises_an_explained_error(truth, match):
    with pytest.raises(vs.InputError, match=match):
        vs.wrong_agreement(GOOD, truth)


def test_an_unknown_vote_is_rejected():
    with pytest.raises(vs.InputError, match="'soft' or 'hard', got 'loud'"):
        vs.majority_vote(GOOD, vote="loud")


def test_a_soft_vote_requires_probabilities():
    with pytest.raises(vs.InputError, match=r"expected probabilities \(M, N, C\), got votes \(2, 1\)"):
        vs.gibbs_vote_disagreement([[0], [1]])


def test_bfloat16_has_a_larger_tolerance():
    """Softmax outputs rounded to 8 bits do not sum to 1 within a thousandth."""
    generator = torch.Generator().manual_seed(0)
    probs = torch.softmax(3 * torch.randn(5, 200, 10, generator=generator), -1).to(torch.bfloat16)
    votes = beliefs.read_beliefs(probs, "pool").votes
    np.testing.assert_array_equal(votes, probs.float().argmax(-1).numpy())
    with pytest.raises(vs.errors.InputError, match="sum to 1 within 0.01, got a row that sums to 1.1"):
        beliefs.read_beliefs((probs.float() * 1.1).to(torch.bfloat16), "pool")


def test_where_all_members_agree_their_common_vote_wins():
    """Both members vote for 1 by the last bit, which the sum of their probabilities loses."""
    small = 2.0**-54
    probs = np.array([[[0.25, 0.25 + small, 0.2, 0.15, 0.15]], [[0.5 - small, 0.5, 0.0, 0.0, 0.0]]])
    assert probs.argmax(-1).tolist() == [[1], [1]]
    assert probs.sum(0).argmax(-1).tolist() == [0]
    assert vs.majority_vote(probs).tolist() == [1]
    assert vs.gibbs_vote_disagreement(probs) == 0.0


@pytest.mark.usefixtures("either_kernel")
@pytest.mark.parametrize("classes", [3, 40])
def test_slightly_negative_probabilities_count_as_0(classes):
    """One tolerance: a number may be below 0 by as much as a row may differ from 1."""
    clipped = probabilities(3, 6, classes)
    clipped[1, 4, 2] = 0.0
    clipped[1, 4] /= clipped[1, 4].sum()
    probs = clipped.copy()
    probs[1, 4, 2] = -1e-17
    for given in (probs, probs.astype(np.float32)):
        assert beliefs.read_beliefs(given, "pool").negative
        for name in ("entropy", "margin", "bald"):
            expected = vs.utilities(name, pool=clipped.astype(given.dtype))
            np.testing.assert_array_equal(vs.utilities(name, pool=given), expected)
    reference = {"reference": np.where(probs < 0, -1e-4, probs)}
    assert np.isfinite(vs.utilities("gvd", pool=probs, **reference)).all()
    probs[1, 4, 2] = -0.0011
    with pytest.raises(vs.InputError, match=r"^pool\[1, 4\]: .* got -0.0011. .*logits"):
        vs.utilities("entropy", pool=probs)


def test_bfloat16_of_any_library_is_accepted():
    import ml_dtypes

    rounded = probabilities(3, 200, 10).astype(ml_dtypes.bfloat16)
    assert abs(rounded.astype(np.float64).sum(-1) - 1).max() > beliefs.TOLERANCE
    votes = rounded.astype(np.float32).argmax(-1)
    for given in (rounded, rounded.astype(np.float32), rounded.astype(np.float64), Wrapped(rounded)):
        np.testing.assert_array_equal(beliefs.read_beliefs(given, "pool").votes, votes)


def test_a_stream_needs_a_chunk():
    with pytest.raises(vs.InputError, match="^chunk: expected the next images, in the form of pool .* got None"):
        vs.Stream("ge", 1).add(None)
    with pytest.raises(vs.InputError, match="^chunk: .* of perturbations"):
        vs.Stream("dfal", 1).add(None)
