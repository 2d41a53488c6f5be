"""The simulated oracle: its answers depend on the image and the seed only."""

import hashlib

import numpy as np
import pytest

from versionspace.errors import InputError
from versionspace.oracle import Simulated

IDS = np.arange(5000, 15_000)
LABELS = np.random.default_rng(0).integers(0, 10, 10_000)


def test_without_noise_answers_are_correct():
    asked = [7000, 14_999, 5000]
    assert Simulated(IDS, LABELS, 10).answer(asked) == {i: int(LABELS[i - 5000]) for i in asked}
    assert Simulated(IDS, LABELS, 10).answer([]) == {}


def test_noise_and_abstention_rates_and_uniform_wrong_classes():
    answers = Simulated(IDS, LABELS, 10, noise=0.2, abstain=0.1, seed=3).answer(IDS)
    given = np.array([-1 if answers[i] is None else answers[i] for i in IDS])
    assert (given == -1).mean() == pytest.approx(0.1, abs=0.01)
    told = given >= 0
    assert (given[told] != LABELS[told]).mean() == pytest.approx(0.2, abs=0.015)
    wrong = told & (given != LABELS)
    steps = np.bincount((given[wrong] - LABELS[wrong]) % 10, minlength=10)
    assert steps[0] == 0
    assert ((steps[1:] - steps[1:].mean()) ** 2 / steps[1:].mean()).sum() < 26.1  # χ², 8 degrees of freedom, p = .001


def test_answers_do_not_depend_on_order_batch_or_call():
    oracle = Simulated(IDS, LABELS, 10, noise=0.3, abstain=0.2, seed=1)
    whole = oracle.answer(IDS)
    for some in (IDS[::-1], IDS[100:200], [IDS[17]]):
        assert all(whole[i] == label for i, label in oracle.answer(some).items())
    shuffled = np.random.default_rng(1).permutation(len(IDS))
    again = Simulated(IDS[shuffled], LABELS[shuffled], 10, noise=0.3, abstain=0.2, seed=1)
    assert again.answer(IDS) == whole
    assert Simulated(IDS, LABELS, 10, noise=0.3, abstain=0.2, seed=2).answer(IDS) != whole


def test_abstentions_do_not_depend_on_noise():
    quiet = Simulated(IDS, LABELS, 10, abstain=0.2, seed=1).answer(IDS)
    noisy = Simulated(IDS, LABELS, 10, noise=0.5, abstain=0.2, seed=1).answer(IDS)
    assert [i for i in quiet if quiet[i] is None] == [i for i in noisy if noisy[i] is None]


def test_hashes_can_be_ids():
    ids = [hashlib.sha256(bytes([i])).hexdigest() for i in range(50)]
    oracle = Simulated(ids, np.arange(50) % 3, 3, noise=0.5, seed=1)
    assert oracle.answer(ids[:2]) == {i: oracle.answer(ids)[i] for i in ids[:2]}
    assert all(type(key) is str for key in oracle.answer(ids))


@pytest.mark.parametrize(("arguments", "message"), [
    (([1, 2], [0], 2), "labels: expected one class for each id"),
    (([1, 2], [0, 5], 2), "labels: expected classes from 0 to 1, got 0 to 5"),
    (([1], [0], 2, 1.5), "noise: expected a probability"),
    (([1], [0], 2, 0.0, -0.1), "abstain: expected a probability"),
    (([1], [0], 1, 0.1), "noise: expected 0 with one class"),
    (([1], [0], 2, 0.0, 0.0, -1), "seed: "),
])  # fmt: skip
def test_invalid_arguments_are_rejected(arguments, message):
    with pytest.raises(InputError, match=message):
        Simulated(*arguments)


def test_unknown_ids_are_rejected():
    with pytest.raises(InputError, match=r"ids: expected ids of images whose labels.* got .*99.* and 1 more"):
        Simulated([1, 2], [0, 1], 2).answer([1, 99, 100])
