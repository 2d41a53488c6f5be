"""Memory and work of the methods, counted and not timed."""

import tracemalloc
from dataclasses import replace

import numpy as np

import versionspace as vs
from committees import probabilities
from versionspace.query import committee, diversity, inputs
from versionspace.query.arguments import Arguments, read_problem
from versionspace.query.methods import TABLE
from versionspace.space import CachedDiameter, contest


def peak(work):
    """Return the largest number of bytes that were allocated at once while ``work`` ran."""
    tracemalloc.start()
    work()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_hard_votes_are_counted_without_a_dense_array():
    """As probabilities 0 and 1 of the classes with a vote, this reference would take 100 MB and more."""
    rng = np.random.default_rng(0)
    votes = np.where(rng.random((100, 2000)) < 0.5, 3, rng.integers(0, 500, (100, 2000)))
    assert peak(lambda: vs.utilities("gvd", pool=votes[:, :50], reference=votes, vote="hard", classes=500)) < 20e6


def test_soft_votes_take_no_more_memory_than_the_reference(monkeypatch):
    monkeypatch.setattr(contest, "_ELEMENTS", 50_000)
    reference = probabilities(8, 500, 1000, noise=0.3).astype(np.float32)
    found = peak(lambda: vs.utilities("gvd", pool=reference[:, :20], reference=reference))
    assert found < 1.5 * reference.nbytes


def test_badge_and_coreset_copy_neither_probabilities_nor_features(monkeypatch):
    monkeypatch.setattr(diversity, "_BLOCK", 1 << 14)
    monkeypatch.setattr(diversity, "_ELEMENTS", 1 << 14)
    monkeypatch.setattr(inputs, "_ELEMENTS", 1 << 14)
    pool = probabilities(1, 20_000, 100, dtype=np.float32)
    features = np.random.default_rng(0).normal(size=(20_000, 100)).astype(np.float16)
    assert peak(lambda: vs.query("badge", 3, pool=pool, features=features, seed=0)) < 0.25 * pool.nbytes
    assert (
        peak(lambda: vs.query("coreset", 3, features=features, labelled_features=features[:5])) < 0.5 * features.nbytes
    )


def test_a_batch_of_fifty_scores_less_than_twice_as_many_subspaces_as_one_of_ten():
    """The refinement restarts several times on the way; what was scored before is remembered."""
    pool, reference = probabilities(12, 2000, 4, noise=3.0), probabilities(12, 300, 4, seed=1, noise=3.0)
    method = TABLE["gvd-batch"]
    problem = read_problem(method, Arguments(pool, reference), seed=0)
    scored = {}
    for k in (10, 50):
        count = 0

        def counting(masks, sizes):
            nonlocal count
            count += len(masks)
            return problem.diameter(masks, sizes)

        committee.choose_gvd_batch(replace(problem, diameter=counting), k)
        scored[k] = count
    assert scored[50] < 2 * scored[10]


def test_a_cached_diameter_computes_each_subspace_once():
    calls = []

    def diameter(masks, sizes):
        calls.append(masks[:, 0].tolist())
        return masks[:, 0].astype(float)

    for words in (1, 2):
        calls.clear()
        cached = CachedDiameter(diameter, room=100)
        masks = np.zeros((6, words), np.uint64)
        masks[:, 0] = [5, 3, 9, 1, 7, 2]
        assert cached(masks[:4], np.ones(4, int)).tolist() == [5, 3, 9, 1]
        assert cached(masks, np.ones(6, int)).tolist() == [5, 3, 9, 1, 7, 2]
        assert calls == [[5, 3, 9, 1], [7, 2]]
        assert len(cached) == 6
