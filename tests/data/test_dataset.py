"""Subsets look images up by id and reject inconsistent arrays."""

import numpy as np
import pytest

from versionspace.data import Dataset, Subset
from versionspace.errors import InputError


def subset(count, ids, labels=None, files=None):
    return Subset(np.zeros((count, 1, 1, 1), np.uint8), labels, ids, files)


def test_ids_are_not_positions():
    images = subset(3, np.array([30, 10, 20]), np.array([7, 8, 9]))
    assert images.rows([20, 30]).tolist() == [2, 0]
    assert images.take([10, 10]).labels.tolist() == [8, 8]
    assert len(images.take([])) == 0
    with pytest.raises(InputError, match="ids: expected ids of images in this subset, got 0 and 1 other unknown ids"):
        images.rows([0, 10, 99])


def test_hashes_can_be_ids():
    images = subset(2, np.array(["b" * 64, "a" * 64]), files=("x", "y"))
    assert images.take(["a" * 64]).files == ("y",)
    assert images.take(["a" * 64]).labels is None
    with pytest.raises(InputError, match="ids"):
        images.rows(["a"])


def test_inconsistent_arrays_are_rejected():
    with pytest.raises(InputError, match="images: expected uint8 .* got float64"):
        Subset(np.zeros((2, 1, 1, 1)), None, np.arange(2))
    with pytest.raises(InputError, match="with N labels, ids and files, got .* with lengths"):
        subset(2, np.arange(3))


@pytest.mark.parametrize(
    "ids",
    [[False, False, True], np.arange(6) < 3, [0.0, 1.0], [[0, 1]], 3, {0, 1}, None, ["0"]],
    ids=["mask", "mask of all", "fractions", "two axes", "a number", "a set", "None", "text"],
)
def test_anything_but_a_list_of_ids_is_rejected(ids):
    with pytest.raises(InputError, match=r"ids: expected a list of ids, such as 0, got .* pass subset.ids\[mask\]"):
        subset(6, np.arange(6)).take(ids)


def test_object_arrays_and_empty_lists_of_ids():
    images = subset(3, np.array(["u", "v", "w"]))
    assert images.take(np.array(["w", "u"], object)).ids.tolist() == ["w", "u"]
    assert len(images.take([])) == 0


def test_lists_of_ids_and_labels_are_accepted():
    images = subset(3, [4, 5, 6], [0, -1, 1])
    assert images.take([6, 4]).labels.tolist() == [1, 0]
    with pytest.raises(InputError, match="labels: expected integers, one for each image, got float64"):
        subset(3, [4, 5, 6], [0.0, 1.0, 2.0])
    with pytest.raises(InputError, match="ids: expected integers or strings, one for each image, got float64"):
        subset(3, [4.0, 5.0, 6.0])


def test_duplicate_ids_are_rejected():
    """The second image would never be found, and its label would go to the first."""
    with pytest.raises(InputError, match="x, test: expected unique ids, got 7 2 times"):
        Dataset("x", ("a",), subset(3, np.arange(3)), subset(3, np.array([7, 8, 7])))
