"""The coordinates in which coverage is measured."""

import numpy as np
import pytest

import versionspace as vs
from versionspace.query import principal_components
from versionspace.query.principal_components import COMPONENTS, PrincipalComponents

ROWS = np.arange(300)


def rows_of_rank(rank, width=200, count=300, noise=0.0, seed=0):
    draws = np.random.default_rng(seed)
    mixed = draws.normal(size=(count, rank)) * np.linspace(3, 1, rank) @ draws.normal(size=(rank, width))
    return (mixed + noise * draws.normal(size=(count, width))).astype(np.float32)


def scaled(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_few_features_are_centred_and_keep_all_their_directions():
    features = rows_of_rank(5, width=5)
    expected = scaled(scaled(features) - scaled(features).mean(axis=0))
    np.testing.assert_allclose(PrincipalComponents(features, ROWS, seed=0)(features), expected, atol=1e-5)


def test_the_distances_of_rows_of_low_rank_are_kept():
    features = rows_of_rank(COMPONENTS - 5)
    plain = scaled(scaled(features) - scaled(features).mean(axis=0))
    projected = PrincipalComponents(features, ROWS, seed=0)(features)
    assert projected.shape == (300, COMPONENTS)
    np.testing.assert_allclose(projected @ projected.T, plain @ plain.T, atol=1e-4)


@pytest.mark.parametrize("width", [200, 900])
def test_the_directions_are_those_of_a_singular_value_decomposition(width):
    features = rows_of_rank(COMPONENTS, width, noise=2.0)
    centred = scaled(features) - scaled(features).mean(axis=0)
    exact = np.linalg.svd(centred, full_matrices=False)[2][:COMPONENTS]
    found = PrincipalComponents(features, ROWS, seed=0).directions
    np.testing.assert_allclose(found.T @ found, np.eye(COMPONENTS), atol=1e-4)
    kept = np.square(centred @ found).sum() / np.square(centred @ exact.T).sum()
    assert kept > 0.995


def test_fewer_rows_than_components_are_fine():
    features = rows_of_rank(3, count=4)
    projected = PrincipalComponents(features, np.arange(4), seed=0)(features)
    assert projected.shape[0] == 4
    assert np.isfinite(projected).all()
    assert len(vs.query("maxherding", 4, features=features, seed=0)) == 4


def test_it_is_a_function_of_seed_and_rows_and_not_of_blocks(monkeypatch):
    features = rows_of_rank(COMPONENTS, noise=1.0)
    whole = PrincipalComponents(features, ROWS, seed=0)(features)
    np.testing.assert_array_equal(PrincipalComponents(features, ROWS, seed=0)(features), whole)
    monkeypatch.setattr(principal_components, "_BLOCK", 7)
    np.testing.assert_allclose(PrincipalComponents(features, ROWS, seed=0)(features), whole, atol=1e-5)
