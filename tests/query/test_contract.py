"""The contract that every method in the table fulfils."""

import uuid

import numpy as np
import pytest

import versionspace as vs
from committees import arguments, probabilities
from versionspace.query.methods import TABLE

pytestmark = pytest.mark.filterwarnings("ignore::versionspace.errors.TieWarning")
ALL = list(TABLE.values())
N = 40


@pytest.fixture(params=ALL, ids=[method.name for method in ALL])
def method(request):
    return request.param


def test_the_built_in_names():
    assert vs.METHODS == (
        "random", "vr", "ge", "bald", "coreset", "dfal", "pwd", "gvd", "m2-pwd", "m-pwd", "m-gvd", "gvd-loo",
        "gvd-batch", "entropy", "margin", "least-confidence", "vote-entropy", "batchbald", "power-bald",
        "epig", "badge", "maxherding", "uherding", "pwd-cover", "gvd-cover", "probcover", "typiclust",
    )  # fmt: skip


@pytest.mark.parametrize("k", [1, 7, N])
def test_query_returns_k_different_images_of_the_pool(method, k):
    chosen = vs.query(method.name, k, **arguments(method), seed=3)
    assert chosen.dtype == np.int64
    assert chosen.shape == (k,)
    assert len(set(chosen.tolist())) == k
    assert set(chosen.tolist()) <= set(range(N))


def test_utilities_are_one_finite_float_per_image(method):
    scores = vs.utilities(method.name, **arguments(method), seed=3)
    assert scores.dtype == np.float64
    assert scores.shape == (N,)
    assert np.isfinite(scores).all()
    assert not np.signbit(scores[scores == 0]).any()  # 0, not −0


def test_the_first_image_has_the_highest_utility(method):
    given = arguments(method)
    scores = vs.utilities(method.name, **given, seed=3)
    assert scores[vs.query(method.name, 1, **given, seed=3)[0]] == pytest.approx(scores.max(), abs=1e-12)


@pytest.mark.parametrize("name", [m.name for m in ALL if m.pointwise])
def test_pointwise_methods_order_images_by_utility(name):
    given = arguments(TABLE[name])
    scores = vs.utilities(name, **given, seed=3)
    chosen, at_turn = vs.query(name, N, **given, seed=3, return_utilities=True)
    assert (np.diff(scores[chosen]) <= 0).all()
    np.testing.assert_array_equal(at_turn, scores[chosen])


@pytest.mark.parametrize("name", [m.name for m in ALL if m.name != "typiclust"])  # its clusters depend on k
def test_a_smaller_query_is_a_prefix_of_a_larger_one(name):
    given = arguments(TABLE[name])
    assert vs.query(name, 5, **given, seed=3).tolist() == vs.query(name, 9, **given, seed=3)[:5].tolist()


def test_the_same_seed_returns_the_same_images(method):
    given = arguments(method)
    assert vs.query(method.name, 9, **given, seed=3).tolist() == vs.query(method.name, 9, **given, seed=3).tolist()


def test_ids_are_returned_instead_of_positions(method):
    given = arguments(method)
    ids = [f"image-{i}.png" for i in range(N)]
    named = vs.query(method.name, 6, **given, seed=3, ids=ids, return_record=True)
    assert named.ids.tolist() == [ids[i] for i in named.positions]
    assert named.utilities.shape == (6,)
    assert np.isfinite(named.utilities).all()
    numbered, scores = vs.query(method.name, 6, **given, seed=3, ids=np.arange(N) + 7, return_utilities=True)
    again = vs.query(method.name, 6, **given, seed=3, ids=np.arange(N) + 7, return_record=True)
    assert numbered.tolist() == again.ids.tolist()
    assert again.ids.tolist() == (again.positions + 7).tolist()
    np.testing.assert_array_equal(scores, again.utilities)


def test_positions_as_ids_change_nothing(method):
    """Campaigns rely on this: their ties are ordered by position."""
    given = arguments(method)
    plain = vs.query(method.name, 9, **given, seed=3)
    assert vs.query(method.name, 9, **given, seed=3, ids=np.arange(N)).tolist() == plain.tolist()


def test_a_pool_of_one_image(method):
    given = arguments(method, images=1)
    assert vs.query(method.name, 1, **given, seed=0).tolist() == [0]


def test_ties_do_not_follow_position():
    """If all members agree, all utilities are equal and the seed chooses uniformly."""
    pool = np.zeros((4, 1000), int)
    means = [vs.query("ge", 50, pool=pool, seed=seed).mean() for seed in range(40)]
    assert abs(np.mean(means) - 499.5) < 25
    assert len({tuple(vs.query("ge", 5, pool=pool, seed=seed)) for seed in range(20)}) == 20


def test_without_a_seed_every_query_differs():
    pool = np.zeros((4, 1000), int)
    assert len({tuple(vs.query("random", 10, pool=pool)) for _ in range(5)}) == 5


def test_inputs_are_not_modified(method):
    given = arguments(method)
    before = {name: np.array(array) for name, array in given.items()}
    vs.query(method.name, 5, **given, seed=0)
    for name, array in given.items():
        np.testing.assert_array_equal(array, before[name])


def test_read_only_inputs_are_accepted(method):
    given = arguments(method)
    for array in given.values():
        array.flags.writeable = False
    chosen = vs.query(method.name, 5, **given, seed=0)
    assert chosen.tolist() == vs.query(method.name, 5, **arguments(method), seed=0).tolist()


@pytest.mark.parametrize("members", [65, 130])
def test_more_than_64_members(method, members):
    given = arguments(method, members=members)
    assert len(set(vs.query(method.name, 9, **given, seed=0).tolist())) == 9


def test_more_than_256_classes(method):
    given = arguments(method, classes=300)
    assert len(set(vs.query(method.name, 3, **given, seed=0).tolist())) == 3


@pytest.mark.parametrize("name", [m.name for m in ALL if m.pool == "votes"])
def test_votes_for_the_pool_score_like_probabilities(name):
    given = arguments(TABLE[name])
    votes = given["pool"].argmax(-1)
    np.testing.assert_array_equal(
        vs.utilities(name, **{**given, "pool": votes}, seed=0), vs.utilities(name, **given, seed=0)
    )


@pytest.mark.parametrize("name", [m.name for m in ALL if m.diameter])
def test_votes_for_the_reference_suffice_except_for_soft_votes(name):
    given = arguments(TABLE[name])
    votes = given["reference"].argmax(-1)
    hard = {"vote": "hard"} if TABLE[name].takes_vote else {}
    np.testing.assert_array_equal(
        vs.utilities(name, **{**given, "reference": votes}, **hard), vs.utilities(name, **given, **hard)
    )
    if hard:
        with pytest.raises(vs.InputError, match=r"^reference: expected probabilities"):
            vs.utilities(name, **{**given, "reference": votes})


@pytest.mark.parametrize("name", [m.name for m in ALL if m.pool in ("votes", "either", "probs")])
def test_member_order_does_not_matter(name):
    given = arguments(TABLE[name])
    order = np.random.default_rng(0).permutation(6)
    shuffled = {key: array[order] if key in ("pool", "reference") else array for key, array in given.items()}
    np.testing.assert_allclose(vs.utilities(name, **shuffled, seed=0), vs.utilities(name, **given, seed=0), atol=1e-12)


@pytest.mark.parametrize("name", [m.name for m in ALL if m.pool in {"probs", "one member"}])
def test_zero_probabilities_stay_finite(name):
    given = arguments(TABLE[name])
    given["pool"] = np.eye(4)[given["pool"].argmax(-1)]
    assert np.isfinite(vs.utilities(name, **given)).all()
    assert len(set(vs.query(name, N, **given, seed=0).tolist())) == N


def test_identical_members_have_utility_0():
    pool = np.repeat(probabilities(1, N, 4), 5, axis=0)
    reference = np.repeat(probabilities(1, 30, 4, seed=1), 5, axis=0)
    for name in ("pwd", "gvd", "m2-pwd", "m-pwd", "m-gvd", "gvd-loo", "gvd-batch"):
        assert vs.utilities(name, pool=pool, reference=reference).tolist() == [0.0] * N
    for name in ("ge", "vr", "vote-entropy"):
        assert vs.utilities(name, pool=pool).tolist() == [0.0] * N
    np.testing.assert_allclose(vs.utilities("bald", pool=pool), 0.0, atol=1e-12)


LARGE = 2**63
IDS = {
    "large and small": [-1, LARGE + 1, LARGE + 2049],
    "unsigned": [5, LARGE + 1, LARGE + 3],
    "too large for NumPy": [1, 2, 2**200],
    "text with a trailing null": ["a\0", "b", "c"],
    "NumPy integers": [np.int64(3), np.uint8(4), 5],
    "UUIDs": [uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=3)],
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS.keys())
def test_ids_are_returned_unchanged(ids):
    """A label stored under a rounded id would belong to another image, or to none."""
    votes = [[0, 0, 1], [0, 1, 0], [0, 1, 1]]
    assert sorted(vs.query("ge", 3, pool=votes, ids=ids, seed=0).tolist()) == sorted(ids)
    stream = vs.Stream("ge", 3, seed=0)
    for i, id_ in enumerate(ids):
        stream.add([[row[i]] for row in votes], ids=[id_])
    assert sorted(stream.result().tolist()) == sorted(ids)
    assert {type(id_) for id_ in stream.result().tolist()} == {type(id_) for id_ in ids} - {np.int64, np.uint8}


def test_chunks_must_have_ids_of_one_kind():
    stream = vs.Stream("ge", 2, seed=0)
    stream.add([[0], [1]], ids=[5])
    with pytest.raises(vs.errors.InputError, match="ids: expected int, as in the chunks before, got str"):
        stream.add([[0], [1]], ids=["b"])
    assert stream.images == 1
