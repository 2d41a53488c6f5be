"""Preprocessing in torch: the pixels of Pillow, up to its rounding to whole grey levels."""

import numpy as np
import pytest
import torch
from PIL import Image

import versionspace as vs
from versionspace.features.preprocessing import PILLOW_FILTERS, Preprocess, Preprocessing, read_processor_settings

PHOTO = np.random.default_rng(0).integers(0, 256, (1, 45, 60, 3), np.uint8)
PLAIN = {"mean": (0.0,) * 3, "deviation": (1.0,) * 3, "scale": 1.0}


def pixels(images, **settings):
    return Preprocess(Preprocessing(**PLAIN | settings))(torch.from_numpy(images))


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("size", [(20, 32), (90, 64), (45, 60)])
def test_resizing_is_that_of_pillow(number, size):
    found = pixels(PHOTO, size=size, filter=PILLOW_FILTERS[number])[0].permute(1, 2, 0)
    expected = np.asarray(Image.fromarray(PHOTO[0]).resize(size[::-1], number))
    levels = np.abs(found.numpy() - expected)
    assert found.shape == (*size, 3)
    assert levels.max() <= 1.5
    assert levels.mean() < 0.5
    assert 0 <= found.min() <= found.max() <= 255


@pytest.mark.parametrize(("shape", "resized"), [((45, 60), (30, 40)), ((60, 45), (40, 30)), ((30, 100), (30, 100))])
def test_the_shorter_side_is_resized_and_the_proportions_are_kept(shape, resized):
    settings = Preprocessing(**PLAIN, size=30)
    assert settings.resized_shape(*shape) == resized
    assert settings.side == 30


@pytest.mark.parametrize(("half_pixels", "start"), [("down", (2, 3)), ("even", (2, 4))])
def test_the_centre_is_cropped_and_normalised(half_pixels, start):
    found = pixels(
        PHOTO, crop=(40, 53), half_pixels=half_pixels, mean=(0.1, 0.2, 0.3), deviation=(0.4, 0.5, 0.6), scale=1 / 255
    )
    top, left = start
    expected = PHOTO[0, top : top + 40, left : left + 53] / 255
    expected = (expected - np.array([0.1, 0.2, 0.3])) / np.array([0.4, 0.5, 0.6])
    np.testing.assert_allclose(found[0].permute(1, 2, 0), expected, atol=1e-5)


def test_images_smaller_than_the_crop_get_black_borders():
    found = pixels(PHOTO, crop=(49, 60))[0]
    assert float(found[:, :2].max()) == float(found[:, -2:].max()) == 0
    np.testing.assert_array_equal(found[:, 2:-2].permute(1, 2, 0), PHOTO[0])


def test_grey_images_have_equal_channels_and_others_are_rejected():
    grey = PHOTO[..., :1]
    assert torch.equal(pixels(grey, size=20), pixels(grey.repeat(3, axis=3), size=20))
    with pytest.raises(vs.InputError, match="images: expected images of 1 channel .* or 3, .* got 2 channels"):
        pixels(PHOTO[..., :2])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"size": 256, "crop": (224, 224)}),
        ({"size": 256, "crop_size": 224}, {"size": 256, "crop": (224, 224)}),
        ({"size": 224, "do_center_crop": False}, {"size": (224, 224)}),
        ({"size": {"height": 30, "width": 40}, "do_center_crop": False}, {"size": (30, 40)}),
        ({"do_resize": False}, {"crop": (224, 224)}),
        ({"size": {"shortest_edge": 224}, "crop_pct": 0.875}, {"size": 256, "crop": (224, 224)}),
        ({"size": {"shortest_edge": 384}, "crop_pct": 1.0}, {"size": (384, 384), "crop": (384, 384)}),
        ({"do_rescale": False}, {"size": 256, "crop": (224, 224), "scale": 1.0}),
        ({"size": {"longest_edge": 224}}, None),
        ({"image_mean": None}, None),
    ],
)
def test_settings_of_hugging_face_are_read(changes, expected):
    given = {
        "do_resize": True, "size": {"shortest_edge": 256}, "do_center_crop": True,
        "crop_size": {"height": 224, "width": 224}, "image_mean": [0.1, 0.2, 0.3], "image_std": [1, 1, 1],
        "resample": 2,
    } | changes  # fmt: skip
    found = read_processor_settings(given)
    if expected is None:
        assert found is None
    else:
        resized = {"filter": "bilinear"} if given["do_resize"] else {}
        assert found == Preprocessing((0.1, 0.2, 0.3), (1.0, 1.0, 1.0), **resized | expected)


def test_the_side_is_that_of_a_square_image():
    assert Preprocessing(**PLAIN, size=256, crop=(224, 224)).side == 256
    assert Preprocessing(**PLAIN, size=(200, 300)).side == 300
    assert Preprocessing(**PLAIN, crop=(224, 224)).side == 224
    assert Preprocessing(**PLAIN).side == 0
