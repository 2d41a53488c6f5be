"""Splits: sizes, balance, disjointness, reproducibility on every machine, and datasets that are too small."""

import hashlib
from itertools import pairwise

import numpy as np
import pytest

from versionspace.data import SPLIT_SIZES, Dataset, FolderReport, Subset, load, split
from versionspace.errors import InputError


def subset_of(counts, seed=0, offset=0):
    """Return a subset with this many images of each class, shuffled; all pixels are 0."""
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    return Subset(np.zeros((len(labels), 1, 1, 1), np.uint8), labels.astype(np.int64), np.arange(len(labels)) + offset)


def dataset(train, test=None, validation=None, name="x", **more):
    return Dataset(name, tuple("abcdefghij"), train, test, validation, **more)


def counts(subset, ids):
    return np.bincount(subset.labels[subset.rows(ids)], minlength=10).tolist()


MNIST = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
MNIST_TEST = (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009)
SVHN = (4948, 13861, 10585, 8497, 7458, 6882, 5727, 5595, 5045, 4659)
SVHN_TEST = (1744, 5099, 4149, 2882, 2523, 2384, 1977, 2019, 1660, 1595)
PUBLISHED = {
    "mnist": (MNIST, MNIST_TEST),
    "fashion-mnist": ((6000,) * 10, (1000,) * 10),
    "svhn": (SVHN, SVHN_TEST),
    "stl10": ((500,) * 10, (800,) * 10),
    "cifar10": ((5000,) * 10, (1000,) * 10),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_papers_sizes_and_balance_with_the_published_class_counts(name):
    train, test = (subset_of(each) for each in PUBLISHED[name])
    cut = split(dataset(train, test, name=name), seed=0)
    sizes = SPLIT_SIZES[name]
    assert (len(cut.pool), len(cut.validation), len(cut.test), len(cut.initial)) == (
        sizes.pool, sizes.validation, sizes.test, sizes.initial,
    )  # fmt: skip
    assert counts(train, cut.pool) == [sizes.pool // 10] * 10
    assert counts(train, cut.validation) == [sizes.validation // 10] * 10
    assert counts(train, cut.initial) == [sizes.initial // 10] * 10
    assert counts(test, cut.test) == (list(MNIST_TEST) if name == "mnist" else [sizes.test // 10] * 10)
    assert not np.intersect1d(cut.pool, cut.validation).size
    assert np.isin(cut.initial, cut.pool).all()
    for ids in (cut.pool, cut.validation, cut.test, cut.initial):
        assert all(a < b for a, b in pairwise(ids.tolist()))


def test_the_papers_table():
    table = {name: (s.pool, s.validation, s.test, s.initial) for name, s in SPLIT_SIZES.items()}
    assert table["mnist"] == (45000, 5000, 10000, 10)
    assert table["fashion-mnist"] == (55000, 5000, 10000, 10)
    assert table["svhn"] == (40000, 5000, 15000, 100)
    assert table["stl10"] == (4000, 1000, 8000, 100)


def test_the_same_seed_gives_the_same_split_on_every_machine():
    """The checksum of the split of the digits with seed 7 is fixed."""
    cut = split(load("digits"), seed=7)
    text = ";".join(",".join(map(str, ids)) for ids in (cut.pool, cut.validation, cut.test, cut.initial))
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "4d02da81fbbcb22c9c77474fa089e9257b9ea97e86adb3418190f0fdd2453417"
    )


def test_different_seeds_give_different_splits():
    digits = load("digits")
    one, other = split(digits, seed=0), split(digits, seed=1)
    for name in ("validation", "test", "initial"):
        assert set(getattr(one, name)) != set(getattr(other, name))


def test_the_split_depends_on_ids_not_on_positions():
    """Shuffling the rows does not change the split."""
    whole = subset_of((50,) * 10)
    order = np.random.default_rng(5).permutation(500)
    shuffled = Subset(whole.images, whole.labels[order], whole.ids[order])
    one, other = (split(dataset(each), pool=300, validation=50, test=50, seed=3) for each in (whole, shuffled))
    for name in ("pool", "validation", "test"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_without_a_test_subset_the_sets_are_disjoint():
    cut = split(dataset(subset_of((40,) * 10)), pool=200, validation=100, test=100, initial=20, seed=0)
    together = np.concatenate([cut.pool, cut.validation, cut.test])
    assert len(np.unique(together)) == 400


def test_class_counts_differ_by_at_most_one():
    train = subset_of((40,) * 10)
    cut = split(dataset(train), pool=105, validation=13, test=7, initial=3, seed=0)
    for ids in (cut.validation, cut.test, cut.initial):
        got = counts(train, ids)
        assert max(got) - min(got) <= 1
    assert (len(cut.pool), sum(counts(train, cut.initial))) == (105, 3)


def test_hashes_as_ids():
    ids = np.array([hashlib.sha256(bytes([n])).hexdigest() for n in range(100)])
    folder = Subset(np.zeros((100, 1, 1, 1), np.uint8), np.arange(100) % 10, ids)
    cut = split(dataset(folder, report=FolderReport()), validation=20, initial=10, seed=0)
    assert len(cut.pool) == 80
    assert counts(folder, cut.initial) == [1] * 10
    assert set(cut.initial) <= set(cut.pool)
    grown = Subset(np.zeros((90, 1, 1, 1), np.uint8), folder.labels[:90], ids[:90])
    before = split(dataset(grown, report=FolderReport()), validation=20, seed=0, balanced=False)
    after = split(dataset(folder, report=FolderReport()), validation=20, seed=0, balanced=False)
    assert len(set(before.validation) & set(after.validation)) >= 14  # a folder that grows keeps most of its split


def test_a_folder_keeps_its_own_subsets():
    own = dataset(
        subset_of((9, 9)),
        subset_of((4, 4), offset=100),
        subset_of((3, 3), offset=200),
        name="mnist",
        report=FolderReport(),
    )
    cut = split(own, seed=0)
    assert (len(cut.pool), len(cut.test), len(cut.validation), len(cut.initial)) == (18, 8, 6, 0)
    cut = split(own, pool=10, test=4, validation=2, seed=0)
    assert cut.test.min() >= 100
    assert cut.validation.min() >= 200
    assert counts(own.train, cut.pool)[:2] == [5, 5]


class TestTooSmall:
    def test_the_error_says_by_how_much_and_what_to_do(self):
        with pytest.raises(
            InputError,
            match="test: expected 8000 images, got 800 available in stl10, 7200 too few. Pass test=800 or less",
        ):
            split(dataset(subset_of((320,) * 10), subset_of((80,) * 10), name="stl10"), seed=0)
        with pytest.raises(InputError, match=r"pool and validation: expected 5000 .* 1800 too few\. .*at most 3200"):
            split(dataset(subset_of((320,) * 10), subset_of((80,) * 10), name="stl10"), test=800, seed=0)

    def test_a_class_that_is_too_small_is_reported(self):
        unequal = dataset(subset_of((30, 30, 5)))
        with pytest.raises(InputError, match=r"20 images of each of 3 .*got 5 of class 'c' in x, 15 too few.*most 15"):
            split(unequal, pool=60, seed=0)
        assert len(split(unequal, pool=60, seed=0, balanced=False).pool) == 60

    def test_more_initial_labels_than_pool_images(self):
        with pytest.raises(InputError, match="initial: expected 11 images, got 10"):
            split(dataset(subset_of((5, 5))), pool=10, initial=11, seed=0)

    @pytest.mark.parametrize("bad", [-1, 2.5, True, "10"])
    def test_invalid_sizes_are_rejected(self, bad):
        with pytest.raises(InputError, match="pool: expected a number of images"):
            split(dataset(subset_of((5, 5))), pool=bad, seed=0)

    def test_an_invalid_seed_is_rejected(self):
        with pytest.raises(InputError, match="seed"):
            split(dataset(subset_of((5, 5))), seed=-1)


class TestUnlabelled:
    bare = Subset(np.zeros((30, 1, 1, 1), np.uint8), None, np.arange(30))
    some = Subset(np.zeros((30, 1, 1, 1), np.uint8), np.repeat([0, 1, -1], 10), np.arange(30))

    def test_all_images_are_the_pool(self):
        assert len(split(dataset(self.bare), seed=0).pool) == 30

    def test_balance_needs_labels(self):
        for each, wanted in ((self.bare, {"initial": 4}), (self.bare, {"pool": 20}), (self.some, {"pool": 20})):
            with pytest.raises(InputError, match="Pass balanced=False"):
                split(dataset(each), **wanted, seed=0)

    def test_initial_labels_are_balanced_if_enough_images_are_labelled(self):
        cut = split(dataset(self.some), initial=4, seed=0)
        assert sorted(self.some.labels[self.some.rows(cut.initial)]) == [0, 0, 1, 1]

    def test_without_balance_any_images_are_drawn(self):
        cut = split(dataset(self.bare), validation=5, test=5, initial=4, seed=0, balanced=False)
        assert (len(cut.pool), len(cut.initial)) == (20, 4)

    def test_validation_and_test_prefer_labelled_images(self):
        cut = split(dataset(self.some), validation=8, test=8, seed=0, balanced=False)
        for ids in (cut.validation, cut.test):
            assert (self.some.labels[self.some.rows(ids)] >= 0).all()
        with pytest.raises(InputError, match="test: expected 21 images, got 20"):
            split(dataset(self.some), test=21, seed=0, balanced=False)

    def test_an_unlabelled_image_in_test_or_validation_is_left_out(self):
        """In a folder, it lies outside the class folders or in two of them."""
        labels = np.array([0, 1, -1, 1, 0])
        own = Subset(np.zeros((5, 1, 1, 1), np.uint8), labels, np.arange(5))
        cut = split(dataset(subset_of((9, 9)), own, own, report=FolderReport()), seed=0)
        assert (len(cut.pool), cut.test.tolist(), cut.validation.tolist()) == (18, [0, 1, 3, 4], [0, 1, 3, 4])

    def test_completely_unlabelled_subsets_are_used_whole(self):
        for labels in (None, np.full(5, -1)):
            own = Subset(np.zeros((5, 1, 1, 1), np.uint8), labels, np.arange(5))
            cut = split(dataset(subset_of((9, 9)), own, own, report=FolderReport()), seed=0)
            assert (len(cut.test), len(cut.validation)) == (5, 5)

    def test_unlabelled_train_with_labelled_test(self):
        none = Subset(np.zeros((30, 1, 1, 1), np.uint8), np.full(30, -1), np.arange(30))
        cut = split(dataset(none, subset_of((4, 4)), report=FolderReport()), validation=5, seed=0, balanced=False)
        assert (len(cut.pool), len(cut.validation), len(cut.test)) == (25, 5, 8)


def named(count, ids, labels=None):
    return Subset(np.zeros((count, 1, 1, 1), np.uint8), labels, ids)


@pytest.mark.parametrize("name", ["{:020d}", "photo {}"])
def test_any_text_can_be_an_id_and_the_seed_matters(name):
    ids = np.array([name.format(i) for i in range(40)])
    mine = dataset(named(40, ids, np.arange(40) % 2))
    cuts = [tuple(split(mine, validation=4, seed=seed).validation) for seed in range(4)]
    assert len(set(cuts)) == 4


def test_initial_images_are_labelled_ones():
    labels = np.where(np.arange(16) % 3 == 0, np.arange(16) % 2, -1)
    mine = dataset(named(16, np.arange(16), labels), report=FolderReport())
    for seed in range(5):
        cut = split(mine, initial=5, seed=seed, balanced=False)
        assert (mine.train.take(cut.initial).labels >= 0).all()
