"""Sets of ids as arrays, compared with Python's own sets and dicts."""

import hashlib

import numpy as np
import pytest

from versionspace.campaign.id_sets import FileNames, IdIndex, among, without


def hashes(count):
    return [hashlib.sha256(str(n).encode()).hexdigest() for n in range(count)]


ZEROS = ["ab" * 31 + "00", "ab" * 30 + "0000", "00" * 32]
"""Ids whose bytes end in zeros, which NumPy drops from text."""


@pytest.mark.parametrize("ids", [hashes(50) + ZEROS, sorted(hashes(50) + ZEROS), ["b", "a", "long"], [7, 3, 5], []])
def test_an_index_is_a_list_with_positions(ids):
    index = IdIndex(np.array(ids))
    assert list(index) == ids
    assert len(index) == len(ids)
    assert list(index[1:3]) == ids[1:3]
    for row, image in enumerate(ids):
        assert index[row] == image
        assert index.row(image) == row
        assert image in index
    for other in ("ff" * 32, "AB" * 31 + "00", "z" * 64, "a" * 65, "", 4, None):
        assert other not in index
    assert index.rows([*reversed(ids), "ff" * 32]).tolist() == list(reversed(range(len(ids))))


def test_ids_that_only_look_like_hashes_are_kept_as_they_are():
    ids = ["AB" * 32, "ab" * 32]
    index = IdIndex(np.array(ids))
    assert list(index) == ids
    assert (index.row(ids[0]), index.row(ids[1])) == (0, 1)


def test_membership_is_that_of_sets():
    generator = np.random.default_rng(0)
    everything = np.array(hashes(80))
    for _ in range(20):
        ids, others = (generator.permutation(everything)[: generator.integers(0, 80)] for _ in range(2))
        assert among(ids, others).tolist() == [i in set(others.tolist()) for i in ids.tolist()]
        assert without(ids, others).tolist() == [i for i in ids.tolist() if i not in set(others.tolist())]


def test_names_of_files():
    ids = hashes(4)
    names = FileNames([(np.array(ids[:2]), ("a.png", "b.png"))], {ids[2]: "gone.png", ids[0]: "old.png"})
    assert dict(names) == {ids[0]: "a.png", ids[1]: "b.png", ids[2]: "gone.png"}
    assert names.get(ids[3]) is None
    assert len(names) == 3
