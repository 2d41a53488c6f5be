"""Candidates, costs and balance, for every method."""

import numpy as np
import pandas
import polars
import pytest

import versionspace as vs
from committees import arguments, probabilities
from versionspace.query.methods import TABLE

pytestmark = pytest.mark.filterwarnings("ignore::versionspace.errors.TieWarning")
ALL = list(TABLE.values())
N = 40
SOME = np.array([3, 8, 9, 17, 20, 21, 30, 33, 39])


@pytest.fixture(params=ALL, ids=[method.name for method in ALL])
def method(request):
    return request.param


def test_only_candidates_are_chosen(method):
    given = arguments(method)
    mask = np.isin(np.arange(N), SOME)
    chosen = vs.query(method.name, 5, **given, candidates=SOME, seed=0)
    assert set(chosen.tolist()) <= set(SOME.tolist())
    assert vs.query(method.name, 5, **given, candidates=mask, seed=0).tolist() == chosen.tolist()
    ids = [f"{i}.png" for i in range(N)]
    record = vs.query(method.name, 5, **given, candidates=mask, ids=ids, seed=0, return_record=True)
    assert [ids[i] for i in record.positions] == record.ids.tolist()
    assert set(record.positions) <= set(SOME.tolist())


@pytest.mark.parametrize("name", [m.name for m in ALL if m.pointwise])
def test_candidates_are_ranked_as_in_the_whole_pool(name):
    given = arguments(TABLE[name])
    whole = vs.query(name, N, **given, seed=0)
    expected = [i for i in whole.tolist() if i in SOME]
    assert vs.query(name, len(SOME), **given, candidates=SOME, seed=0).tolist() == expected


def test_a_cheap_image_is_preferred(method):
    given = arguments(method)
    costs = np.full(N, 1e6)
    costs[SOME] = 1.0
    chosen = vs.query(method.name, 4, **given, costs=costs, seed=0)
    assert len(set(chosen.tolist()) & set(SOME.tolist())) >= (4 if method.pointwise else 1)
    equal = vs.query(method.name, 4, **given, costs=np.full(N, 2.0), seed=0)
    if method.pointwise:
        assert equal.tolist() == vs.query(method.name, 4, **given, seed=0).tolist()


def test_utility_per_cost_is_the_order():
    pool, costs = probabilities(4, 60, 5), np.random.default_rng(0).uniform(1, 5, 60)
    scores = vs.utilities("bald", pool=pool)
    expected = np.argsort(-scores / costs)[:9]
    assert vs.query("bald", 9, pool=pool, costs=costs, seed=0).tolist() == expected.tolist()
    scores = vs.utilities("margin", pool=pool)  # at most 0: measured from the lowest
    expected = np.argsort(-(scores - scores.min()) / costs)[:9]
    assert vs.query("margin", 9, pool=pool, costs=costs, seed=0).tolist() == expected.tolist()


def test_no_class_has_more_than_its_share(method):
    given = arguments(method)
    pool = probabilities(6, N, 4) if "pool" not in given else given["pool"]
    classes = vs.majority_vote(pool)
    chosen = vs.query(method.name, 6, **{**given, "pool": pool}, balance=2, seed=0)
    assert np.unique(classes[chosen], return_counts=True)[1].max() <= 2
    assert len(set(chosen.tolist())) == 6


def test_balance_takes_the_best_of_each_class():
    pool = probabilities(4, 60, 3)
    order, classes = vs.query("bald", 60, pool=pool, seed=0), vs.majority_vote(pool)
    counts, expected = {}, []
    for i in order.tolist():
        if counts.setdefault(int(classes[i]), 0) < 2:
            counts[int(classes[i])] += 1
            expected.append(i)
    assert vs.query("bald", 6, pool=pool, balance=2, seed=0).tolist() == expected


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"candidates": [40]}, "candidates: .* from 0 to 39, got 40 to 40. .* not ids"),
        ({"candidates": np.zeros(N, bool)}, "candidates: .* got none"),
        ({"candidates": [0.5]}, "candidates: expected a mask"),
        ({"candidates": [True]}, "candidates: expected a mask"),
        ({"candidates": [1, 2]}, "k: expected an integer from 1 to 2"),
        ({"costs": np.zeros(N)}, "costs: expected positive numbers"),
        ({"costs": [1.0]}, "costs: .* got float64 of shape"),
        ({"balance": 0}, "balance: expected a whole number"),
    ],
)
def test_invalid_limits_raise_an_explained_error(limit, message):
    with pytest.raises(vs.InputError, match=message):
        vs.query("bald", 6, pool=probabilities(6, N, 4), **limit)
    with pytest.raises(vs.InputError, match="balance: expected a pool"):
        vs.query("coreset", 1, features=np.eye(3), balance=1)


def test_the_cap_is_raised_if_few_classes_are_predicted():
    """A loop should not fail because a young committee predicts only two classes."""
    pool = np.repeat(np.array([[0] * 10 + [1] * 3]), 2, axis=0)
    pool[1, ::2] = 2
    votes = vs.majority_vote(pool, vote="hard")
    for k in (2, 5, 9, 13):
        chosen = vs.query("ge", k, pool=pool, balance=1, seed=0, return_record=True).ids
        assert len(set(chosen.tolist())) == k
        enough = (cap for cap in range(1, 14) if np.minimum(np.bincount(votes), cap).sum() >= k)
        assert np.bincount(votes[chosen]).max() == min(enough)


def test_one_model_is_one_member():
    pool = probabilities(1, 30, 4)
    assert vs.query("entropy", 5, pool=pool[0], seed=0).tolist() == vs.query("entropy", 5, pool=pool, seed=0).tolist()
    with pytest.raises(vs.InputError, match="at least 2 members"):
        vs.query("bald", 5, pool=pool[0])


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame])
def test_data_frames_are_arrays(frame):
    pool = probabilities(1, 30, 4)[0]
    ids = [f"{i}.png" for i in range(30)]
    table = frame({f"class {c}": pool[:, c] for c in range(4)} | {"id": ids, "mask": [i % 2 == 0 for i in range(30)]})
    probs = table[[f"class {c}" for c in range(4)]]
    chosen = vs.query("margin", 5, pool=probs, ids=table["id"], candidates=table["mask"], seed=0)
    assert chosen.tolist() == vs.query("margin", 5, pool=pool, ids=ids, candidates=range(0, 30, 2), seed=0).tolist()


def test_nullable_votes_are_integers_unless_one_is_missing():
    votes = pandas.DataFrame({"a": [0, 1], "b": [1, 1]}, dtype="Int64")
    assert vs.gibbs_error(votes).tolist() == vs.gibbs_error([[0, 1], [1, 1]]).tolist()
    votes.loc[0, "a"] = pandas.NA
    with pytest.raises(vs.InputError, match="1 missing values of 4"):
        vs.gibbs_error(votes)
