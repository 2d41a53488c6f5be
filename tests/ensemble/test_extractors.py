"""Ensembles on the features of an extractor that is defined outside the package, with any network."""

import json

import numpy as np
import pytest
from torch import nn

import versionspace as vs
from ensemble.synthetic import images
from features.brightness import Brightness
from versionspace.ensemble import Ensemble, Heads, Normalisation

PIXELS, LABELS = images(60, classes=2)
DIM, BRIGHT = PIXELS // 4, 255 - PIXELS // 4
IMAGES = np.where(LABELS[:, None, None, None] == 1, BRIGHT, DIM)


def linear(shape, classes):
    assert shape == (2, 1, 1)
    return nn.Sequential(nn.Flatten(), nn.Linear(2, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, classes))


@pytest.fixture(params=["heads", linear], ids=["heads", "own network"])
def ensemble(request):
    made = Heads(request.param, members=3, classes=2, extractor=Brightness(), cache=False)
    return made.fit(IMAGES, LABELS, validation=(IMAGES, LABELS))


def test_every_prediction_is_that_of_a_network_on_features(ensemble):
    features = Brightness()(IMAGES)
    assert ensemble._predictor.normalisation == Normalisation.of_features(features)
    assert (ensemble.votes(IMAGES) == LABELS).mean() > 0.9
    inputs = features[:, None, None]
    np.testing.assert_array_equal(
        ensemble.predict_proba(IMAGES, members=True), ensemble._predictor.probabilities(inputs)
    )
    np.testing.assert_array_equal(ensemble.opinions(IMAGES).votes, ensemble.votes(IMAGES))
    assert ensemble.features(IMAGES, "all").shape[:2] == (3, 60)
    assert ensemble.mc_dropout_proba(IMAGES, passes=4, member=1).shape == (4, 60, 2)
    np.testing.assert_array_equal(
        ensemble.perturbations(IMAGES, 1), ensemble._predictor.perturbations(inputs, 1, unit=None)
    )
    assert ensemble.weight_bytes == sum(value.nbytes for value in ensemble._predictor.state.values())


def test_images_of_any_size_are_accepted(ensemble):
    assert ensemble.votes(np.zeros((2, 30, 40, 3), np.uint8)).shape == (3, 2)


def test_a_saved_ensemble_needs_its_extractor_and_network_again(ensemble, tmp_path):
    ensemble.save(tmp_path)
    assert json.loads((tmp_path / "backbone.json").read_text()) == {
        "weights": "brightness", "side": 0, "image": [8, 8, 1], "extractor": None,
    }  # fmt: skip
    net = None if ensemble.net == "heads" else linear
    for cls in (Ensemble, Heads):
        again = cls.load(tmp_path, net=net, extractor=Brightness(), cache=False)
        np.testing.assert_array_equal(
            again.predict_proba(IMAGES, members=True), ensemble.predict_proba(IMAGES, members=True)
        )
    with pytest.raises(vs.InputError, match="extractor: expected the extractor brightness, .* got nothing. Pass extr"):
        Ensemble.load(tmp_path, net=net)
    with pytest.raises(vs.InputError, match="expected the extractor brightness, .* got other. Its weights or"):
        Ensemble.load(tmp_path, net=net, extractor=Brightness("other"))
    with pytest.raises(vs.InputError, match="side: expected 7, the side of the given extractor, got 0"):
        Ensemble.load(tmp_path, net=net, extractor=Brightness(side=7))


def test_one_member_keeps_the_extractor(ensemble):
    single = ensemble.only(2)
    np.testing.assert_allclose(
        single.predict_proba(IMAGES, members=True)[0], ensemble.predict_proba(IMAGES, members=True)[2], atol=1e-6
    )
    assert single.inputs is ensemble.inputs
    assert (type(single), single.members, ensemble.members) == (Heads, 1, 3)


@pytest.mark.slow
def test_an_onnx_file_contains_the_extractor(ensemble, tmp_path):
    import onnxruntime

    assert ensemble.to_onnx(tmp_path / "model.onnx") < 1e-4
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    probs = session.run(None, {"images": IMAGES[:7]})[0]
    np.testing.assert_allclose(probs, ensemble.predict_proba(IMAGES[:7], members=True).mean(axis=0), atol=1e-4)


def test_an_extractor_without_a_module_cannot_be_exported(tmp_path):
    heads = Heads(members=1, classes=2, extractor=Brightness(exported=False), cache=False).fit(IMAGES, LABELS)
    with pytest.raises(vs.InputError, match="extractor: expected one with a torch module.* got brightness, which has"):
        heads.to_onnx(tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_module_that_torch_cannot_export_gets_a_sentence(tmp_path):
    class Branching(Brightness):
        def module(self):
            return _Branching()

    heads = Heads(members=1, classes=2, extractor=Branching(), cache=False).fit(IMAGES, LABELS)
    with pytest.raises(vs.VersionspaceError, match="torch cannot express .* nothing was written. Export safetensors"):
        heads.to_onnx(tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


class _Branching(nn.Module):
    """What it computes depends on the brightness of the first image, in Python."""

    def forward(self, images):
        pixels = images.float().flatten(1)
        scale = 2.0 if float(pixels[0].sum().item()) > 100 else 1.0
        return scale * pixels[:, :2]


def test_the_cache_keeps_extractors_apart(tmp_path):
    fits = []
    for extractor in (Brightness("a"), Brightness("b", scale=-1.0), Brightness("a")):
        heads = Heads(members=1, classes=2, extractor=extractor, cache=tmp_path).fit(IMAGES, LABELS)
        fits.append(heads._predictor.normalisation)
    assert fits[0] == fits[2]
    assert fits[0].mean == tuple(-mean for mean in fits[1].mean)
    assert extractor.calls == []
    assert len(list((tmp_path / "features").iterdir())) == 2


def test_networks_for_pixels_and_for_features_are_not_exchanged():
    with pytest.raises(vs.InputError, match="net: expected one of conv2, .* got 'heads'. .* heads requires an extr"):
        Ensemble("heads")
    with pytest.raises(vs.InputError, match=r"net: expected one of heads, or a function .* got 'conv2'. Pick a name"):
        Heads("conv2", cache=False)
    with pytest.raises(vs.InputError, match="extractor: expected one of lite0, .*FeatureExtractor, got 'resnet'"):
        Heads(extractor="resnet")


def test_statistics_of_another_number_of_channels_are_rejected():
    wrong = Normalisation((0.0,) * 3, (1.0,) * 3)
    with pytest.raises(vs.InputError, match="normalisation: expected statistics of 2 features, got 3"):
        Heads(extractor=Brightness(), normalisation=wrong)
    with pytest.raises(vs.InputError, match="normalisation: expected statistics of 1 channels, got 3"):
        Ensemble("small", classes=2, normalisation=wrong).fit(IMAGES, LABELS)


def test_an_ensemble_on_pixels_returns_the_statistics_of_pixels():
    assert Ensemble("small").statistics(IMAGES) == Normalisation.of(IMAGES)
