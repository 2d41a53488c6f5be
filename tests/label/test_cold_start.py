"""The choice of diverse images before the first model."""

from types import SimpleNamespace

import numpy as np
import pytest

from versionspace.campaign import cold_start as features
from versionspace.label.cold_start import FarthestFirst


def campaign_images(images):
    ids = np.array([f"image-{number:03d}" for number in range(len(images))])
    rows = {image: row for row, image in enumerate(ids)}
    return SimpleNamespace(
        roles=SimpleNamespace(askable=lambda: ids), pixels=lambda some: images[[rows[image] for image in some]]
    )


@pytest.fixture
def darkening():
    """300 noisy images that darken: those of one block have another mean than those of the next."""
    generator = np.random.default_rng(0)
    brightness = np.linspace(200, 40, 300)[:, None, None, None]
    return (brightness + generator.normal(0, 20, (300, 16, 16, 3))).clip(0, 255).astype(np.uint8)


def test_the_choice_does_not_depend_on_how_many_images_are_read_at_a_time(darkening, monkeypatch):
    expected = FarthestFirst(campaign_images(darkening), seed=0).choose(30)
    for block in (7, 64, 299):
        monkeypatch.setattr(features, "_BLOCK", block)
        assert FarthestFirst(campaign_images(darkening), seed=0).choose(30) == expected
    steps = np.sort([int(image[-3:]) for image in expected])
    assert steps[0] < 30, "the brightest are among them"
    assert steps[-1] > 270, "and the darkest"
