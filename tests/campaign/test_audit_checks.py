"""Checks of the audit: their bounds hold together, whatever is looked at and chosen meanwhile."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from metrics import AuditMetrics, round_metrics
from versionspace.campaign.audit_checks import (
    GROWTH,
    audit_checks,
    images_needed,
    level_of_check,
    lower_bound,
    next_check_size,
)


def rounds_of(right, images):
    return [
        round_metrics(labels=10 * n, audit=AuditMetrics(int(i), float(r / i) if i else None, 0.0, 1.0))
        for n, (r, i) in enumerate(zip(right, images, strict=True), start=1)
    ]


def test_the_bound_is_the_smallest_accuracy_that_explains_the_answers():
    for right, images in ((18, 20), (50, 50), (1, 30), (73, 90)):
        low = lower_bound(right, images, 0.01)
        assert binom.sf(right - 1, images, low) == pytest.approx(0.01)


def test_a_check_needs_settled_members_and_an_audit_that_has_grown():
    images = [10, 20, 25, 30, 31, 44, 46, 80]
    settled = [True, False, True, True, True, True, True, True]
    checks = audit_checks(rounds_of(images, images), settled, 0.95)
    assert [(check.number, check.images) for check in checks] == [(1, 25), (2, 44), (3, 80)]
    assert [check.labels for check in checks] == [30, 60, 80]
    assert all(later.images >= GROWTH * sooner.images for sooner, later in itertools.pairwise(checks))


@pytest.mark.parametrize("accuracy", [0.6, 0.8, 0.95])
def test_no_check_overstates_the_accuracy_more_often_than_it_may(accuracy):
    """One model, looked at after every audit label: 20,000 audits that grow to 300 images, at 80% confidence."""
    generator = np.random.default_rng(int(100 * accuracy))
    right = np.cumsum(generator.random((20_000, 300)) < accuracy, axis=1)
    made = audit_checks(rounds_of(right[0], np.arange(1, 301)), [True] * 300, 0.8)
    assert [check.images for check in made] == [20, 30, 45, 68, 102, 153, 230]
    overstated = np.zeros(20_000, np.bool_)
    for check in made:
        bounds = np.array(
            [lower_bound(r, check.images, level_of_check(check.number, 0.8)) for r in range(check.images + 1)]
        )
        overstated |= bounds[right[:, check.images - 1]] > accuracy
    assert 0.005 <= overstated.mean() <= 0.2, "valid, and not so wide that it is never wrong"


def test_no_check_overstates_the_accuracy_of_models_that_change():
    """Models of 20 rounds that differ on a tenth of the images each, on one audit that grows; settled at random."""
    generator = np.random.default_rng(7)
    wrong = 0
    for _ in range(500):
        right, accuracies, counts = generator.random(60) < 0.8, [], []
        for round_ in range(20):
            fresh = generator.random(60) < 0.1
            right = np.where(fresh, generator.random(60) < 0.8, right)
            counts.append(int(right[: 3 * (round_ + 1)].sum()))
            accuracies.append(0.8)
        rounds = rounds_of(np.array(counts), 3 * np.arange(1, 21))
        settled = generator.random(20) < 0.5
        wrong += any(check.low > 0.8 for check in audit_checks(rounds, settled.tolist(), 0.8))
    assert wrong / 500 <= 0.2


def test_the_number_of_images_needed_suffices_if_the_model_is_as_right_as_it_seems():
    for right, images, target in ((47, 50, 0.8), (48, 50, 0.9), (20, 20, 0.9), (29, 30, 0.7)):
        audit = AuditMetrics(images, right / images, 0.0, 1.0)
        needed = images_needed(audit, [], target, 0.95)
        expected = int((right / images if right < images else (images + 1) / (images + 2)) * needed)
        assert lower_bound(expected, needed, level_of_check(1, 0.95)) >= target
        assert needed >= next_check_size([])
    assert images_needed(AuditMetrics(50, 0.7, 0.0, 1.0), [], 0.8, 0.95) is None
    assert images_needed(None, [], 0.8, 0.95) == next_check_size([])
