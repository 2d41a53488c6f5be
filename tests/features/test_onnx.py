"""``onnx:``: files that torch and onnx write, of every kind of input that is taken, and of some that are not."""

import json
import sys

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import versionspace as vs
from versionspace.errors import MissingPackageError
from versionspace.features import CachedExtractor, FeatureExtractor, make_extractor
from versionspace.features.preprocessing import Preprocess, read_processor_settings

IMAGES = np.random.default_rng(0).integers(0, 256, (9, 20, 30, 3), np.uint8)
SETTINGS = {
    "do_resize": True, "size": {"height": 8, "width": 10}, "resample": 2, "do_normalize": True,
    "image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.4],
}  # fmt: skip
WEIGHTS = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)


def write(path, type_=TensorProto.UINT8, shape=("N", "H", "W", 3), axes=(1, 2), pooled=True, scale=1.0, external=None):
    """Write a file whose features are the mean colour times a matrix; or, without pooling, each pixel's."""
    nodes = [helper.make_node("Cast", ["images"], ["floats"], to=TensorProto.FLOAT)]
    mean = "floats"
    if pooled:
        nodes.append(helper.make_node("ReduceMean", ["floats", "axes"], ["mean"], keepdims=0))
        mean = "mean"
    nodes.append(helper.make_node("MatMul", [mean, "weights"], ["features"]))
    output = [shape[0], 4] if pooled else [*shape[:3], 4]
    graph = helper.make_graph(
        nodes, "colours",
        [helper.make_tensor_value_info("images", type_, shape)],
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, output)],
        [numpy_helper.from_array(np.array(axes), "axes"), numpy_helper.from_array(scale * WEIGHTS, "weights")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    options = {"save_as_external_data": True, "location": external, "size_threshold": 64} if external else {}
    onnx.save(model, str(path), **options)
    return f"onnx:{path}"


def floats(path, **options):
    """Write a file whose input is float, channels first."""
    return write(path, **{"type_": TensorProto.FLOAT, "shape": ("N", 3, 8, 10), "axes": (2, 3)} | options)


def test_images_of_any_size_are_passed_as_they_are(tmp_path):
    extractor = make_extractor(write(tmp_path / "colours.onnx"))
    assert isinstance(extractor, FeatureExtractor)
    assert (extractor.side, extractor.width, extractor.module()) == (0, 4, None)
    assert extractor.identity.startswith("onnx-colours-")
    features = CachedExtractor(extractor, cache=tmp_path / "cache", threads=2)(IMAGES)
    np.testing.assert_allclose(features, IMAGES.mean(axis=(1, 2)) @ WEIGHTS, rtol=1e-4)
    grey = IMAGES[..., :1]
    np.testing.assert_array_equal(extractor(grey), extractor(grey.repeat(3, axis=3)))


@pytest.mark.parametrize("batch", ["N", 1])
def test_images_are_resized_to_a_fixed_size(batch, tmp_path):
    extractor = make_extractor(write(tmp_path / "colours.onnx", shape=(batch, 10, 15, 3)))
    assert extractor.side == 15
    halves = IMAGES.reshape(9, 10, 2, 15, 2, 3).mean(axis=(2, 4))
    np.testing.assert_allclose(extractor(IMAGES), halves.mean(axis=(1, 2)) @ WEIGHTS, rtol=0.02, atol=1)


def test_a_float_input_is_preprocessed_as_the_file_beside_it_says(tmp_path):
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(SETTINGS))
    extractor = make_extractor(floats(tmp_path / "colours.onnx"))
    inputs = Preprocess(read_processor_settings(SETTINGS))(torch.from_numpy(IMAGES))
    assert inputs.shape == (9, 3, 8, 10)
    np.testing.assert_allclose(extractor(IMAGES), inputs.mean(dim=(2, 3)).numpy() @ WEIGHTS, atol=1e-5)
    assert extractor.side == 10


def test_a_file_that_torch_exports_is_read(tmp_path):
    import warnings

    net = torch.nn.Sequential(torch.nn.Conv2d(3, 5, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()).eval()
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(SETTINGS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            net, (torch.zeros(2, 3, 8, 10),), str(tmp_path / "net.onnx"), dynamo=True, verbose=False,
            dynamic_shapes=({0: torch.export.Dim("N")},),
        )  # fmt: skip
    inputs = Preprocess(read_processor_settings(SETTINGS))(torch.from_numpy(IMAGES))
    with torch.no_grad():
        np.testing.assert_allclose(make_extractor(f"onnx:{tmp_path}/net.onnx")(IMAGES), net(inputs), atol=1e-5)


@pytest.mark.parametrize("changed", ["weights", "external weights", "preprocessing"])
def test_files_with_other_weights_or_preprocessing_do_not_share_features(changed, tmp_path):
    file, settings = tmp_path / "colours.onnx", tmp_path / "preprocessor_config.json"
    settings.write_text(json.dumps(SETTINGS))
    external = "weights.bin" if changed == "external weights" else None
    name = floats(file, external=external)
    graph = file.read_bytes()

    def features():
        extractor = make_extractor(name)
        return extractor.identity, CachedExtractor(extractor, cache=tmp_path / "cache")(IMAGES)

    identity, before = features()
    if changed == "preprocessing":
        settings.write_text(json.dumps(SETTINGS | {"image_mean": [0.1, 0.1, 0.1]}))
    else:
        (tmp_path / "weights.bin").unlink(missing_ok=True)
        floats(file, scale=2.0, external=external)
    assert (file.read_bytes() == graph) == (changed != "weights")
    other, after = features()
    assert identity != other
    assert np.abs(after - before).max() > 1e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"shape": ("N", 3, "H", "W"), "axes": (2, 3)},
            r"an input of uint8 .N, H, W, channels., or .* got tensor.uint8",
        ),
        ({"type_": TensorProto.DOUBLE}, "an input of uint8 .* got tensor.double"),
        ({"shape": (4, "H", "W", 3)}, "any number of images, or one, got batches of 4"),
        ({"pooled": False}, r"an output of shape .N, F., got the outputs features"),
        ({"shape": ("N", 3), "axes": (1,), "pooled": False}, "one input, of images, got the inputs images"),
    ],
)
def test_an_input_or_output_that_is_not_understood_gets_a_sentence(options, message, tmp_path):
    if options.get("shape") == ("N", 3):
        path = tmp_path / "colours.onnx"
        node = helper.make_node("Identity", ["images"], ["features"])
        info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3]) for name in ("images", "features")]
        model = helper.make_model(
            helper.make_graph([node], "none", info[:1], info[1:]), opset_imports=[helper.make_opsetid("", 18)],
            ir_version=9,
        )  # fmt: skip
        onnx.save(model, str(path))
        name = f"onnx:{path}"
    else:
        name = write(tmp_path / "colours.onnx", **options)
    with pytest.raises(vs.InputError, match=f"colours.onnx: expected {message}"):
        make_extractor(name)


def test_a_float_input_needs_its_preprocessing(tmp_path):
    name, settings = floats(tmp_path / "colours.onnx"), tmp_path / "preprocessor_config.json"
    with pytest.raises(vs.InputError, match="expected preprocessor_config.json beside the file, .* got none. Write it"):
        make_extractor(name)
    settings.write_text("{")
    with pytest.raises(vs.InputError, match="expected preprocessor_config.json beside the file, .* got Expecting"):
        make_extractor(name)
    settings.write_text("{}")
    with pytest.raises(vs.InputError, match="expected size, resample, image_mean and image_std"):
        make_extractor(name)
    settings.write_text(json.dumps(SETTINGS | {"size": {"height": 9, "width": 9}}))
    with pytest.raises(
        vs.InputError, match=r"expected preprocessing for its input \['N', 3, 8, 10\], got 3 channels and"
    ):
        make_extractor(name)


def test_what_is_no_onnx_file_gets_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "text.onnx").write_text("not a graph")
    with pytest.raises(vs.InputError, match="expected an ONNX file that can be read"):
        make_extractor(f"onnx:{tmp_path}/text.onnx")
    with pytest.raises(vs.InputError, match="expected an ONNX file, got no such file. Check the path"):
        make_extractor(f"onnx:{tmp_path}/none.onnx")
    name = write(tmp_path / "colours.onnx")
    with pytest.raises(vs.InputError, match="expected images of 1 channel .* got 2 channels"):
        make_extractor(name)(IMAGES[..., :2])
    with pytest.raises(vs.InputError, match="side: expected 0, the side of the given extractor, got 64"):
        make_extractor(name, side=64)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'versionspace\[onnx\]'"):
        make_extractor(name)
