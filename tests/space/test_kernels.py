"""The compiled kernels and those in NumPy, compared with plain loops and with each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference as plain
from committees import probabilities
from versionspace.space import kernels, masks
from versionspace.space.beliefs import read_beliefs
from versionspace.space.diameter import gvd_over, pwd_over
from versionspace.space.splits import split_members

pytestmark = pytest.mark.usefixtures("either_kernel")


def members_of(mask, count):
    return np.flatnonzero(masks.unpack(mask[None], count)[0]).tolist()


@pytest.mark.parametrize(("members", "classes"), [(2, 2), (5, 3), (20, 10), (64, 3), (65, 4), (130, 2), (7, 300)])
def test_subspaces_equal_the_definition(members, classes):
    votes = np.random.default_rng(members).integers(0, classes, (members, 60)).astype(np.uint16)
    splits = split_members(read_beliefs(votes, "pool"))
    for x in range(votes.shape[1]):
        expected = sorted(plain.subspace(votes, x, y) for y in plain.classes_voted(votes, x))
        assert sorted(members_of(mask, members) for mask in splits.masks_of(x)) == expected
    assert len(np.unique(splits.masks, axis=0)) == len(splits.masks)
    assert splits.sizes.tolist() == [len(members_of(mask, members)) for mask in splits.masks]


def test_subspaces_are_merged_across_blocks():
    votes = np.random.default_rng(3).integers(0, 2, (3, 5000))
    splits = split_members(read_beliefs(votes, "pool"))
    assert len(splits.masks) == 7  # all non-empty subsets of three members
    assert splits.starts[-1] == len(splits.entries)
    np.testing.assert_array_equal(splits.total(splits.sizes), np.full(5000, 3))


def test_subspaces_that_differ_only_in_the_last_word_are_distinct():
    votes = np.zeros((70, 6), np.uint8)
    votes[64:] = np.eye(6)
    assert len(split_members(read_beliefs(votes, "pool")).masks) == 12


@pytest.mark.parametrize("vote", ["soft", "hard"])
@pytest.mark.parametrize("leave_one_out", [False, True])
@pytest.mark.parametrize(
    ("members", "classes", "noise"), [(2, 2, 1.0), (6, 4, 2.0), (20, 10, 0.5), (70, 3, 1.5), (5, 300, 1.0)]
)
def test_gvd_of_subspaces_equals_the_definition(members, classes, noise, vote, leave_one_out):
    reference = probabilities(members, 23, classes, seed=members, noise=noise, dtype=np.float32)
    bits = np.random.default_rng(0).random((12, members)) < 0.5
    bits[0], bits[1] = True, False
    bits[:, 0] |= ~bits.any(axis=1)
    packed = masks.pack(bits)
    beliefs = read_beliefs(reference, "reference")
    found = gvd_over(beliefs, vote, leave_one_out)(packed, masks.sizes(packed))
    votes = plain.votes(reference)
    probs = reference if vote == "soft" else plain.one_hot(votes, classes)
    definition = plain.gvd_loo if leave_one_out else plain.gvd
    expected = [definition(np.flatnonzero(row).tolist(), probs, votes) for row in bits]
    assert found.tolist() == expected


def test_pwd_of_subspaces_equals_the_definition():
    votes = np.random.default_rng(1).integers(0, 3, (9, 31))
    bits = np.random.default_rng(2).random((15, 9)) < 0.5
    bits[:, 0] |= ~bits.any(axis=1)
    packed = masks.pack(bits)
    found = pwd_over(read_beliefs(votes, "reference"))(packed, masks.sizes(packed))
    np.testing.assert_allclose(found, [plain.pwd(np.flatnonzero(row).tolist(), votes) for row in bits], atol=1e-15)


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 5), st.sampled_from([2, 4, 16]))
@settings(max_examples=60, deadline=None)
def test_gvd_with_many_tied_sums_equals_the_definition(seed, members, classes, steps):
    """Probabilities that are multiples of 1/2, 1/4 or 1/16 tie often; the lowest class must win."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(steps, np.full(classes, 1 / classes), size=(members, 17))
    reference = counts / steps
    beliefs = read_beliefs(reference, "reference")
    bits = np.array([[m >> i & 1 for i in range(members)] for m in range(1, 2**members)], bool)
    packed = masks.pack(bits)
    votes = plain.votes(reference)
    for leave_one_out, definition in ((False, plain.gvd), (True, plain.gvd_loo)):
        found = gvd_over(beliefs, "soft", leave_one_out)(packed, masks.sizes(packed))
        assert found.tolist() == [definition(np.flatnonzero(row).tolist(), reference, votes) for row in bits]


def test_leave_one_out_sums_in_member_order_if_rounding_matters():
    """Whether 0.1 + 0.2 + 0.3 equals 0.6 depends on the order of the additions, which is that of the members."""
    rows = [[0.1, 0.3, 0.6], [0.2, 0.2, 0.6], [0.3, 0.1, 0.6], [0.6, 0.4, 0.0], [0.0, 0.6, 0.4]]
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(3), (200, 1)), axis=1)
    reference = np.array([[np.array(row)[order] for order in orders] for row in rows])
    bits = np.array([[m >> i & 1 for i in range(5)] for m in range(1, 32)], bool)
    packed = masks.pack(bits)
    votes = plain.votes(reference)
    found = gvd_over(read_beliefs(reference, "reference"), "soft", True)(packed, masks.sizes(packed))
    assert found.tolist() == [plain.gvd_loo(np.flatnonzero(row).tolist(), reference, votes) for row in bits]


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_results_do_not_depend_on_the_number_of_threads(threads, monkeypatch):
    pool = probabilities(12, 500, 5, seed=1)
    reference = probabilities(12, 700, 5, seed=2)

    def worst():
        splits = split_members(read_beliefs(pool, "pool"))
        return splits.worst(gvd_over(read_beliefs(reference, "reference"), "soft")(splits.masks, splits.sizes))

    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    expected = worst()
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    assert kernels.threads() == int(threads)
    np.testing.assert_array_equal(worst(), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [1, 2, 3, 10, 17])
def test_votes_are_the_argmax(dtype, classes):
    rows = probabilities(1, 200, classes, dtype=dtype)[0]
    found = kernels.votes(rows, 1e-3)
    assert found.bad_row == -1
    assert found.votes.tolist() == [plain.argmax(row) for row in rows.tolist()]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.1, 0.9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_bad_row_is_found(value, dtype):
    rows = probabilities(1, 50, 4, dtype=dtype)[0]
    rows[[31, 40], 2] = value
    assert kernels.votes(rows, 1e-3).bad_row == 31


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_with_a_negative_number_is_bad_even_if_it_sums_to_one(dtype):
    rows = np.array([[0.5, 0.5, 0.0], [0.6, 0.5, -0.1], [-0.1, 0.6, 0.5]], dtype)
    assert kernels.votes(rows, 1e-3).bad_row == 1
    assert kernels.votes(rows[[0, 2]], 1e-3).bad_row == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [15, 16, 17, 100, 1000])
def test_votes_of_many_classes_are_the_first_argmax(dtype, classes):
    rng = np.random.default_rng(classes)
    rows = rng.integers(0, 3, (300, classes)).astype(dtype)  # many tied maxima
    rows[np.arange(300), rng.integers(0, classes, 300)] += 1
    rows /= rows.sum(axis=1, keepdims=True)
    found = kernels.votes(rows, 1e-3)
    assert (found.bad_row, found.negative) == (-1, False)
    np.testing.assert_array_equal(found.votes, rows.argmax(axis=1))
    for value in (np.nan, np.inf, -0.1):
        bad = rows.copy()
        bad[123, classes - 2] = value
        assert kernels.votes(bad, 1e-3).bad_row == 123


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4"])
def test_member_sums_add_in_member_order(dtype):
    probs = probabilities(7, 300, 11, dtype=dtype)
    expected = np.zeros((100, 11))
    for member in probs[:, 50:150]:
        expected = expected + member.astype(np.float64)
    for array in (probs, np.asfortranarray(probs)):
        np.testing.assert_array_equal(kernels.member_sums(array, slice(50, 150)), expected)


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (8, 1), (19, 33), (40, 1000)])
def test_row_sums_add_in_order(shape):
    terms = np.random.default_rng(0).normal(size=shape) * 1e3
    expected = []
    for row in terms.tolist():
        total = row[0]
        for value in row[1:]:
            total += value
        expected.append(total)
    assert kernels.row_sums(terms).tolist() == expected


@pytest.mark.parametrize("leave_one_out", [False, True])
def test_hard_votes_of_many_members_and_classes_equal_the_definition(leave_one_out):
    """More classes than members, ties among them, and more images than are counted at once."""
    rng = np.random.default_rng(4)
    votes = np.where(rng.random((40, 150)) < 0.5, 700, rng.integers(0, 900, (40, 150)))
    beliefs = read_beliefs(votes, "reference", classes=1000)
    bits = rng.random((9, 40)) < rng.random((9, 1))
    bits[:, 0] |= ~bits.any(axis=1)
    packed = masks.pack(bits)
    found = gvd_over(beliefs, "hard", leave_one_out)(packed, masks.sizes(packed))
    probs, listed = plain.one_hot(votes, 1000), votes.tolist()
    definition = plain.gvd_loo if leave_one_out else plain.gvd
    assert found.tolist() == [definition(np.flatnonzero(row).tolist(), probs, listed) for row in bits]
