"""Checks of what users pass to an ensemble: every rejection says what was expected, what arrived and what to do."""

import re

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import versionspace as vs
from ensemble.synthetic import images
from versionspace.ensemble import Ensemble, Training

QUICK = Training(epochs=1, watch="training loss")


def fitted():
    return Ensemble("small", members=1, classes=4, training=QUICK).fit(*images(6))


PIXELS, LABELS = images(6)
BAD = {
    "labels too high": (PIXELS, [0, 1, 2, 3, 4, 0], {}, "labels: expected classes from 0 to 3, got 0 to 4"),
    "labels negative": (PIXELS, [0, 1, 2, 3, -1, 0], {}, "labels: .*got -1 to 3"),
    "labels of other images": (PIXELS, [0, 1], {}, r"labels: expected integer classes of shape \(6,\)"),
    "labels no numbers": (PIXELS, ["a"] * 6, {}, "labels: "),
    "float images": (PIXELS / 255, LABELS, {}, "images: expected uint8 images"),
    "no images": (PIXELS[:0], LABELS[:0], {}, "images: expected uint8 images .* at least one"),
    "one axis too few": (PIXELS[0, :, :, 0], LABELS, {}, "images: expected uint8"),
    "validation missing": (PIXELS, LABELS, {"training": "mnist"}, "validation: expected labelled images"),
    "no such training": (PIXELS, LABELS, {"training": "imagenet"}, "training: expected one of mnist"),
    "no such setting": (PIXELS, LABELS, {"training": {"epoch": 3}}, "training: expected one of .*epochs"),
}


@pytest.mark.parametrize(("pixels", "labels", "options", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_rejected_with_a_sentence(pixels, labels, options, message):
    with pytest.raises(vs.InputError, match=message):
        Ensemble("small", members=2, classes=4, **options).fit(pixels, labels)


@pytest.mark.parametrize("shape", [(5, 3, 32, 32), (5, 1, 28, 28), (1, 3, 8, 5)])
def test_channels_first_images_are_rejected(shape):
    pixels = np.zeros(shape, np.uint8)
    message = (
        rf"images: expected images of shape \(N, height, width, channels\), got {re.escape(str(shape))}, in which the "
        r"channels come first. Pass images.transpose\(0, 2, 3, 1\)"
    )
    with pytest.raises(vs.InputError, match=message):
        Ensemble("small", members=1, classes=4, training=QUICK).fit(pixels, np.zeros(len(pixels), int))
    with pytest.raises(vs.InputError, match=message):
        fitted().predict_proba(pixels, members=True)
    given, labels = pixels.transpose(0, 2, 3, 1), np.zeros(len(pixels), int)
    with pytest.raises(vs.InputError, match="validation " + message):
        Ensemble("small", members=1, classes=4).fit(given, labels, validation=(pixels, labels))


@pytest.mark.parametrize("shape", [(2, 3, 8, 3), (2, 1, 8, 4), (2, 3, 3, 2), (2, 5, 8, 7)])
def test_flat_images_and_unusual_numbers_of_channels_are_accepted(shape):
    ensemble = Ensemble("small", members=1, classes=4, training=QUICK).fit(np.zeros(shape, np.uint8), [0, 1])
    assert ensemble.predict_proba(np.zeros(shape, np.uint8), members=True).shape == (1, 2, 4)


def test_a_module_in_place_of_a_factory_is_rejected():
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 4))
    with pytest.raises(vs.InputError, match=r"net: expected .*factory .* got a module \(Sequential\). Pass a func"):
        Ensemble(module, classes=4)
    shared = Ensemble(lambda shape, classes: module, members=2, classes=4, training=QUICK)
    with pytest.raises(vs.InputError, match="net: expected a factory that returns a new module .* got the same module"):
        shared.fit(*images(6))
    with pytest.raises(vs.InputError, match=r"net: expected one of conv2, .* got \['small'\]"):
        Ensemble(["small"], classes=4)


def test_a_dataset_in_place_of_images_is_rejected():
    pixels, labels = images(6)
    dataset = TensorDataset(torch.from_numpy(pixels), torch.from_numpy(labels))
    ensemble = Ensemble("small", members=1, classes=4, training=QUICK)
    for given in (dataset, DataLoader(dataset)):
        message = (
            f"images: expected an array, got a {type(given).__name__}. Collect it into two arrays.*fit.images, labels"
        )
        with pytest.raises(vs.InputError, match=message):
            ensemble.fit(given, labels)
        with pytest.raises(vs.InputError, match=message):
            fitted().votes(given)
    with pytest.raises(vs.InputError, match="labels: expected the class of each image, got nothing. Call fit"):
        ensemble.fit(pixels)
    with pytest.raises(vs.InputError, match="images: expected an array, got list .*same shape"):
        ensemble.fit([pixels[0], pixels[1, :4]], labels[:2])


def test_tensors_are_arrays():
    pixels, labels = images(6)
    given = torch.from_numpy(pixels), torch.from_numpy(labels)
    ensemble = Ensemble("small", members=1, classes=4, training=QUICK).fit(*given)
    np.testing.assert_array_equal(
        ensemble.predict_proba(given[0], members=True), fitted().predict_proba(pixels, members=True)
    )


@pytest.mark.parametrize(("options", "message"), [
    ({"members": 0}, "members: expected a whole number of at least 1"),
    ({"classes": 0}, "classes: "),
    ({"device": "toaster"}, "device: expected 'auto', 'cpu'"),
    ({"threads": 0}, "threads: "),
    ({"net": "vgg"}, "net: expected one of conv2"),
    ({"seed": -1}, "seed: "),
])  # fmt: skip
def test_bad_settings_are_rejected_with_a_sentence(options, message):
    with pytest.raises(vs.InputError, match=message):
        Ensemble(**options)
