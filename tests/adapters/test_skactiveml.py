"""The contract of scikit-activeml's pool-based query strategies, over every method."""

import numpy as np
import pytest
from skactiveml.base import SingleAnnotatorPoolQueryStrategy
from skactiveml.classifier import SklearnClassifier
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import versionspace as vs
from versionspace.adapters.skactiveml import VersionSpaceQuery
from versionspace.query.methods import TABLE

RNG = np.random.default_rng(0)
TRUTH = np.arange(40) % 3
X = RNG.normal(size=(40, 4)) + 2 * np.eye(3, 4)[TRUTH]
Y = np.where(np.arange(40) < 12, TRUTH, np.nan).astype(float)
UNKNOWN = set(range(12, 40))
TREES = [
    DecisionTreeClassifier(max_features=1, splitter="random", min_samples_leaf=2, random_state=m) for m in range(5)
]


@pytest.fixture(params=list(TABLE))
def strategy(request):
    return VersionSpaceQuery(request.param, random_state=3)


def extra(strategy, candidates=28):
    return {"perturbations": np.linspace(1, 2, candidates)} if strategy.method == "dfal" else {"ensemble": TREES}


def test_only_unlabelled_samples_are_chosen(strategy):
    chosen = strategy.query(X, Y, batch_size=5, **extra(strategy))
    assert isinstance(strategy, SingleAnnotatorPoolQueryStrategy)
    assert chosen.shape == (5,)
    assert len(set(chosen.tolist()) & UNKNOWN) == 5


def test_the_same_random_state_chooses_the_same(strategy):
    first = strategy.query(X, Y, batch_size=4, **extra(strategy))
    assert clone(strategy).query(X, Y, batch_size=4, **extra(strategy)).tolist() == first.tolist()


def test_utilities_have_a_row_for_each_step(strategy):
    chosen, utilities = strategy.query(X, Y, batch_size=3, return_utilities=True, **extra(strategy))
    assert utilities.shape == (3, 40)
    assert np.isnan(utilities[:, :12]).all()
    for step, index in enumerate(chosen):
        assert np.isfinite(utilities[step, index])
        assert np.isnan(utilities[step + 1 :, index]).all()
        if TABLE[strategy.method].pointwise:
            assert utilities[step, index] == np.nanmax(utilities[step])
            assert np.isfinite(utilities[step]).sum() == 28 - step


def test_candidates_may_be_positions_or_samples(strategy):
    some = np.array([15, 20, 21, 30])
    chosen = strategy.query(X, Y, candidates=some, batch_size=2, **extra(strategy, 4))
    assert set(chosen.tolist()) <= set(some.tolist())
    _, utilities = strategy.query(X, Y, candidates=X[some], batch_size=2, return_utilities=True, **extra(strategy, 4))
    assert utilities.shape == (2, 4)


def test_too_large_a_batch_is_reduced(strategy):
    with pytest.warns(UserWarning, match="batch_size=28"):
        assert len(strategy.query(X, Y, batch_size=100, **extra(strategy))) == 28


def test_a_fitted_ensemble_is_used_as_it_is():
    models = [clone(tree).fit(X[:12], TRUTH[:12]) for tree in TREES]
    chosen = VersionSpaceQuery("bald", random_state=0).query(X, Y, ensemble=models, fit_ensemble=False, batch_size=4)
    record = vs.query("bald", 4, pool=vs.committee(models, X[12:]), seed=0, return_record=True)
    scores = vs.utilities("bald", pool=vs.committee(models, X[12:]))
    assert sorted(scores[chosen - 12]) == sorted(record.utilities)


@pytest.mark.parametrize(
    "model", [GaussianNB(), RandomForestClassifier(5), SklearnClassifier(GaussianNB(), classes=range(3))]
)
def test_single_classifiers_and_forests(model):
    chosen = VersionSpaceQuery("margin", random_state=0).query(X, Y, ensemble=model, batch_size=4)
    assert len(set(chosen.tolist()) & UNKNOWN) == 4


def test_labels_may_have_names():
    names = np.array(["cat", "dog", "owl", None], object)[np.where(np.isnan(Y), 3, TRUTH)]
    strategy = VersionSpaceQuery("gvd", missing_label=None, random_state=0)
    assert len(set(strategy.query(X, names, ensemble=TREES, batch_size=4).tolist()) & UNKNOWN) == 4


def test_a_missing_ensemble_is_an_explained_error():
    with pytest.raises(vs.InputError, match="ensemble: expected fitted classifiers, since 'bald' looks at"):
        VersionSpaceQuery("bald").query(X, Y)
