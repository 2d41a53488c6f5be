"""``hf:``: tiny models with random weights, saved in the formats of Hugging Face and loaded by path."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import versionspace as vs
from features.tiny_models import MODELS, save_model
from versionspace.errors import MissingPackageError
from versionspace.features import CachedExtractor, FeatureExtractor, huggingface, make_extractor

IMAGES = np.random.default_rng(0).integers(0, 256, (4, 50, 40, 3), np.uint8)
USABLE = [name for name in MODELS if name != "vit-mae"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A function that returns folder and model of a name; the folder is not to be changed."""
    root, made = tmp_path_factory.mktemp("models"), {}

    def model(name):
        if name not in made:
            made[name] = save_model(name, root / name)
        return root / name, made[name]

    return model


@pytest.fixture
def vit(models, tmp_path):
    """A copy of a folder that a test may change."""
    return Path(shutil.copytree(models("vit")[0], tmp_path / "model"))


def pooled(name, model, folder):
    """Features by the model and its processor alone."""
    import transformers

    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    inputs = processor(images=[Image.fromarray(image) for image in IMAGES], return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        if name in ("clip", "siglip"):
            return model.get_image_features(pixel_values=inputs).pooler_output
        return model(pixel_values=inputs).pooler_output.flatten(1)


@pytest.mark.parametrize("name", USABLE)
def test_features_are_the_pooled_output_on_the_pixels_of_the_processor(name, models):
    folder, model = models(name)
    extractor = make_extractor(f"hf:{folder}")
    assert isinstance(extractor, FeatureExtractor)
    found, expected = extractor(IMAGES), pooled(name, model, folder).numpy()
    assert found.dtype == np.float32
    assert found.shape == expected.shape == (4, extractor.width)
    np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())  # the processor rounds pixels
    assert found.std(axis=0).max() > 0


def test_a_processor_with_other_steps_is_called_itself(models):
    """Levit's resizes to 256/224 of its size; there is no module for ONNX then."""
    folder, model = models("odd-processor")
    extractor = make_extractor(f"hf:{folder}")
    np.testing.assert_allclose(extractor(IMAGES), pooled("odd-processor", model, folder), atol=1e-5)
    assert extractor.module() is None
    grey = IMAGES[..., :1]
    np.testing.assert_array_equal(extractor(grey), extractor(grey.repeat(3, axis=3)))
    with pytest.raises(vs.InputError, match="images: expected images of 1 channel"):
        extractor(IMAGES[..., :2])


@pytest.mark.parametrize("name", ["vit", "dinov2", "convnext"])
def test_the_module_for_onnx_equals_the_extractor(name, models):
    extractor = make_extractor(f"hf:{models(name)[0]}")
    np.testing.assert_allclose(extractor.module()(torch.from_numpy(IMAGES)), extractor(IMAGES), atol=1e-6)


def test_without_the_weights_of_a_pooler_the_class_token_is_used(tmp_path):
    """transformers would draw them at random, differently in each process."""
    model = save_model("vit", tmp_path, add_pooling_layer=False)
    before = torch.random.get_rng_state()
    extractor = make_extractor(f"hf:{tmp_path}")
    inputs = extractor._prepare(torch.from_numpy(IMAGES))
    with torch.no_grad():
        expected = model(pixel_values=inputs).last_hidden_state[:, 0]
    np.testing.assert_allclose(extractor(IMAGES), expected, atol=1e-5)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_without_pooler_and_class_token_features_are_the_mean_over_positions():
    class Positions(torch.nn.Module):
        def forward(self, pixel_values):
            return type("Output", (), {"last_hidden_state": pixel_values, "pooler_output": None})

    net = huggingface._Pooled(Positions(), use_pooler=True)
    tokens, maps = torch.rand(2, 5, 3), torch.rand(2, 3, 4, 4)
    assert torch.equal(net(tokens), tokens.mean(dim=1))
    assert torch.equal(net(maps), maps.mean(dim=(2, 3)))


def test_a_model_that_draws_random_numbers_is_rejected(models):
    with pytest.raises(vs.InputError, match="vit-mae: expected a network that gives the same image the same features"):
        _ = make_extractor(f"hf:{models('vit-mae')[0]}").width


def test_a_checkpoint_that_lacks_weights_is_rejected(vit):
    from safetensors.torch import load_file, save_file

    tensors = load_file(vit / "model.safetensors")
    save_file({k: v for k, v in tensors.items() if "layer.1." not in k and "layers.1." not in k},
              vit / "model.safetensors", {"format": "pt"})  # fmt: skip
    with pytest.raises(vs.InputError, match="expected a checkpoint with all weights .* got one without [0-9]+ of them"):
        _ = make_extractor(f"hf:{vit}").width


def test_the_processor_decides_the_side(models):
    assert make_extractor(f"hf:{models('vit')[0]}").side == 32
    assert make_extractor(f"hf:{models('dinov2')[0]}").side == 40
    assert make_extractor(f"hf:{models('vit')[0]}", side=32).side == 32
    with pytest.raises(vs.InputError, match="side: expected 32, the side of the given extractor, got 64"):
        make_extractor(f"hf:{models('vit')[0]}", side=64)


@pytest.mark.parametrize("changed", ["weights", "preprocessing", "readme"])
def test_models_with_other_weights_or_preprocessing_do_not_share_features(changed, vit, tmp_path):
    def features():
        extractor = make_extractor(f"hf:{vit}")
        return extractor.identity, CachedExtractor(extractor, cache=tmp_path / "cache")(IMAGES)

    identity, before = features()
    if changed == "weights":
        save_model("vit", vit, seed=1)
    elif changed == "preprocessing":
        settings = json.loads((vit / "preprocessor_config.json").read_text())
        (vit / "preprocessor_config.json").write_text(json.dumps(settings | {"image_mean": [0.1, 0.2, 0.3]}))
    else:
        (vit / "README.md").write_text("a model")
    other, after = features()
    folders = len(list((tmp_path / "cache/features").iterdir()))
    if changed == "readme":
        assert (identity, folders) == (other, 1)
        np.testing.assert_array_equal(before, after)
    else:
        assert identity != other
        assert folders == 2
        assert np.abs(before - after).max() > 1e-3


def test_the_same_files_in_another_place_are_the_same_extractor(vit, tmp_path):
    moved = shutil.copytree(vit, tmp_path / "elsewhere" / vit.name)
    assert make_extractor(f"hf:{moved}").identity == make_extractor(f"hf:{vit}").identity


def test_what_is_not_a_model_gets_a_sentence(vit, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    shutil.copy(vit / "model.safetensors", tmp_path / "broken")
    (tmp_path / "broken" / "config.json").write_text('{"model_type": "no-such-model"}')
    with pytest.raises(vs.InputError, match=r"expected a folder with config.json and weights.* got no such folder"):
        make_extractor(f"hf:{tmp_path}/nothing")
    with pytest.raises(vs.InputError, match=r"got 0 files of weights, and 0 of settings. Save model and processor"):
        make_extractor(f"hf:{tmp_path}/empty")
    with pytest.raises(vs.InputError, match="expected an image model that transformers can load, got .*no-such-model"):
        make_extractor(f"hf:{tmp_path}/broken")
    (vit / "preprocessor_config.json").unlink()
    with pytest.raises(vs.InputError, match="expected an image model that transformers can load"):
        make_extractor(f"hf:{vit}")


HUB = """
import sys
import numpy as np
from versionspace.errors import InputError
from versionspace.features import make_extractor
for name in sys.argv[1:]:
    try:
        extractor = make_extractor(name)
        print(extractor.identity, extractor(np.zeros((1, 32, 32, 3), np.uint8)).shape)
    except InputError as error:
        print(error)
"""


@pytest.mark.slow
def test_a_model_of_the_hub_is_named_with_its_commit(vit, tmp_path):
    """The local copy of the hub, as huggingface_hub lays it out, in a process that has no network."""
    commits = {"main": "a" * 40, "v2": "b" * 40}
    repository = tmp_path / "home/hub/models--someone--tiny"
    for revision, commit in commits.items():
        shutil.copytree(vit, repository / "snapshots" / commit)
        (repository / "refs").mkdir(exist_ok=True)
        (repository / "refs" / revision).write_text(commit)
    names = ["hf:someone/tiny", "hf:someone/tiny@v2", f"hf:someone/tiny@{commits['v2']}", "hf:someone/tinny"]
    done = subprocess.run(
        [sys.executable, "-c", HUB, *names], capture_output=True, text=True, check=True,
        env=os.environ | {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    first, second, same, unknown = done.stdout.splitlines()
    assert first.startswith("hf-someone/tiny-")
    assert first.endswith(" (1, 16)")
    assert second == same != first
    assert unknown.startswith("extractor hf:someone/tinny: expected an image model that transformers can load, got ")
    assert "connect once, or copy the model here and pass its folder, hf:FOLDER" in unknown


def test_without_transformers_the_extra_is_named(monkeypatch, models):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'versionspace\[hf\]'"):
        make_extractor(f"hf:{models('vit')[0]}")
