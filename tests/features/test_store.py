"""Features of the images of a folder as a matrix on disk."""

import hashlib

import numpy as np
import pytest

from versionspace.data import DataError
from versionspace.features import FeatureStore, store


def ids(*numbers):
    return np.sort(np.array([hashlib.sha256(bytes([n])).hexdigest() for n in numbers]))


def filled(rows, width=3):
    return np.arange(len(rows) * width, dtype=np.float32).reshape(-1, width) + 100 * rows[:, None]


def open_store(tmp_path, names, width=3):
    return FeatureStore("net-8x8", width, names, tmp_path)


def test_rows_are_kept_between_runs(tmp_path):
    first = open_store(tmp_path, ids(*range(6)))
    rows = np.array([4, 1])
    first.add(rows, filled(rows))
    assert first.done.tolist() == [False, True, False, False, True, False]
    again = open_store(tmp_path, ids(*range(6)))
    assert again.done.tolist() == first.done.tolist()
    assert np.array_equal(again.features[rows], filled(rows))
    assert again.rows(ids(*range(6))[[5, 0]]).tolist() == [5, 0]


def test_rows_are_seen_by_a_view_that_was_opened_before(tmp_path):
    found = open_store(tmp_path, ids(1, 2))
    view = found.features
    found.add(np.array([1]), np.array([[7, 8, 9]], np.float32))
    assert view[1].tolist() == [7, 8, 9]


def test_a_damaged_row_counts_as_not_computed(tmp_path):
    found = open_store(tmp_path, ids(*range(4)))
    found.add(np.arange(4), filled(np.arange(4)))
    (matrix,) = found.folder.glob("*.f32")
    content = bytearray(matrix.read_bytes())
    content[2 * 12 + 3] ^= 1
    matrix.write_bytes(content)
    assert open_store(tmp_path, ids(*range(4))).done.tolist() == [True, True, False, True]


def test_a_folder_that_grew_takes_over_what_is_computed(tmp_path):
    before = open_store(tmp_path, ids(*range(5)))
    before.add(np.arange(4), filled(np.arange(4)))
    grown = open_store(tmp_path, ids(*range(9)))
    for name in ids(*range(5))[:4]:
        old, new = before.rows(np.array([name])), grown.rows(np.array([name]))
        assert grown.done[new].all()
        assert np.array_equal(before.features[old], grown.features[new])
    assert grown.done.sum() == 4


def test_another_extractor_has_its_own(tmp_path):
    open_store(tmp_path, ids(1, 2)).add(np.arange(2), filled(np.arange(2)))
    assert not FeatureStore("other-8x8", 3, ids(1, 2), tmp_path).done.any()


def test_a_file_of_the_wrong_size_is_written_anew(tmp_path):
    found = open_store(tmp_path, ids(1, 2))
    found.add(np.arange(2), filled(np.arange(2)))
    (matrix,) = found.folder.glob("*.f32")
    matrix.write_bytes(matrix.read_bytes()[:-4])
    assert not open_store(tmp_path, ids(1, 2)).done.any()


def test_a_full_disk_is_explained(tmp_path, monkeypatch):
    found = open_store(tmp_path, ids(1, 2))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "_write_rows", full)
    with pytest.raises(DataError, match="expected a writable cache folder with free space"):
        found.add(np.array([0]), np.zeros((1, 3), np.float32))
    assert not found.done.any()
