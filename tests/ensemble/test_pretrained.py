"""Heads on models that are named by a scheme: saved by name and identity, loaded only with the same weights."""

import json
import shutil

import numpy as np
import pytest

import versionspace as vs
from features.tiny_models import save_model
from versionspace.ensemble import Ensemble, Heads

LABELS = np.arange(12) % 2
IMAGES = np.random.default_rng(0).integers(0, 100, (12, 40, 50, 3), np.uint8) + (100 * LABELS.astype(np.uint8))[
    :, None, None, None
]  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with a model, and heads on its features."""
    root = tmp_path_factory.mktemp("pretrained")
    save_model("dinov2", root / "model")
    fit(f"hf:{root / 'model'}").save(root / "heads")
    return root


@pytest.fixture
def copied(root, tmp_path):
    """The same, for a test that changes it; heads name the model by its new path."""
    shutil.copytree(root / "model", tmp_path / "model")
    shutil.copytree(root / "heads", tmp_path / "heads")
    page = tmp_path / "heads/backbone.json"
    page.write_text(json.dumps(json.loads(page.read_text()) | {"extractor": f"hf:{tmp_path / 'model'}"}))
    return tmp_path


def fit(extractor):
    return Heads(members=2, classes=2, extractor=extractor, cache=False, training={"epochs": 3}).fit(IMAGES, LABELS)


def test_a_saved_ensemble_names_its_extractor_and_what_is_in_it(root):
    page = json.loads((root / "heads/backbone.json").read_text())
    assert page["extractor"] == f"hf:{root}/model"
    assert page["weights"].startswith("hf-model-")
    assert page["side"] == 40
    fitted, again = fit(f"hf:{root}/model"), Ensemble.load(root / "heads", cache=False)
    np.testing.assert_array_equal(again.predict_proba(IMAGES, members=True), fitted.predict_proba(IMAGES, members=True))


def test_a_relative_path_is_saved_as_an_absolute_one(root, tmp_path, monkeypatch):
    monkeypatch.chdir(root)
    fit("hf:model").save(tmp_path)
    assert json.loads((tmp_path / "backbone.json").read_text())["extractor"] == f"hf:{root}/model"


@pytest.mark.parametrize("changed", ["weights", "preprocessing"])
def test_what_changed_since_the_fit_is_rejected(changed, copied):
    if changed == "weights":
        save_model("dinov2", copied / "model", seed=1)
    else:
        page = copied / "model/preprocessor_config.json"
        page.write_text(json.dumps(json.loads(page.read_text()) | {"size": {"shortest_edge": 48}}))
    expected = r"heads: expected the extractor hf-model-\w+, on whose .* got hf-model-\w+. Its weights or its preproc"
    with pytest.raises(vs.InputError, match=expected):
        Ensemble.load(copied / "heads")


def test_a_model_that_was_moved_is_named_again(copied, root):
    (copied / "model").rename(copied / "moved")
    with pytest.raises(vs.InputError, match="extractor hf:.*model: expected a folder .* got no such folder"):
        Ensemble.load(copied / "heads")
    again = Ensemble.load(copied / "heads", extractor=f"hf:{root / 'model'}", cache=False)
    assert again.predict_proba(IMAGES, members=True).shape == (2, 12, 2)
    with pytest.raises(vs.InputError, match="expected the extractor hf-model-.* got efficientnet-lite0"):
        Ensemble.load(copied / "heads", extractor="lite0")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dinov2", "siglip"])
def test_an_onnx_file_contains_model_and_preprocessing(name, tmp_path):
    import onnxruntime

    save_model(name, tmp_path / "model")
    heads = fit(f"hf:{tmp_path / 'model'}")
    assert heads.to_onnx(tmp_path / "heads.onnx") < 1e-4
    session = onnxruntime.InferenceSession(str(tmp_path / "heads.onnx"))
    probs = session.run(None, {"images": IMAGES[:5]})[0]
    np.testing.assert_allclose(probs, heads.predict_proba(IMAGES[:5], members=True).mean(axis=0), atol=1e-4)


def test_a_model_that_an_onnx_file_cannot_contain_is_named(tmp_path):
    save_model("odd-processor", tmp_path / "model")
    heads = fit(f"hf:{tmp_path / 'model'}")
    with pytest.raises(
        vs.InputError, match="got hf:.*model, which has none. Export safetensors .*versionspace predict"
    ):
        heads.to_onnx(tmp_path / "heads.onnx")
    assert not (tmp_path / "heads.onnx").exists()
