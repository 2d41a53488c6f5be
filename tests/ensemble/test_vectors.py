"""Ensembles on features that were computed elsewhere."""

import json

import numpy as np
import pandas as pd
import pytest
from torch import nn

import versionspace as vs
from ensemble.synthetic import images
from versionspace.data import ImageView
from versionspace.ensemble import PRECOMPUTED, Ensemble, Heads, Normalisation
from versionspace.ensemble import normalise as normalising

RNG = np.random.default_rng(0)
LABELS = np.arange(60) % 3
FEATURES = (3 * np.eye(3)[LABELS] @ RNG.normal(size=(3, 12)) + RNG.normal(size=(60, 12)) + 50).astype(np.float32)
PIXELS, _ = images(4, classes=2)


def linear(shape, classes):
    assert shape == (12, 1, 1)
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, classes))


@pytest.fixture(scope="module")
def heads():
    return Heads(members=3, classes=3, training={"epochs": 40}).fit(FEATURES, LABELS)


def test_heads_learn_features_as_they_are(heads):
    assert (heads.votes(FEATURES) == LABELS).mean() > 0.95
    assert heads.predict_proba(FEATURES, members=True).shape == (3, 60, 3)
    assert heads.features(FEATURES).shape == (60, 32)
    assert heads.mc_dropout_proba(FEATURES[:5], passes=4).shape == (4, 5, 3)
    assert (heads.perturbations(FEATURES[:5]) > 0).all()
    expected = Normalisation.of_features(FEATURES)
    found = heads._predictor.normalisation
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(found.deviation, expected.deviation, rtol=1e-9)


def test_the_extractor_is_not_loaded_for_features(monkeypatch):
    def fail(*_, **__):
        raise AssertionError("no extractor is needed")

    monkeypatch.setattr("versionspace.ensemble.inputs.make_extractor", fail)
    assert Heads(members=1, classes=3).fit(FEATURES, LABELS).votes(FEATURES).shape == (1, 60)


def test_precision_and_container_do_not_matter(heads, tmp_path):
    np.save(tmp_path / "f.npy", FEATURES)
    mapped = np.load(tmp_path / "f.npy", mmap_mode="r")
    expected = heads.votes(FEATURES)
    for given in (mapped, ImageView(mapped, np.arange(60)), pd.DataFrame(FEATURES), FEATURES.tolist()):
        np.testing.assert_array_equal(heads.votes(given), expected)
    half = FEATURES.astype(np.float16)
    np.testing.assert_array_equal(
        heads.predict_proba(half, members=True), heads.predict_proba(half.astype(np.float32), members=True)
    )
    again = Heads(members=3, classes=3, training={"epochs": 40}).fit(pd.DataFrame(FEATURES), LABELS)
    np.testing.assert_array_equal(
        again.predict_proba(FEATURES, members=True), heads.predict_proba(FEATURES, members=True)
    )
    whole = np.rint(FEATURES).astype(np.uint16)
    np.testing.assert_array_equal(heads.votes(whole), heads.votes(whole.astype(np.float32)))


def test_statistics_are_computed_in_blocks(monkeypatch):
    monkeypatch.setattr(normalising, "_ROWS", 7)
    shifted = FEATURES + np.float32(1e4)
    found, expected = Heads(classes=3).statistics(shifted), Normalisation.of_features(shifted)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(found.deviation, expected.deviation, rtol=1e-6)


def test_a_saved_ensemble_remembers_the_width(heads, tmp_path):
    heads.save(tmp_path)
    body = json.loads((tmp_path / "backbone.json").read_text())
    assert body == {"weights": PRECOMPUTED, "side": 0, "image": [1, 1, 12], "extractor": PRECOMPUTED}
    for cls in (Ensemble, Heads):
        again = cls.load(tmp_path)
        np.testing.assert_array_equal(
            again.predict_proba(FEATURES, members=True), heads.predict_proba(FEATURES, members=True)
        )
        with pytest.raises(vs.InputError, match="features: expected 12 features of each item, as in fit, got 11. Com"):
            again.votes(FEATURES[:, :11])
        with pytest.raises(vs.InputError, match=r"features: expected features of shape \(N, F\).* sees features and"):
            again.votes(PIXELS)


def test_features_and_images_are_not_exchanged(heads):
    with pytest.raises(vs.InputError, match="features: expected 12 features of each item, as in fit, got 3"):
        heads.predict_proba(FEATURES[:, :3], members=True)
    with pytest.raises(vs.InputError, match=r"features: expected .* got uint8 of shape \(4, 8, 8, 1\). This ens"):
        heads.fit(PIXELS, [0, 1, 0, 1])
    with pytest.raises(vs.InputError, match=r"images: expected uint8 images .* got float32 of shape \(60, 12\)"):
        Ensemble("small", classes=3).fit(FEATURES, LABELS)
    with pytest.raises(vs.InputError, match="validation features: expected features of shape"):
        heads.fit(FEATURES, LABELS, validation=(PIXELS, [0, 1, 0, 1]))
    on_images = Heads(members=1, classes=2, cache=False, side=32).fit(PIXELS, [0, 1, 0, 1])
    with pytest.raises(vs.InputError, match="images: expected uint8 images of shape"):
        on_images.votes(FEATURES)


def test_rows_that_are_not_finite_are_named(heads):
    broken = np.tile(FEATURES, (20, 1))
    broken[1111, 3] = np.nan
    with pytest.raises(vs.InputError, match=r"features\[1111\]: expected finite features, got a number that is not"):
        heads.votes(broken)
    with pytest.raises(vs.InputError, match=r"features\[0\]: expected finite features"):
        heads.fit(np.full((6, 12), 1e39), LABELS[:6])


def test_a_network_of_your_own_sees_features(tmp_path):
    ensemble = Ensemble(linear, members=2, classes=3, extractor=PRECOMPUTED, training="no-validation")
    ensemble.fit(FEATURES, LABELS).save(tmp_path)
    again = Ensemble.load(tmp_path, net=linear)
    np.testing.assert_array_equal(again.votes(FEATURES), ensemble.votes(FEATURES))


def test_one_member_keeps_seeing_features(heads):
    np.testing.assert_allclose(
        heads.only(1).predict_proba(FEATURES), heads.predict_proba(FEATURES, members=True)[1], atol=1e-6
    )  # fmt: skip


@pytest.mark.slow
def test_an_onnx_file_takes_features(heads, tmp_path):
    import onnxruntime

    assert heads.to_onnx(tmp_path / "model.onnx", classes=["a", "b", "c"]) < 1e-4
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    assert [(one.name, one.type, one.shape[1:]) for one in session.get_inputs()] == [
        ("features", "tensor(float)", [12])
    ]
    probs = session.run(None, {"features": FEATURES[:7]})[0]
    np.testing.assert_allclose(probs, heads.predict_proba(FEATURES[:7], members=True).mean(axis=0), atol=1e-4)
