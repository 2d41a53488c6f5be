"""Names of extractors: tables, schemes and functions of the user's own."""

import sys

import numpy as np
import pytest
import torch

import versionspace as vs
from features.brightness import Brightness
from versionspace.features import DEFAULT_EXTRACTOR, EXTRACTORS, SCHEMES, absolute_name, find_maker, make_extractor

IMAGES = np.random.default_rng(0).integers(0, 256, (3, 8, 8, 3), np.uint8)


def not_an_extractor():
    return lambda images: images


def dim():
    return Brightness("dim", side=7, scale=0.5)


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("lite00", "Did you mean 'lite0'?"),
        ("torchvison", "Did you mean 'torchvision'?"),
        ("hf", "For example hf:facebook/dinov2-small"),
        ("hf:", "For example hf:facebook/dinov2-small"),
        ("torchvision:", "For example torchvision:resnet18"),
        ("https://example.com/model", "Pick a name"),
        ("", "Pick a name"),
    ],
)
def test_a_name_that_is_in_no_table_gets_a_suggestion(name, fix):
    with pytest.raises(vs.InputError, match=r"extractor: expected one of lite0, .*hf:…, .*onnx:…, package") as caught:
        find_maker(name)
    assert caught.value.fix.startswith(fix)


def test_finding_a_name_imports_neither_torch_nor_the_package():
    import subprocess

    code = (
        "import sys; from versionspace.features import find_maker; "
        "[find_maker(name) for name in ('lite1', 'hf:x', 'timm:x', 'torchvision:x', 'onnx:x', 'no.such:thing')]; "
        "print({'torch', 'transformers', 'onnxruntime'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_function_of_ones_own_returns_an_extractor():
    made = make_extractor("features.test_names:dim", device=torch.device("cpu"))
    np.testing.assert_array_equal(made(IMAGES), 0.5 * Brightness()(IMAGES))
    assert make_extractor("features.test_names:dim", side=7).side == 7
    assert make_extractor("features.brightness:Brightness").identity == "brightness"
    with pytest.raises(vs.InputError, match="side: expected 7, the side of the given extractor, got 9"):
        make_extractor("features.test_names:dim", side=9)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("features.test_names:bright", "package.module:function that can be imported.* no attribute 'bright'"),
        ("no.such.module:dim", "package.module:function that can be imported.* No module named 'no'"),
        ("hg:model", "No module named 'hg'. Did you mean 'hf'?"),
        ("features.test_names:not_an_extractor", "to return a .*FeatureExtractor when called without .* got function"),
    ],
)
def test_a_function_that_cannot_be_used_gets_a_sentence(name, message):
    with pytest.raises(vs.InputError, match=message):
        make_extractor(name)


def test_a_plug_in_may_add_a_name_and_a_scheme(monkeypatch):
    made = []

    def make(which="plain", *, side, device):
        made.append((which, side, device))
        return Brightness(which)

    monkeypatch.setitem(EXTRACTORS, "brightness", make)
    monkeypatch.setitem(SCHEMES, "bright", make)
    assert make_extractor("brightness", side=4).identity == "plain"
    assert make_extractor("bright:very:much").identity == "very:much"
    assert made == [("plain", 4, None), ("very:much", None, None)]


def test_paths_in_names_become_absolute(tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    (tmp_path / "net.onnx").touch()
    monkeypatch.chdir(tmp_path)
    assert absolute_name("hf:model") == f"hf:{tmp_path}/model"
    assert absolute_name("onnx:./net.onnx") == f"onnx:{tmp_path}/net.onnx"
    for name in (DEFAULT_EXTRACTOR, "hf:other/model", "timm:model", "onnx:gone.onnx", "features.brightness:Brightness"):
        assert absolute_name(name) == name
