"""The advice in simulated campaigns that truly are, or are not, done: what it says at each stage is compared to truth.

Each campaign runs for real, with heads on the features of 900 or more points in clusters, whose true classes are known.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from versionspace.campaign import Advice, Campaign, ask_random_images, set_target, spare_random_images, stop_advice
from versionspace.config import validate_config
from versionspace.store import RoundMetrics, verify

TARGET = 0.8


@dataclass(frozen=True)
class Stage:
    """A round, what is advised after it, and the true accuracy of its vote on all images that were never asked."""

    metrics: RoundMetrics
    advice: Advice
    truth: float


def clusters(path, *, classes=4, spread=0.6, images=900, per_class=1, flipped=0.0, seed=0, weights=None):
    """Write points around ``per_class`` centres for each class; the classes of a share are drawn at random."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(0, 1, (classes * per_class, 16))
    cluster = generator.choice(len(centres), images, p=weights)
    features = (centres[cluster] + spread * generator.normal(0, 1, (images, 16))).astype(np.float32)
    labels = cluster % classes
    labels = np.where(generator.random(images) < flipped, generator.integers(0, classes, images), labels)
    np.savez(path, features=features, labels=labels)
    return path


def config(file, **changes):
    values = {
        "data": {"name": str(file), "balanced": False}, "ensemble": {"net": "heads", "members": 5},
        "training": {"epochs": 60}, "query": {"method": "pwd-cover", "size": 10}, "budget": {"total": 130, "audit": 30},
        "machine": {"threads": 1},
    }  # fmt: skip
    for section, content in changes.items():
        values.setdefault(section, {}).update(content)
    return validate_config(values, "test")


def stages(campaign, target=TARGET):
    rounds = [campaign.state.metrics[number] for number in sorted(campaign.state.metrics)]
    spare = spare_random_images(campaign)
    return [
        Stage(last, stop_advice(rounds[:n], target=target, available=spare), last.sets["reference"].vote_accuracy)
        for n, last in enumerate(rounds, start=1)
    ]


def run(folder, file, target=TARGET, **changes):
    with Campaign.create(folder, config(file, **changes)) as campaign:
        campaign.run()
        return stages(campaign, target)


def test_an_easy_folder_turns_green_when_it_is_done_and_not_before(tmp_path):
    found = run(tmp_path / "c", clusters(tmp_path / "emb.npz"))
    assert {stage.advice.case for stage in found[:3]} == {"early"}
    green = [stage for stage in found if stage.advice.light == "green"]
    assert green, [stage.advice.case for stage in found]
    assert min(stage.truth for stage in green) >= TARGET
    assert found[-1].advice.light == "green"
    assert found[-1].metrics.labels < 130 - 30 + 1


def test_a_folder_that_is_not_done_is_never_green(tmp_path):
    """Forty clusters in four classes: after 60 labels most clusters were never seen."""
    file = clusters(tmp_path / "emb.npz", per_class=10, spread=0.5, images=1200)
    found = run(tmp_path / "c", file, budget={"total": 90})
    assert found[-1].truth < TARGET
    assert all(stage.advice.light != "green" for stage in found)
    assert {stage.advice.case for stage in found[3:]} <= {"falling", "rising", "unsteady", "low", "class", "unsure"}


@pytest.mark.parametrize("oracle", ["wrong labels", "overlapping classes"])
def test_a_folder_that_is_stuck_is_amber_and_says_so(tmp_path, oracle):
    """Labels that are random in 40% of the images, or clusters that overlap: no number of labels reaches 80%."""
    wrong = oracle == "wrong labels"
    file = clusters(tmp_path / "emb.npz", spread=0.6 if wrong else 2.5, flipped=0.5 if wrong else 0.0)
    found = run(tmp_path / "c", file, budget={"total": 240, "audit": 40}, query={"size": 20})
    assert all(stage.advice.light != "green" for stage in found)
    assert all(stage.truth < TARGET for stage in found)
    settled = [stage.advice for stage in found if stage.advice.light == "amber"]
    assert settled, [stage.advice.sentence for stage in found]
    assert {advice.case for advice in settled} <= {"fit", "low"}
    assert any("look" in advice.sentence for advice in settled)


def test_a_class_that_is_never_seen_is_named(tmp_path):
    file = clusters(tmp_path / "emb.npz", weights=[0.4, 0.3, 0.3, 0.0])
    with np.load(file) as arrays:
        np.savez(file, features=arrays["features"], labels=arrays["labels"], classes=["a", "b", "c", "unicorn"])
    found = run(tmp_path / "c", file)
    assert all(stage.advice.light != "green" for stage in found)
    assert (found[-1].advice.case, "“unicorn” was never seen" in found[-1].advice.sentence) == ("class", True)


def test_a_small_audit_asks_for_random_images_and_is_green_once_they_are_labelled(tmp_path):
    """The person follows the advice: random images are asked next, the audit and the budget grow, then it is green."""
    file = clusters(tmp_path / "emb.npz")
    with Campaign.create(tmp_path / "c", config(file, budget={"total": 110, "audit": 6})) as campaign:
        campaign.run()
        advice = stages(campaign)[-1].advice
        assert (advice.light, advice.case, advice.random_images) == ("amber", "unchecked", 14)
        before, oracle = set(campaign.state.places), campaign.oracle()
        assert ask_random_images(campaign, 14) == campaign.budget == 124
        for proposal in campaign:
            assert proposal.purpose == "audit"
            assert not before & set(proposal.ids)
            assert set(proposal.ids) <= set(campaign.images.roles.reference.tolist())
            campaign.accept(oracle.answer(proposal.ids))
        last = stages(campaign)[-1]
        assert (last.metrics.audit.images, last.metrics.labels) == (20, 104), "random images are not trained on"
        assert (last.advice.light, last.truth >= TARGET) == ("green", True)
        set_target(campaign, 0.97)
        assert campaign.state.target(campaign.config.stop.target) == 0.97
    assert verify(tmp_path / "c") == {tmp_path / "c": []}


def test_the_same_rounds_give_the_same_sentence_whatever_the_budget(tmp_path):
    file = clusters(tmp_path / "emb.npz")
    short = run(tmp_path / "short", file, budget={"total": 90}, cold_start={"size": 8})
    long = run(tmp_path / "long", file, budget={"total": 130}, cold_start={"size": 8})
    shared = [stage.advice for stage in short if stage.metrics.labels % 10 == 8]
    assert len(shared) >= 4
    assert shared == [stage.advice for stage in long][: len(shared)]


def test_greens_are_true_over_many_campaigns(tmp_path):
    """Six folders of different difficulty: no green light on a model that is below the target."""
    greens = 0
    for seed in range(6):
        file = clusters(tmp_path / f"{seed}.npz", spread=0.6 + 0.24 * seed, seed=seed, images=600)
        changes = {"ensemble": {"members": 4}, "training": {"epochs": 30}, "query": {"size": 12}}
        for stage in run(tmp_path / f"c{seed}", file, budget={"total": 126, "audit": 30}, **changes):
            greens += stage.advice.light == "green"
            assert stage.advice.light != "green" or stage.truth >= TARGET - 0.05, seed
    assert greens >= 3
