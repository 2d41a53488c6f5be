"""Statistics on cases with known answers: by hand, from tables, or by enumerating all signs."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from versionspace.report import statistics
from versionspace.report.statistics import (
    area,
    bootstrap,
    compare_pairs,
    holm,
    labels_to_reach,
    sample_mean,
    signed_rank,
    t_interval,
)


def test_the_deviation_is_that_of_a_sample():
    found = sample_mean([2, 4, 4, 4, 5, 5, 7, 9])  # squares sum to 32: 32/7, not 32/8
    assert found.mean == 5
    assert found.deviation == pytest.approx((32 / 7) ** 0.5)


def test_a_single_value_has_no_deviation_and_no_value_has_no_mean():
    assert sample_mean([3.0]).deviation is None
    assert sample_mean([float("nan")]) is None


def test_the_t_interval_agrees_with_tables():
    found = t_interval([1.0, 2.0, 3.0, 4.0])  # t_3 = 3.182, s = 1.291, √4 = 2
    assert (found.low, found.high) == pytest.approx((2.5 - 3.18245 * 0.645497, 2.5 + 3.18245 * 0.645497), abs=1e-4)
    assert t_interval([1.0]) is None


def by_all_signs(differences):
    """Return p by definition: all 2ⁿ signs of the ranks, zeros dropped, mean ranks for ties."""
    there = [d for d in differences if d]
    ranks = stats.rankdata(np.abs(there)) if there else []
    total = sum(ranks)
    positive = sum(r for r, d in zip(ranks, there, strict=True) if d > 0)
    least = min(positive, total - positive)
    sums = [sum(r for r, s in zip(ranks, signs, strict=True) if s) for signs in product((0, 1), repeat=len(there))]
    return min(1.0, 2 * sum(s <= least + 1e-9 for s in sums) / len(sums))


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_the_signed_rank_test_enumerates_all_signs(differences):
    assert signed_rank(differences).p == pytest.approx(by_all_signs(differences))


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=12, unique=True), st.randoms())
def test_without_ties_it_equals_scipys_exact_test(sizes, random):
    sizes = np.arange(1, len(sizes) + 1) * 0.37
    signed = np.array([size * random.choice((-1, 1)) for size in sizes])
    assert signed_rank(signed).p == pytest.approx(stats.wilcoxon(signed, mode="exact").pvalue)


@pytest.mark.parametrize(("n", "smallest"), [(1, 1.0), (2, 0.5), (3, 0.25), (4, 0.125), (6, 0.03125)])
def test_no_data_give_less_than_the_smallest_p(n, smallest):
    best = signed_rank(np.arange(1, n + 1))
    assert best.p == best.smallest_p == smallest
    assert signed_rank([1.0] * n).p == smallest  # ties do not change that


def test_zeros_weaken_the_test():
    found = signed_rank([0.0, 0.0, 1.0, 2.0])
    assert (found.pairs, found.p, found.smallest_p) == (2, 0.5, 0.5)


def test_differences_that_are_equal_up_to_rounding_tie():
    found = signed_rank([0.9 - 0.8, -(0.8 - 0.7), 0.3])  # 0.1, −0.1 and 0.3: ranks 1.5, 1.5 and 3
    assert found.p == signed_rank([1, -1, 3]).p == 0.75


def test_many_pairs_do_not_overflow():
    assert signed_rank(np.arange(1, 81)).p == pytest.approx(2.0**-79)


def test_holms_correction_by_hand():
    # sorted .01 .02 .03 .5 → ·4 ·3 ·2 ·1 = .04 .06 .06 .5
    assert holm([0.5, 0.01, 0.03, 0.02]) == pytest.approx([0.5, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert len(holm([])) == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_a_p_and_keeps_the_order(ps):
    found = holm(ps)
    assert (found >= np.array(ps) - 1e-15).all()
    order = np.argsort(ps, kind="stable")
    assert (np.diff(found[order]) >= 0).all()


def test_better_decides_wins_and_losses():
    matrix = [[0.9, 0.8], [0.7, 0.7], [0.6, 0.8], [0.9, np.nan]]
    (found,) = compare_pairs(matrix, ("a", "b"))
    assert (found.wins, found.ties, found.losses) == (1, 1, 1)
    (smaller,) = compare_pairs([[1.0, 2.0], [1.0, 3.0]], ("a", "b"), better=-1)
    assert (smaller.wins, smaller.losses, smaller.mean) == (2, 0, -1.5)


def test_holms_correction_covers_all_pairs():
    rows = np.arange(6)[:, None] + np.array([0.0, 10.0, 30.0])
    found = compare_pairs(rows + np.random.default_rng(0).normal(size=rows.shape) * 0.01, ("a", "b", "c"))
    assert [pair.test.p for pair in found] == [0.03125] * 3
    assert [pair.holm_p for pair in found] == [0.09375] * 3


def test_methods_without_a_common_seed_are_not_compared():
    assert compare_pairs([[1.0, np.nan], [np.nan, 1.0]], ("a", "b")) == ()


def test_the_bootstrap_requires_eight_seeds_and_is_seeded():
    values = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
    assert bootstrap(values[:7]) is None
    first, again, other = bootstrap(values, 1), bootstrap(values, 1), bootstrap(values, 2)
    assert first == again != other
    assert first.low == pytest.approx(3.0, abs=0.4)  # mean 4.5, standard error 0.87
    assert first.high == pytest.approx(6.0, abs=0.4)


def test_the_area_is_by_trapezoids_over_the_range():
    assert area([0, 10], [0.2, 0.4]) == pytest.approx(0.3)
    assert area([10, 20, 40], [0.0, 1.0, 1.0]) == pytest.approx(25 / 30)
    assert area([10], [0.5]) is None
    assert area([10, 20], [0.5, np.nan]) is None


def test_labels_to_reach_are_interpolated_linearly():
    x, y = [10, 20, 30, 40], [0.5, 0.6, 0.9, 0.8]
    assert labels_to_reach(x, y, 0.75) == 25
    assert labels_to_reach(x, y, 0.4) == 10  # from the start
    assert labels_to_reach(x, y, 0.9) == 30
    assert labels_to_reach(x, y, 0.95) is None
    assert labels_to_reach([10, 20, 30], [0.9, 0.5, 0.9], 0.8) == 10  # the first time counts


def test_a_pair_of_fewer_than_eight_seeds_has_no_bootstrap(monkeypatch):
    matrix = np.random.default_rng(0).random((8, 2))
    assert compare_pairs(matrix[:7], ("a", "b"))[0].bootstrap is None
    monkeypatch.setattr(statistics, "RESAMPLES", 500)
    assert compare_pairs(matrix, ("a", "b"))[0].bootstrap is not None
