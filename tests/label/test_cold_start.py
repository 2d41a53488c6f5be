"""The choice of images before the first model."""

from types import SimpleNamespace

import numpy as np
import pytest

from versionspace.campaign import Campaign
from versionspace.campaign import image_features as features
from versionspace.label import cold_start
from versionspace.label.cold_start import CoveringImages, sample_ids
from versionspace.label.service import LabelService
from versionspace.query import coverage_kernel
from versionspace.store import Event


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
    expected = CoveringImages(campaign_images(darkening), seed=0).choose(30)
    for block in (7, 64, 299):
        monkeypatch.setattr(features, "_BLOCK", block)
        assert CoveringImages(campaign_images(darkening), seed=0).choose(30) == expected


@pytest.fixture
def clustered():
    """200 images in clusters of 100, 60 and 40, and well separated features of them."""
    clusters = np.repeat([0, 1, 2], [100, 60, 40])
    points = np.eye(3)[clusters] + np.random.default_rng(1).normal(0, 0.02, (200, 3))
    return clusters, points


def asked(*images):
    return Event("proposed", 0, {"part": 0, "purpose": "query", "ids": list(images), "utilities": [0.0] * len(images)})


def test_images_are_those_of_plain_maxherding(clustered):
    _, points = clustered
    view = CoveringImages(campaign_images(np.zeros((200, 4, 4, 1), np.uint8)), seed=0)
    view.set_features(view.ids, points)
    kernel = coverage_kernel(points)
    covered, expected = np.zeros(200), []
    view.apply(asked("image-150"))
    covered = kernel[150].copy()
    for _ in range(20):
        gains = np.maximum(kernel - covered, 0).mean(axis=1)
        gains[[150, *expected]] = -1
        expected.append(int(gains.argmax()))
        covered = np.maximum(covered, kernel[expected[-1]])
    assert [int(image[-3:]) for image in view.choose(20)] == expected


def test_every_cluster_is_asked_the_largest_first(clustered):
    clusters, points = clustered
    view = CoveringImages(campaign_images(np.zeros((200, 4, 4, 1), np.uint8)), seed=0)
    view.set_features(view.ids, points)
    assert [int(clusters[int(image[-3:])]) for image in view.choose(3)] == [0, 1, 2]
    first = next(iter(view.choose(1)))
    view.apply(asked(first))
    assert [int(clusters[int(image[-3:])]) for image in view.choose(2)] == [1, 2], "what was asked is covered"


def test_images_asked_before_the_features_came_are_covered(clustered):
    clusters, points = clustered
    view = CoveringImages(campaign_images(np.zeros((200, 4, 4, 1), np.uint8)), seed=0)
    view.apply(asked("image-003", "image-180"))
    view.set_features(view.ids, points)
    assert clusters[int(next(iter(view.choose(1)))[-3:])] == 1


def test_images_outside_the_sample_are_asked_once_it_is_exhausted(clustered, monkeypatch):
    monkeypatch.setattr(cold_start, "SAMPLE", 50)
    images = campaign_images(np.zeros((200, 4, 4, 1), np.uint8))
    view = CoveringImages(images, seed=0)
    sample = set(sample_ids(images.roles.askable(), 0).tolist())
    assert set(view.choose(50)) == sample
    everything = list(view.choose(500))
    assert len(everything) == len(set(everything)) == 200
    assert set(everything[:50]) == sample
    view.set_missing(view.ids[:199])
    assert list(view.choose(500)) == [view.ids[199]]
    view.set_features(["image-007", "of another process"], np.eye(2))
    view.set_missing([])
    assert next(iter(view.choose(3))) == "image-007"


def test_images_can_be_chosen_at_random(clustered):
    clusters, points = clustered
    images = campaign_images(np.zeros((200, 4, 4, 1), np.uint8))
    orders = []
    for seed in range(20):
        view = CoveringImages(images, seed=seed, herd=False)
        view.set_features(view.ids, points)
        orders.append([int(image[-3:]) for image in view.choose(10)])
    shares = np.bincount(clusters[np.concatenate(orders)], minlength=3) / 200
    np.testing.assert_allclose(shares, [0.5, 0.3, 0.2], atol=0.1)
    assert len({tuple(order) for order in orders}) == 20


@pytest.mark.parametrize(("count", "budget", "least", "latest"), [(12, 150, 14, 25), (43, 200, 30, 60)])
def test_the_first_model_does_not_wait_for_classes_that_may_not_be_there(folder, count, budget, least, latest):
    """Answers that are all of one class, that go through the classes in turn, or that are of two classes only."""
    folder.classes = tuple(f"class {number}" for number in range(count))
    with Campaign.open(folder.campaign(budget)) as campaign:
        service = LabelService(campaign)
        images = [question.image for question in service.next_questions("tab", "", [], latest).questions]
        assert len(images) == latest
        assert service.next_round_size() is None
        for image in images[:3]:
            campaign.accept({image: folder.classes[0]})
            assert service.in_cold_start(), "one class does not make a model"
        campaign.accept({images[2]: folder.classes[1], images[3]: folder.classes[1]})
        assert service.next_round_size() is not None, "two classes have two labels each"
        for number, image in enumerate(images[:least]):
            campaign.accept({image: folder.classes[number % count]})
        assert service.next_round_size() is not None
        for image in images[:least]:
            campaign.accept({image: folder.classes[0]})
        for image in images[least:latest]:
            if service.next_round_size() is not None:
                break
            campaign.accept({image: folder.classes[0]})
        assert service.next_round_size() is not None, "15% of the budget is enough, even of one class"
        assert campaign.state.spent() <= latest
