"""Every query method in modAL's learners."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from modAL.models import ActiveLearner, Committee

import versionspace as vs
from versionspace.adapters.modal import query_strategy
from versionspace.query.methods import TABLE

RNG = np.random.default_rng(0)
TRUTH = np.arange(60) % 3
X = RNG.normal(size=(60, 4)) + 2 * np.eye(3, 4)[TRUTH]


@pytest.mark.parametrize("name", [m.name for m in TABLE.values() if not m.perturbations])
def test_a_committee_asks_by_any_method(name):
    learners = [
        ActiveLearner(DecisionTreeClassifier(max_features=1, random_state=m), X_training=X[:12], y_training=TRUTH[:12])
        for m in range(4)
    ]
    asking = Committee(learners, query_strategy=query_strategy(name, seed=0))
    chosen, rows = asking.query(X[12:], n_instances=5)
    assert len(set(chosen.tolist())) == 5
    np.testing.assert_array_equal(rows, X[12:][chosen])
    two, _, utilities = asking.query(X[12:], n_instances=2, return_metrics=True)
    assert two.shape == utilities.shape == (2,)


def test_a_learner_asks_for_what_versionspace_chooses():
    asking = ActiveLearner(GaussianNB(), query_strategy("margin", seed=0), X_training=X[:12], y_training=TRUTH[:12])
    expected = vs.query("margin", 5, pool=asking.estimator.predict_proba(X[12:]), seed=0)
    assert asking.query(X[12:], n_instances=5)[0].tolist() == expected.tolist()


def test_the_trees_of_a_forest_are_members():
    forest = RandomForestClassifier(6, random_state=0)
    asking = ActiveLearner(forest, query_strategy("bald", seed=0), X_training=X[:12], y_training=TRUTH[:12])
    expected = vs.query("bald", 3, pool=vs.committee(forest, X[12:]), seed=0, return_record=True)
    assert asking.query(X[12:], n_instances=3)[0].tolist() == expected.ids.tolist()


def test_an_unknown_method_is_an_explained_error():
    with pytest.raises(vs.InputError, match="Did you mean 'gvd'"):
        query_strategy("gvb")
