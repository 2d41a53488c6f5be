"""A stream returns the same images as a query on the whole pool."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import versionspace as vs
from committees import arguments, probabilities
from versionspace.query import stream
from versionspace.query.methods import TABLE

pytestmark = pytest.mark.filterwarnings("ignore::versionspace.errors.TieWarning")
POINTWISE = [method for method in TABLE.values() if method.pointwise]
N = 60


def chunks(total, cuts):
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < total}), total]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


@pytest.mark.parametrize("method", POINTWISE, ids=[m.name for m in POINTWISE])
@given(st.lists(st.integers(1, N - 1), max_size=8), st.integers(1, N), st.integers(0, 99))
@settings(max_examples=12, deadline=None)
def test_any_chunking_equals_the_query_on_the_whole_pool(method, cuts, k, seed):
    whole = arguments(method, images=N, seed=seed)
    ids = np.arange(N) + 1000
    kept = {name: array for name, array in whole.items() if name == "reference"}
    given_stream = vs.Stream(method.name, k, **kept, seed=seed)
    for chunk in chunks(N, cuts):
        if method.perturbations:
            given_stream.add(whole["perturbations"][chunk], ids=ids[chunk])
        else:
            given_stream.add(whole["pool"][:, chunk], ids=ids[chunk])
    found, utilities = given_stream.result(return_utilities=True)
    expected, expected_utilities = vs.query(method.name, k, **whole, seed=seed, ids=ids, return_utilities=True)
    assert found.tolist() == expected.tolist()
    np.testing.assert_array_equal(utilities, expected_utilities)
    assert given_stream.images == N


def test_positions_count_over_all_chunks():
    pool = probabilities(5, N, 3)
    one = vs.Stream("ge", 10, seed=4)
    for chunk in chunks(N, [7, 30]):
        one.add(pool[:, chunk])
    assert one.result().tolist() == vs.query("ge", 10, pool=pool, seed=4).tolist()


def test_positions_of_perturbations_count_over_all_chunks():
    sizes = np.random.default_rng(0).integers(0, 5, N)  # many ties
    one = vs.Stream("dfal", 10, seed=4)
    for chunk in chunks(N, [7, 30]):
        one.add(sizes[chunk])
    assert one.result().tolist() == vs.query("dfal", 10, perturbations=sizes, seed=4).tolist()


def test_clearing_the_cache_changes_nothing(monkeypatch):
    monkeypatch.setattr(stream, "_CACHE_SIZE", 3)
    pool, reference = probabilities(8, N, 4, noise=3.0), probabilities(8, 30, 4, seed=1)
    one = vs.Stream("gvd", 10, reference=reference, seed=4)
    for chunk in chunks(N, range(0, N, 5)):
        one.add(pool[:, chunk])
        assert len(one._diameter) <= 3 + 5 * 4
    assert one.result().tolist() == vs.query("gvd", 10, pool=pool, reference=reference, seed=4).tolist()


def test_a_stream_keeps_only_the_k_best():
    one = vs.Stream("random", 7, seed=0)
    for _ in range(50):
        one.add(np.zeros((2, 100), int))
    assert one.images == 5000
    assert len(one._positions) == len(one._utilities) == 7


@pytest.mark.parametrize("name", ["coreset", "badge", "batchbald", "gvd-batch"])
def test_set_methods_are_rejected(name):
    with pytest.raises(vs.InputError, match=f"got '{name}', which chooses a set.*versionspace.query"):
        vs.Stream(name, 3)


def test_invalid_arguments_are_rejected():
    with pytest.raises(vs.InputError, match="^reference: expected a value"):
        vs.Stream("gvd", 3)
    with pytest.raises(vs.InputError, match="^reference: expected nothing"):
        vs.Stream("ge", 3, reference=[[0], [1]])
    with pytest.raises(vs.InputError, match="^k: "):
        vs.Stream("ge", 0)
    short = vs.Stream("ge", 3)
    short.add([[0, 1], [1, 1]])
    with pytest.raises(vs.InputError, match="^k: expected an integer from 1 to 2,"):
        short.result()
    with pytest.raises(vs.InputError, match="2 members, as the first chunk had"):
        short.add([[0], [1], [2]])
    with pytest.raises(vs.InputError, match="ids with every chunk"):
        short.add([[0], [1]], ids=["a"])
    with pytest.raises(vs.InputError, match="1 ids, as the chunk has images"):
        vs.Stream("ge", 1).add([[0], [1]], ids=["a", "b"])
    with pytest.raises(vs.InputError, match="as the pool has"):
        vs.Stream("pwd", 1, reference=[[0], [1]]).add([[0], [1], [1]])


def test_a_rejected_first_chunk_leaves_the_stream_empty():
    one = vs.Stream("ge", 1, seed=0)
    with pytest.raises(vs.InputError, match="1 ids, as the chunk has images"):
        one.add([[0], [1], [2]], ids=["a", "b"])
    one.add([[0, 0], [1, 0]])  # a different number of members, and no ids
    assert one.result().tolist() == [0]


def test_a_rejected_chunk_leaves_the_stream_unchanged():
    one = vs.Stream("entropy", 1, seed=0)
    one.add(probabilities(2, 5, 3))
    before = one.result().tolist()
    with pytest.raises(vs.InputError, match="not finite"):
        one.add(np.full((2, 5, 3), np.nan))
    assert one.images == 5
    assert one.result().tolist() == before


def test_an_id_is_never_returned_twice():
    stream = vs.Stream("ge", 2, seed=0)
    stream.add([[0, 0], [0, 1]], ids=["a", "b"])
    with pytest.raises(vs.InputError, match="'b' 2 times"):
        stream.add([[0, 0], [1, 0]], ids=["b", "c"])
    stream.add([[0, 0], [1, 0]], ids=["c", "d"])
    assert sorted(stream.result().tolist()) == ["b", "c"]


def test_a_result_belongs_to_the_caller():
    stream = vs.Stream("entropy", 3)
    stream.add(probabilities(2, 20, 3))
    positions, utilities = stream.result(return_utilities=True)
    before = positions.tolist(), utilities.tolist()
    positions[:], utilities[:] = 0, 99.0
    again = stream.result(return_utilities=True)
    assert (again[0].tolist(), again[1].tolist()) == before


def test_skipped_positions_and_merged_parts_change_no_answer():
    pool = probabilities(5, 40, 3, seed=1)
    expected = vs.query("ge", 6, pool=pool, seed=4).tolist()
    parts = []
    for start, end in ((20, 40), (0, 13), (13, 20)):
        part = vs.Stream("ge", 6, seed=4)
        part.skip(start)
        part.add(pool[:, start:end])
        parts.append(part.best())
    merged = stream.merge_best(parts, 6)
    assert merged.positions.tolist() == expected
    assert merged.ids is None
    assert len(stream.merge_best([], 6).positions) == 0
    with pytest.raises(vs.InputError, match="expected 0 or more, got -1"):
        part.skip(-1)
