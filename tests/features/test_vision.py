"""``timm:`` and ``torchvision:``, with stand-ins for the two imports.

torchvision, which timm requires, cannot be installed on every machine that runs the tests: its wheels are linked
against CUDA. The stand-ins have the names, arguments and results of timm 1.0 and torchvision 0.29 that the loading
code uses, and real torch networks.
"""

import sys
from enum import Enum
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import versionspace as vs
from versionspace.errors import MissingPackageError
from versionspace.features import CachedExtractor, FeatureExtractor, make_extractor, timm, torchvision

IMAGES = np.random.default_rng(0).integers(0, 256, (3, 50, 70, 3), np.uint8)
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def network(classes, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        pooled = [nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        hidden = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Dropout(0.5))
        last = nn.Linear(6, classes) if classes else nn.Identity()
        return nn.Sequential(*pooled, hidden, last).train()


class Weights(Enum):
    """As torchvision's enumerations: an alias for the default, and a transform for each entry."""

    IMAGENET1K_V1 = 1
    IMAGENET1K_V2 = 2
    DEFAULT = 2

    def transforms(self):
        if self is Weights.IMAGENET1K_V1:
            return SimpleNamespace(resize_size=[36], crop_size=[32])  # no classifier's transform
        return SimpleNamespace(
            resize_size=[36], crop_size=[32], mean=list(MEAN), std=list(DEVIATION),
            interpolation=SimpleNamespace(value="bilinear"),
        )  # fmt: skip


@pytest.fixture
def stand_ins(monkeypatch):
    """The two packages; ``seed`` decides the pretrained weights."""
    state = SimpleNamespace(seed=0, data={})

    def get_model_weights(name):
        if name not in ("tiny", "squeezed"):
            raise ValueError(f"Unknown model {name}")
        return Weights

    def get_model(name, weights):
        assert isinstance(weights, Weights)
        return nn.Sequential(nn.Conv2d(3, 10, 1)) if name == "squeezed" else network(10, state.seed)

    def create_model(name, pretrained, num_classes):
        assert (pretrained, num_classes) == (True, 0)
        if name != "tiny":
            raise RuntimeError(f"Unknown model ({name})")
        return network(0, state.seed)

    def resolve_model_data_config(net):
        return {
            "input_size": (3, 32, 32), "interpolation": "bicubic", "mean": MEAN, "std": DEVIATION, "crop_pct": 0.875,
            "crop_mode": "center",
        } | state.data  # fmt: skip

    contents = {
        "torchvision": {},
        "torchvision.models": {"get_model_weights": get_model_weights, "get_model": get_model},
        "timm": {"create_model": create_model},
        "timm.data": {"resolve_model_data_config": resolve_model_data_config},
    }
    for name, attributes in contents.items():
        module = ModuleType(name)
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, name, module)
    for ours in (timm, torchvision):
        ours._load.cache_clear()
    yield state
    for ours in (timm, torchvision):
        ours._load.cache_clear()


@pytest.mark.parametrize(("name", "size"), [("timm:tiny", 36), ("torchvision:tiny", 36)])
def test_features_are_the_input_of_the_classifier(name, size, stand_ins, tmp_path):
    extractor = make_extractor(name)
    assert isinstance(extractor, FeatureExtractor)
    assert (extractor.side, extractor.width) == (size, 6)
    features = CachedExtractor(extractor, cache=tmp_path)(IMAGES)
    inputs = extractor._prepare(torch.from_numpy(IMAGES))
    assert inputs.shape == (3, 3, 32, 32)
    with torch.no_grad():
        np.testing.assert_allclose(features, network(0).eval()(inputs), atol=1e-6)
    np.testing.assert_allclose(extractor.module()(torch.from_numpy(IMAGES)), features, atol=1e-6)


@pytest.mark.parametrize("name", ["timm:tiny", "torchvision:tiny"])
def test_other_weights_under_the_same_name_are_another_extractor(name, stand_ins, tmp_path):
    first = make_extractor(name)
    before = CachedExtractor(first, cache=tmp_path)(IMAGES)
    assert make_extractor(name).identity == first.identity
    stand_ins.seed = 1
    for ours in (timm, torchvision):
        ours._load.cache_clear()  # as in another process
    second = make_extractor(name)
    assert second.identity != first.identity
    assert np.abs(CachedExtractor(second, cache=tmp_path)(IMAGES) - before).max() > 1e-3


def test_preprocessing_is_part_of_the_identity(stand_ins):
    first = make_extractor("timm:tiny")
    stand_ins.data = {"crop_pct": 1.0, "crop_mode": "squash"}
    timm._load.cache_clear()
    second = make_extractor("timm:tiny")
    assert (first.side, second.side) == (36, 32)
    assert first.identity != second.identity
    assert second._prepare(torch.from_numpy(IMAGES)).shape == (3, 3, 32, 32)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("timm:huge", "expected a pretrained network of timm, got Unknown model .huge.. timm.list_models"),
        ("torchvision:huge", "expected a classifier of torchvision .* got ValueError: Unknown model huge. List them"),
        ("torchvision:tiny@V9", "expected a classifier of torchvision with pretrained weights, got KeyError: 'V9'"),
        ("torchvision:tiny@IMAGENET1K_V1", "expected weights that classify images, got SimpleNamespace"),
        ("torchvision:squeezed", "expected a network that ends with a linear layer, got none"),
    ],
)
def test_a_network_that_cannot_be_used_gets_a_sentence(name, message, stand_ins):
    with pytest.raises(vs.InputError, match=f"extractor {name}: {message}"):
        make_extractor(name)


def test_preprocessing_that_timm_alone_knows_is_rejected(stand_ins):
    stand_ins.data = {"crop_mode": "border"}
    with pytest.raises(vs.InputError, match="expected preprocessing that crops .* got crop mode 'border' to 32×32"):
        make_extractor("timm:tiny")


@pytest.mark.parametrize(("name", "extra"), [("timm:tiny", "timm"), ("torchvision:tiny", "torchvision")])
def test_a_missing_package_is_named(name, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, extra, None)
    with pytest.raises(MissingPackageError, match=rf"pip install 'versionspace\[{extra}\]'"):
        make_extractor(name)


def test_a_torchvision_for_another_torch_gets_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "timm.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    monkeypatch.delitem(sys.modules, "timm", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingPackageError, match="built for the installed torch, got operator torchvision::nms"):
        make_extractor("timm:tiny")
