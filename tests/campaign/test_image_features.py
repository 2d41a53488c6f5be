"""Features of images that no member computes."""

from itertools import pairwise

import numpy as np
import pytest

from campaign.tiny import config
from versionspace import data
from versionspace.campaign.datasets import Datasets
from versionspace.campaign.image_features import ImageFeatures, feature_source, mean_colours


@pytest.fixture
def images():
    return Datasets().draw(config())


def test_mean_colours_are_the_same_in_chunks(monkeypatch):
    digits = data.load("digits").train
    whole = mean_colours(digits.images[:300])
    monkeypatch.setattr("versionspace.campaign.image_features._BLOCK", 7)
    np.testing.assert_array_equal(mean_colours(digits.view(digits.ids[:300])), whole)


@pytest.mark.parametrize("shape", [(50, 37, 3), (16, 16, 1), (5, 40, 1), (1, 1, 3)])
def test_mean_colours_are_means_of_cells(shape):
    image = np.random.default_rng(0).integers(0, 256, (1, *shape)).astype(np.uint8)
    rows = np.linspace(0, shape[0], min(16, shape[0]) + 1).astype(int)
    columns = np.linspace(0, shape[1], min(16, shape[1]) + 1).astype(int)
    cells = [image[0, r0:r1, c0:c1].mean(axis=(0, 1)) for r0, r1 in pairwise(rows) for c0, c1 in pairwise(columns)]
    np.testing.assert_allclose(mean_colours(image)[0], np.concatenate(cells))


def test_each_image_is_computed_once_and_returned_in_the_order_asked_for(images, monkeypatch):
    counts = []
    original = ImageFeatures._compute

    def counted(self, pixels):
        counts.append(len(pixels))
        return original(self, pixels)

    monkeypatch.setattr(ImageFeatures, "_compute", counted)
    features, pool = ImageFeatures(config(), images), images.roles.pool
    first = features.of(pool[[5, 2, 9]])
    again = features.of(pool[[9, 5, 2, 5]])
    assert counts == [3]
    np.testing.assert_array_equal(again, first[[2, 0, 1, 0]])
    features.of(pool)
    assert counts == [3, len(pool) - 3]
    np.testing.assert_allclose(features.of(pool), mean_colours(images.of("pool")))


def test_the_source_is_the_learners_own_unless_the_config_names_one():
    assert feature_source(config()) == "members"
    assert feature_source(config("ensemble.net=heads")) == "lite0"
    assert feature_source(config("ensemble.net=heads", "query.features=members")) == "members"
    assert feature_source(config("query.features=pixels")) == "pixels"
