"""Committees of scikit-learn's classifiers, whose classes are aligned."""

import numpy as np
import pandas
import polars
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import versionspace as vs

X, Y = load_digits(return_X_y=True)
NAMES = np.array([f"digit {y}" for y in Y])


def fitted(some):
    return MultinomialNB().fit(X[some], NAMES[some])


def test_classes_that_a_member_has_not_seen_have_probability_0():
    """Stacked as they are, these two members would disagree on every image that both classify alike."""
    high, all_but_one = fitted(Y > 4), fitted(Y != 1)
    probs = vs.committee([high, all_but_one], X)
    assert probs.shape == (2, len(X), 9)  # neither knows the digit 1
    assert (probs[0, :, :4] == 0).all()
    names = np.unique(NAMES[Y != 1])
    np.testing.assert_array_equal(names[probs[0].argmax(-1)], high.predict(X))
    np.testing.assert_array_equal(names[probs[1].argmax(-1)], all_but_one.predict(X))
    np.testing.assert_allclose(probs.sum(-1), 1)
    everything = vs.committee([high, all_but_one], X, classes=np.unique(NAMES))
    assert everything.shape == (2, len(X), 10)
    assert (everything[:, :, 1] == 0).all()


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array, pandas.DataFrame, polars.DataFrame])
def test_rows_of_any_kind_are_predicted_in_chunks(kind):
    model = fitted(Y >= 0)
    some = kind(X[:50])
    if kind is polars.DataFrame or kind is pandas.DataFrame:
        model = MultinomialNB().fit(kind(X), NAMES)
    np.testing.assert_allclose(vs.committee([model], some, rows=7), vs.committee([model], some), atol=1e-12)


def test_the_members_of_a_forest_are_a_committee():
    forest = RandomForestClassifier(7, random_state=0).fit(X[:200], NAMES[:200])
    probs = vs.committee(forest, X)
    assert probs.shape == (7, len(X), 10)
    np.testing.assert_allclose(probs.mean(axis=0), forest.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(forest.classes_[probs.mean(axis=0).argmax(-1)], forest.predict(X))


def test_texts_are_a_list():
    texts = ["a cat", "a dog", "the cat", "the dog"] * 3
    estimator = make_pipeline(CountVectorizer(token_pattern=r"\w+"), MultinomialNB())
    models = vs.bootstrap_committee(estimator, texts, ["cat", "dog"] * 6, members=4)
    assert vs.committee(models, texts, rows=5).shape == (4, 12, 2)


def test_a_bootstrap_committee_is_reproducible_and_its_members_differ():
    def predictions(seed):
        models = vs.bootstrap_committee(DecisionTreeClassifier(splitter="random"), X[:100], NAMES[:100], 5, seed)
        return vs.committee(models, X, classes=np.unique(NAMES))

    first = predictions(3)
    np.testing.assert_array_equal(predictions(3), first)
    assert (predictions(4) != first).any()
    assert vs.pairwise_disagreement(first) > 0.1
    given = {"pool": first[:, 300:], "reference": first[:, 100:300]}
    assert vs.query("gvd", 5, **given, seed=0, return_record=True).by_lot == 5  # trees split every image differently


def test_a_draw_has_at_least_two_classes():
    labels = np.array([0] * 30 + [1])
    for model in vs.bootstrap_committee(LogisticRegression(), X[:31], labels, members=20, seed=1):
        assert len(model.classes_) == 2


def test_weights_are_passed_on():
    class Records(MultinomialNB):
        def fit(self, X, y, sample_weight=None):
            self.weights_, self.labels_ = sample_weight, y
            return super().fit(X, y, sample_weight)

    for model in vs.bootstrap_committee(Records(), X[:200], Y[:200], 3, sample_weight=Y[:200] + 1.0):
        assert model.weights_.tolist() == (model.labels_ + 1.0).tolist()


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([], "at least one fitted classifier"),
        (MultinomialNB(), r"a list of fitted classifiers, got MultinomialNB. .*\[model\]"),
        ([MultinomialNB()], "with classes_, got MultinomialNB. Call fit first"),
        ([RidgeClassifier()], "with predict_proba, got RidgeClassifier. .*CalibratedClassifierCV"),
    ],
)
def test_invalid_models_raise_an_explained_error(models, message):
    with pytest.raises(vs.InputError, match=message):
        vs.committee(models, X)


def test_invalid_arguments_raise_an_explained_error():
    with pytest.raises(vs.InputError, match="classes: expected every class of models.0., got no 'digit 0'"):
        vs.committee([fitted(Y >= 0)], X, classes=["digit 1"])
    with pytest.raises(vs.InputError, match="X: expected at least one row"):
        vs.committee([fitted(Y >= 0)], X[:0])
    with pytest.raises(vs.InputError, match="estimator: .* the class MultinomialNB. Pass an instance"):
        vs.bootstrap_committee(MultinomialNB, X, Y)
    with pytest.raises(vs.InputError, match="y: .* 1 classes"):
        vs.bootstrap_committee(MultinomialNB(), X[:3], [1, 1, 1])
    with pytest.raises(vs.InputError, match="members: "):
        vs.bootstrap_committee(MultinomialNB(), X, Y, members=0)
