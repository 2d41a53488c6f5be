"""Who is asked about which images."""

import tracemalloc

import numpy as np
import pytest

from campaign.tiny import config
from versionspace import data
from versionspace.campaign.coldstart import simple_features
from versionspace.campaign.pictures import Cut, Pictures, cut, restored
from versionspace.errors import InputError


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


def test_neither_reference_nor_audit_may_be_asked():
    ids = np.arange(10)
    found = Cut(ids, ids[:0], ids[:0], ids[:2], reference=np.array([3, 4]), audit=np.array([7]))
    assert found.askable().tolist() == [0, 1, 2, 5, 6, 8, 9]


def test_the_audit_is_drawn_from_the_whole_pool_without_regard_to_class(digits):
    """Over many seeds every image of the pool is as likely: also those that are first labels without an audit."""
    counts = np.zeros(len(digits.train))
    wanted = config("budget.total=100", "budget.audit=60", "data.validation=0")
    found = [cut(wanted.model_copy(update={"seed": seed}), digits) for seed in range(60)]
    for one in found:
        counts[one.audit] += 1
        assert len(np.intersect1d(one.audit, one.reference)) == 0
        assert len(np.intersect1d(one.initial, np.concatenate([one.audit, one.reference]))) == 0
        assert len(one.initial) == 10
        assert sorted(digits.train.labels[one.initial]) == list(range(10))
    by_class = np.bincount(digits.train.labels, weights=counts, minlength=10)
    assert by_class.sum() == 60 * 60
    assert abs(by_class - 360).max() < 6 * np.sqrt(360)  # the pool has its classes in equal numbers


def test_without_an_audit_the_first_labels_are_the_papers_split(digits):
    plain = data.split(digits, pool=150, validation=40, test=60, initial=10, seed=0)
    found = cut(config(), digits)
    for name in ("pool", "validation", "test", "initial"):
        assert (getattr(found, name) == getattr(plain, name)).all()
    assert len(found.reference) == len(found.audit) == 0


def test_images_that_are_gone_are_named(digits):
    arrays = cut(config(), digits).arrays()
    arrays["pool"] = np.append(arrays["pool"], 99_999)
    with pytest.raises(InputError, match="1 missing, such as 99999"):
        restored(digits, arrays)


def test_the_pool_is_read_a_chunk_at_a_time(tmp_path):
    """A memory-mapped pool of 25 MB is neither copied for its pixels nor for its truth."""
    images = np.lib.format.open_memmap(tmp_path / "pool.npy", "w+", np.uint8, (2000, 64, 64, 3))
    images[:, 0, 0, 0] = np.arange(2000) % 251
    ids = np.random.default_rng(0).permutation(2000)
    dataset = data.Dataset("made up", ("a", "b"), data.Part(images, ids % 2, ids))
    none = ids[:0]
    found = Pictures(dataset, Cut(np.sort(ids), none, none, none, none, none))
    tracemalloc.start()
    try:
        pool = found.of("pool")
        assert found.truth("pool").tolist() == [0, 1] * 1000
        seen = [pool[i : i + 100][:, 0, 0, 0].copy() for i in range(0, len(pool), 100)]
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(np.concatenate(seen), images[np.argsort(ids), 0, 0, 0])
    np.testing.assert_array_equal(np.asarray(pool), images[np.argsort(ids)])
    np.testing.assert_array_equal(found.pool(ids[:5]), images[:5])


def test_simple_features_are_the_same_in_chunks(digits, monkeypatch):
    whole = simple_features(digits.train.images[:300])
    monkeypatch.setattr("versionspace.campaign.coldstart._AT_ONCE", 7)
    np.testing.assert_array_equal(simple_features(digits.train.view(np.arange(300))), whole)
