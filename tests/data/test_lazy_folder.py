"""Folders that are read lazily: hashes are kept between runs, and images are decoded when they are selected."""

import os

import numpy as np
import pytest

from data.pictures import id_of, picture, save
from versionspace.data import DataError, read_folder
from versionspace.data.folder import hash_index, identify, reader


@pytest.fixture
def photos(tmp_path):
    for number in range(12):
        save(tmp_path / "photos" / f"{number:02d}.png", picture(number, (9, 7)))
    return tmp_path / "photos"


@pytest.fixture
def settled(monkeypatch):
    """Treat files that were just written as if they had been there for long."""
    monkeypatch.setattr(hash_index, "RECENT_NS", -(10**18))


def lazily(photos, tmp_path, **options):
    return read_folder(photos, size=8, lazy=True, cache=tmp_path / "cache", **options)


def test_images_are_those_of_a_folder_that_is_decoded_at_once_and_no_pixels_are_kept(photos, tmp_path):
    found, whole = lazily(photos, tmp_path), read_folder(photos, size=8, cache=tmp_path / "other")
    assert found.train.ids.tolist() == whole.train.ids.tolist()
    assert found.train.files == whole.train.files
    assert found.train.shape == (8, 8, 3)
    for which in (slice(None), slice(3, 5), np.array([4, 0, 4]), np.arange(12) % 2 == 0):
        assert np.array_equal(found.train.images[which], whole.train.images[which])
    assert np.array_equal(found.train.images[7], whole.train.images[7])
    assert np.array_equal(found.train.take(whole.train.ids[[5, 2]]).images, whole.train.images[[5, 2]])
    assert not list((tmp_path / "cache").rglob("*.npy"))


def test_unchanged_files_are_not_read_again(photos, tmp_path, settled, monkeypatch):
    first = lazily(photos, tmp_path)
    monkeypatch.setattr(identify, "sha256", lambda path: pytest.fail(f"{path} was read"))
    monkeypatch.setattr(reader, "decode", lambda *_: pytest.fail("an intact image was decoded"))
    assert lazily(photos, tmp_path).train.ids.tolist() == first.train.ids.tolist()


def test_a_file_with_new_content_is_a_new_image_whatever_its_size_and_time_stamps(photos, tmp_path, settled):
    file = save(photos / "same.bmp", picture(50, (9, 7)))
    before, stat = lazily(photos, tmp_path), file.stat()
    save(file, picture(77, (9, 7)))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (stat.st_size, stat.st_mtime_ns)
    after = lazily(photos, tmp_path)
    assert after.train.ids[-1] == id_of(file)
    assert before.train.ids[-1] not in after.train.ids


def test_files_that_have_just_changed_get_no_entry(photos, tmp_path):
    lazily(photos, tmp_path)
    assert len(hash_index.HashIndex(tmp_path / "cache", photos).entries) == 0


def test_new_and_deleted_files_are_noticed(photos, tmp_path, settled):
    lazily(photos, tmp_path)
    (photos / "00.png").unlink()
    save(photos / "new.png", picture(40, (9, 7)))
    found = lazily(photos, tmp_path)
    assert found.train.files == (*(f"{number:02d}.png" for number in range(1, 12)), "new.png")
    assert found.train.ids[-1] == id_of(photos / "new.png")


def test_a_damaged_index_is_ignored(photos, tmp_path, settled):
    before = lazily(photos, tmp_path)
    (index,) = (tmp_path / "cache" / "folders" / "hashes").iterdir()
    content = bytearray(index.read_bytes())
    content[-20] ^= 1
    index.write_bytes(content)
    assert len(hash_index.HashIndex(tmp_path / "cache", photos).entries) == 0
    assert lazily(photos, tmp_path).train.ids.tolist() == before.train.ids.tolist()
    assert len(hash_index.HashIndex(tmp_path / "cache", photos).entries) == 12


def test_damaged_files_of_a_small_folder_are_left_out_from_the_start(photos, tmp_path, settled):
    (photos / "bad.png").write_bytes(b"not an image")
    for _ in range(2):
        found = lazily(photos, tmp_path)
        assert [one.file for one in found.report.skipped] == ["bad.png"]
        assert len(found.train) == 12


def test_damaged_files_of_a_large_folder_are_named_when_they_are_selected(photos, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "CHECKED_FILES", 5)
    (photos / "bad.png").write_bytes(b"not an image")
    found = lazily(photos, tmp_path)
    assert len(found.train) == 13
    row = found.train.files.index("bad.png")
    with pytest.raises(DataError, match=r"bad.png: expected an image that can be read, .*, got not a JPEG"):
        found.train.images[[0, row]]
    results = list(found.train.images.decode(np.array([0, row])))
    assert results[0].shape == (8, 8, 3)
    assert results[1].startswith("not a JPEG")


def test_a_file_that_changed_after_the_folder_was_read_is_not_taken_for_the_image(photos, tmp_path):
    found = lazily(photos, tmp_path)
    save(photos / "05.png", picture(77, (9, 7)))
    with pytest.raises(DataError, match="changed while it was being read"):
        found.train.images[5]


def test_a_read_only_cache_is_no_problem(photos, tmp_path, settled, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(hash_index, "replacing", refuse)
    assert len(lazily(photos, tmp_path).train) == 12
