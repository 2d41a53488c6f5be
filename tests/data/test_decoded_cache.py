"""The cache of decoded images: nothing is decoded twice, and a killed run leaves no damage."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from versionspace.data import DataError, read_folder
from versionspace.data.folder import identify, reader


@pytest.fixture
def photos(tmp_path):
    place = tmp_path / "photos"
    (place / "cat").mkdir(parents=True)
    for number in range(30):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(place / "cat" / f"{number:02}.png")
    return place


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def reds(found):
    return found.train.images[:, 0, 0, 0].tolist()


def files(cache):
    return sorted(path for path in cache.rglob("*") if path.is_file())


def test_the_second_run_decodes_nothing(photos, cache):
    first = read_folder(photos, size=8, cache=cache)
    again = read_folder(photos, size=8, cache=cache)
    assert (first.report.decoded, again.report.decoded) == (30, 0)
    assert reds(first) == reds(again) == list(range(30))
    assert isinstance(again.train.images, np.memmap)
    assert not again.train.images.flags.writeable


def test_only_new_files_are_decoded(photos, cache):
    read_folder(photos, size=8, cache=cache)
    Image.new("RGB", (8, 8), (99, 0, 0)).save(photos / "cat" / "10b.png")
    (photos / "cat" / "05.png").unlink()
    found = read_folder(photos, size=8, cache=cache)
    assert found.report.decoded == 1
    assert reds(found) == [*range(5), *range(6, 11), 99, *range(11, 30)]


def test_a_file_with_new_content_is_a_new_image(photos, cache):
    before = read_folder(photos, size=8, cache=cache)
    stamp = (photos / "cat" / "05.png").stat()
    Image.new("RGB", (8, 8), (77, 0, 0)).save(photos / "cat" / "05.png")
    os.utime(photos / "cat" / "05.png", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # time stamps are not trusted
    after = read_folder(photos, size=8, cache=cache)
    assert reds(after)[5] == 77
    assert before.train.ids[5] != after.train.ids[5]


def test_a_file_that_changes_while_it_is_read_is_not_cached_under_its_old_hash(photos, cache, monkeypatch):
    real = identify.sha256

    def then_change(path):
        found = real(path)
        if path.name == "05.png":
            Image.new("RGB", (8, 8), (77, 0, 0)).save(path)
        return found

    monkeypatch.setattr(identify, "sha256", then_change)
    found = read_folder(photos, size=8, cache=cache)
    assert [(entry.file, entry.why) for entry in found.report.skipped] == [
        ("cat/05.png", "changed while it was being read")
    ]
    assert 77 not in reds(found)


def test_another_folder_with_the_same_images_decodes_nothing(photos, cache, tmp_path):
    read_folder(photos, size=8, cache=cache)
    photos.rename(tmp_path / "moved")
    found = read_folder(tmp_path / "moved", size=8, cache=cache)
    assert found.report.decoded == 0
    assert reds(found) == list(range(30))


def test_each_size_and_fit_has_its_own_cache(photos, cache):
    read_folder(photos, size=8, cache=cache)
    found = read_folder(photos, size=4, cache=cache)
    assert (found.report.decoded, found.train.images.shape) == (30, (30, 4, 4, 3))
    assert read_folder(photos, size=8, cache=cache, fit="pad").report.decoded == 30


def test_blocks_are_merged_and_deleted(photos, cache, monkeypatch):
    monkeypatch.setattr(reader, "BLOCK_BYTES", 7 * 8 * 8 * 3)
    found = read_folder(photos, size=8, cache=cache)
    assert reds(found) == list(range(30))
    assert sorted(path.suffix for path in files(cache)) == [".json", ".npy"]
    (photos / "cat" / "00.png").unlink()
    read_folder(photos, size=8, cache=cache)
    assert len(files(cache)) == 2  # the earlier pack of the folder is deleted too


@pytest.mark.parametrize("damage", ["cut", "no index", "no array", "bad index", "noise"])
def test_a_damaged_pack_is_rebuilt(photos, cache, damage):
    read_folder(photos, size=8, cache=cache)
    index, array = sorted(files(cache), key=lambda path: path.suffix)
    match damage:
        case "cut":
            array.write_bytes(array.read_bytes()[:-1])
        case "no index":
            index.unlink()
        case "no array":
            array.unlink()
        case "bad index":
            index.write_text("{")
        case "noise":
            array.write_bytes(b"noise")
    found = read_folder(photos, size=8, cache=cache)
    assert found.report.decoded == 30
    assert reds(found) == list(range(30))


def test_concurrent_runs_agree(photos, cache):
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda _: reds(read_folder(photos, size=8, cache=cache, workers=1)), range(8)))
    assert runs == [list(range(30))] * 8


def test_the_number_of_workers_does_not_change_the_result(photos, cache, tmp_path):
    one = read_folder(photos, size=8, cache=cache, workers=1)
    many = read_folder(photos, size=8, cache=tmp_path / "other", workers=7)
    np.testing.assert_array_equal(one.train.images, many.train.images)
    assert one.train.ids.tolist() == many.train.ids.tolist()


def test_a_progress_bar_is_drawn_on_request_and_never_into_a_pipe(photos, cache, capsys, monkeypatch):
    read_folder(photos, size=8, cache=cache)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    read_folder(photos, size=8, cache=cache, progress=True)
    assert "hashing files" in capsys.readouterr().err


KILLED = """
import sys, time
from versionspace.data import DataError, read_folder
from versionspace.data.folder import reader
real = reader.decode
def slowly(content, to):
    time.sleep(0.02)
    return real(content, to)
reader.decode = slowly
reader.BLOCK_BYTES = 5 * 8 * 8 * 3
read_folder(sys.argv[1], size=8, cache=sys.argv[2], workers=1)
"""


@pytest.mark.parametrize("blocks", [0, 1, 3])
def test_a_killed_run_keeps_finished_blocks_and_nothing_incomplete(photos, cache, blocks):
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(photos), str(cache)])
    try:
        deadline = time.monotonic() + 30
        while len(list(cache.rglob("*.json"))) < blocks or not cache.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    found = read_folder(photos, size=8, cache=cache)
    assert reds(found) == list(range(30))
    assert found.report.decoded <= 30 - 5 * blocks
    assert found.report.decoded > 0
    assert read_folder(photos, size=8, cache=cache).report.decoded == 0


def test_temporary_files_of_killed_runs_are_deleted_after_a_day(photos, cache):
    read_folder(photos, size=8, cache=cache)
    (place,) = {path.parent for path in files(cache)}
    old, fresh = place / ".x.npy.1.new", place / ".y.npy.2.new"
    old.write_bytes(b"half")
    fresh.write_bytes(b"half")
    os.utime(old, (0, 0))
    read_folder(photos, size=8, cache=cache)
    assert not old.exists()
    assert fresh.exists()


def test_an_unwritable_cache_is_reported(photos, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DataError, match=r"expected a writable cache folder .*VERSIONSPACE_CACHE"):
        read_folder(photos, size=8, cache=tmp_path / "file")


FEW_FILES = """
import resource, sys
from versionspace.data import read_folder
from versionspace.data.folder import reader
reader.BLOCK_BYTES = 1
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
found = read_folder(sys.argv[1], size=2, cache=sys.argv[2], workers=1)
print(found.report.decoded, found.train.images[:, 0, 0, 0].tolist() == list(range(100)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_more_blocks_than_a_process_may_have_open_files(tmp_path, cache):
    """One block for each of a hundred images, with a limit of 64 open files."""
    (tmp_path / "photos").mkdir()
    for number in range(100):
        Image.new("RGB", (2, 2), (number, 0, 0)).save(tmp_path / "photos" / f"{number:03}.png")
    command = [sys.executable, "-c", FEW_FILES, str(tmp_path / "photos"), str(cache)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("100 True", "")
