"""Ensembles as classifiers in the style of scikit-learn."""

import math

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import versionspace as vs
from ensemble.synthetic import images
from versionspace.ensemble import Ensemble, Heads, Training

RNG = np.random.default_rng(0)
LABELS = np.arange(60) % 3
NAMES = np.array(["cat", "dog", "owl"])[LABELS]
FEATURES = RNG.normal(size=(60, 6)) + 2.0 * np.eye(3, 6)[LABELS]
QUICK = {"epochs": 20}


def heads(**options):
    return Heads(**{"members": 3, "training": QUICK, "device": "cpu", "threads": 1, "progress": False, **options})


NOT_PASSED = {
    "check_no_attributes_set_in_init": "history_ and inputs exist before fit",
    "check_fit_score_takes_y": "the arguments are called images and labels",
    "check_sample_weight_equivalence_on_dense_data": "it passes y by name; batches of repeated rows draw other orders",
    "check_dont_overwrite_parameters": "classes is the number of classes, which fit may determine",
    "check_estimators_unfitted": "the error is an InputError, a ValueError that is not a NotFittedError",
    "check_do_not_raise_errors_in_init_or_set_params": "invalid settings are rejected at once",
    "check_sample_weights_not_an_array": "arrays that refuse numpy.shape are not supported",
    "check_classifier_data_not_an_array": "arrays that refuse numpy.shape are not supported",
    "check_complex_data": "rejected, in other words than scikit-learn's",
    "check_dtype_object": "features in arrays of objects are rejected",
    "check_estimators_empty_data_messages": "rejected, in other words than scikit-learn's",
    "check_estimators_nan_inf": "rejected, in other words than scikit-learn's",
    "check_classifiers_regression_target": "rejected, in other words than scikit-learn's",
    "check_supervised_y_2d": "a column of labels is rejected",
    "check_parameters_default_constructible": "dtype is a torch.dtype",
    "check_fit2d_predict1d": "rejected, in other words than scikit-learn's",
    "check_n_features_in_after_fitting": "rejected, in other words than scikit-learn's",
    "check_requires_y_none": "rejected, in other words than scikit-learn's",
}
"""The checks of scikit-learn that do not pass, and why. docs/models.md lists them."""


@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn():
    results = check_estimator(heads(members=2), on_fail=None)
    assert {one["check_name"] for one in results if one["status"] == "failed"} == set(NOT_PASSED)
    assert sum(one["status"] == "passed" for one in results) > 40


def test_the_checks_that_are_not_passed_are_documented(repository):
    page = (repository / "docs" / "models.md").read_text()
    for name, why in NOT_PASSED.items():
        assert f"`{name}`" in page, name
        assert why in page, name


def test_probabilities_are_those_of_the_vote_or_of_all_members():
    fitted = heads().fit(FEATURES, LABELS)
    members = fitted.predict_proba(FEATURES, members=True)
    assert members.shape == (3, 60, 3)
    np.testing.assert_allclose(fitted.predict_proba(FEATURES), members.mean(axis=0), atol=1e-6)
    np.testing.assert_array_equal(fitted.predict(FEATURES), vs.majority_vote(members))
    assert fitted.score(FEATURES, LABELS) == (fitted.predict(FEATURES) == LABELS).mean() > 0.8
    assert (
        fitted.score(FEATURES, LABELS, sample_weight=LABELS == 1)
        == (fitted.predict(FEATURES) == LABELS)[LABELS == 1].mean()
    )


def test_classes_may_have_names(tmp_path):
    named, numbered = heads().fit(FEATURES, NAMES), heads(classes=3).fit(FEATURES, LABELS)
    assert named.classes_.tolist() == ["cat", "dog", "owl"]
    assert numbered.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(named.predict_proba(FEATURES), numbered.predict_proba(FEATURES))
    named.save(tmp_path)
    again = Ensemble.load(tmp_path)
    assert again.predict(FEATURES).tolist() == named.predict(FEATURES).tolist()
    more = heads(classes=["owl", "cat", "dog", "eel"]).fit(FEATURES, NAMES)
    assert more.predict_proba(FEATURES).shape == (60, 4)
    assert more.score(FEATURES, NAMES) > 0.8
    with pytest.raises(vs.InputError, match="labels: expected classes among 'cat', 'dog', got 'owl'"):
        heads(classes=["cat", "dog"]).fit(FEATURES, NAMES)
    with pytest.raises(vs.InputError, match="labels: .*not all whole numbers"):
        heads().fit(FEATURES, LABELS + 0.5)
    with pytest.raises(vs.InputError, match="classes: expected a whole number .* got 'cat'"):
        heads(classes="cat")


def test_scikit_learn_clones_tunes_and_cross_validates():
    made = heads(seed=4, members=2)
    copy = clone(made)
    assert copy.get_params() == made.get_params()
    assert is_classifier(made)
    made.fit(FEATURES, NAMES)
    np.testing.assert_array_equal(copy.fit(FEATURES, NAMES).predict_proba(FEATURES), made.predict_proba(FEATURES))
    assert cross_val_score(made, FEATURES, NAMES, cv=2).mean() > 0.6
    search = GridSearchCV(made, {"members": [1, 2]}, cv=2).fit(FEATURES, NAMES)
    assert search.best_estimator_.members in (1, 2)
    with pytest.raises(vs.InputError, match="member: expected one of net, members"):
        made.set_params(member=3)


def test_weights_are_those_of_the_training_loss():
    equal = heads().fit(FEATURES, LABELS, sample_weight=np.full(60, 7.0))
    np.testing.assert_allclose(equal.predict_proba(FEATURES), heads().fit(FEATURES, LABELS).predict_proba(FEATURES))
    wrong = np.where(np.arange(60) < 30, LABELS, (LABELS + 1) % 3)
    trusted = heads().fit(FEATURES, wrong, sample_weight=np.arange(60) < 30)
    assert trusted.score(FEATURES, LABELS) > 0.8 > heads().fit(FEATURES, wrong).score(FEATURES, LABELS)
    with pytest.raises(vs.InputError, match="sample_weight: expected numbers of at least 0"):
        heads().fit(FEATURES, LABELS, sample_weight=np.zeros(60))


def test_a_dataset_or_a_loader_is_fitted_like_its_arrays():
    data = TensorDataset(torch.tensor(FEATURES), torch.tensor(LABELS))
    expected = heads().fit(FEATURES, LABELS).predict_proba(FEATURES)
    for given in (data, DataLoader(data, batch_size=7)):
        np.testing.assert_array_equal(heads().fit(given).predict_proba(FEATURES), expected)
    with pytest.raises(vs.InputError, match="images: expected a TensorDataset of pairs"):
        heads().fit(TensorDataset(torch.tensor(FEATURES)))


def test_changes_of_the_training_need_no_validation():
    pixels, labels = images(12)
    assert Ensemble("small", members=1, classes=4, training={"epochs": 2}).fit(pixels, labels).history_[0].epochs <= 2


@pytest.mark.parametrize("factory", [lambda shape, classes: 3, lambda shape: nn.Flatten(), nn.Linear])
def test_a_factory_that_makes_no_module_is_rejected(factory):
    with pytest.raises(vs.InputError, match=r"net: expected a function \(shape, classes\) -> torch.nn.Module, .* got"):
        Ensemble(factory, members=1, classes=4, training=Training(epochs=1, watch="training loss")).fit(*images(6))


def test_sparse_features_are_rejected():
    from scipy import sparse

    with pytest.raises(vs.InputError, match="features: expected a dense array, got sparse input .* TruncatedSVD"):
        heads().fit(sparse.csr_array(FEATURES), LABELS)
    assert math.isfinite(heads().fit(FEATURES, LABELS).score(FEATURES, LABELS))
