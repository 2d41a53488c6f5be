"""Features are computed once for an image and found again, or computed again; never are they wrong."""

import errno
import logging
import subprocess
import sys

import numpy as np
import pytest
import torch

import versionspace as vs
from versionspace import runtime as work
from versionspace.data import load
from versionspace.features import cache as feature_cache
from versionspace.features import extract as embedding
from versionspace.features.cache import FeatureCache, key_of
from versionspace.features.extract import Embedding

IMAGES = np.ascontiguousarray(load("digits").train.images[:21]).repeat(4, axis=1).repeat(4, axis=2)
SIDE = 32


def made(tmp_path, **options):
    return Embedding(side=SIDE, cache=tmp_path, **options)


@pytest.fixture(scope="module")
def features():
    return Embedding(side=SIDE, cache=False)(IMAGES)


@pytest.fixture
def passes(monkeypatch):
    """How many images each pass of the backbone was for, those that fill up the last chunk included."""
    seen = []
    real = embedding.prepared

    def counted(images, side):
        seen.append(len(images))
        return real(images, side)

    monkeypatch.setattr(embedding, "prepared", counted)
    return seen


def blocks(tmp_path):
    return sorted((tmp_path / "features").glob("*/*.npy"))


def test_what_was_computed_is_found_again(tmp_path, features, passes):
    np.testing.assert_array_equal(made(tmp_path)(IMAGES), features)
    assert len(passes) == 3
    again = made(tmp_path)
    np.testing.assert_array_equal(again(IMAGES), features)
    np.testing.assert_array_equal(again(IMAGES[5:7]), features[5:7])
    assert len(passes) == 3


def test_a_folder_that_grows_computes_what_is_new(tmp_path, features, passes):
    made(tmp_path)(IMAGES[:9])
    assert len(passes) == 2
    order = np.random.default_rng(0).permutation(21)
    np.testing.assert_array_equal(made(tmp_path)(IMAGES[order]), features[order])
    assert len(passes) == 2 + 2  # twelve new ones


def test_neither_threads_nor_company_move_a_bit(features):
    order = np.random.default_rng(1).permutation(21)
    for threads in (1, 2, 3):
        shuffled = Embedding(side=SIDE, cache=False, threads=threads)(IMAGES[order])
        np.testing.assert_array_equal(shuffled, features[order])
    for i in (0, 20):
        np.testing.assert_array_equal(Embedding(side=SIDE, cache=False)(IMAGES[i : i + 1]), features[i : i + 1])


def test_an_image_that_is_there_twice_is_computed_once(tmp_path, features, passes):
    twice = IMAGES[[3, 1, 3, 3, 1, 3, 1, 3, 3, 3, 1]]
    np.testing.assert_array_equal(made(tmp_path)(twice), features[[3, 1, 3, 3, 1, 3, 1, 3, 3, 3, 1]])
    assert passes == [8]


def test_the_same_pixels_in_another_shape_are_another_image():
    assert key_of(np.zeros((2, 8, 1), np.uint8)) != key_of(np.zeros((4, 4, 1), np.uint8))
    strided = IMAGES[0][:, ::2]
    assert key_of(strided) == key_of(strided.copy())


def test_another_size_is_another_cache(tmp_path, passes):
    made(tmp_path)(IMAGES[:1])
    found = Embedding(side=64, cache=tmp_path)(IMAGES[:1])
    assert len(passes) == 2
    np.testing.assert_array_equal(found, Embedding(side=64, cache=False)(IMAGES[:1]))


@pytest.mark.parametrize(("where", "name", "other"), [
    (work, "processor", lambda: "an abacus"), (torch, "__version__", "99.0"),
], ids=["processor", "torch"])  # fmt: skip
def test_what_rounds_otherwise_is_another_cache(where, name, other, tmp_path, passes, monkeypatch):
    """A home is shared by machines and outlives versions: features of elsewhere are not what is computed here."""
    made(tmp_path)(IMAGES[:1])
    monkeypatch.setattr(where, name, other)
    for _ in range(2):
        made(tmp_path)(IMAGES[:1])
    assert len(passes) == 2


def test_a_gpu_has_another_cache_than_the_processor_beside_it(tmp_path, monkeypatch):
    made(tmp_path)(IMAGES[:1])
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a GPU")
    found = [made(tmp_path, device=torch.device(name)).cache.find([key_of(IMAGES[0])]) for name in ("cpu", "cuda:0")]
    assert [len(some.positions) for some in found] == [1, 0]


@pytest.mark.parametrize(
    "damage", ["empty", "cut", "one bit of a feature", "one bit of a key", "text", "pickle", "other rows"]
)
def test_a_damaged_block_is_computed_again(damage, tmp_path, features, passes):
    made(tmp_path)(IMAGES)
    (path,) = blocks(tmp_path)
    content = bytearray(path.read_bytes())
    start = len(content) - 21 * (32 + 4 * 1280 + 4)
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage.startswith("one bit"):
        content[start + (32 + 4 * 700 + 2 if "feature" in damage else 5)] ^= 4
        path.write_bytes(content)
    elif damage == "text":
        path.write_text("not an array")
    elif damage == "pickle":
        np.save(path, np.array([{"a": 1}], object), allow_pickle=True)
    else:
        np.save(path, np.zeros((21, 1280), np.float32))
    passes.clear()
    np.testing.assert_array_equal(made(tmp_path)(IMAGES), features)
    assert len(passes) == (1 if damage.startswith("one bit") else 3)
    passes.clear()
    np.testing.assert_array_equal(made(tmp_path)(IMAGES), features)
    assert not passes


def test_numbers_that_are_not_finite_are_not_believed():
    cache = FeatureCache("made-up", 2, place=False)
    key = key_of(IMAGES[0])
    cache.add([key], np.array([[np.nan, 1.0]]))
    assert len(cache.find([key]).positions) == 0


@pytest.mark.parametrize("trouble", ["not a folder", "full"])
def test_without_a_disk_to_write_to_it_goes_on_from_memory(trouble, tmp_path, features, passes, caplog, monkeypatch):
    if trouble == "not a folder":
        (tmp_path / "features").write_text("in the way")
    else:

        def full(file, *_, **__):
            file.write(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(feature_cache.np.lib.format, "write_array", full)
    monkeypatch.setattr(embedding, "_BLOCK", 8)
    made_here = made(tmp_path)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            np.testing.assert_array_equal(made_here(IMAGES), features)
    assert len(passes) == 3
    assert len(caplog.records) == 1
    assert "kept in memory only" in caplog.text
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "features"] == []


def test_what_was_computed_before_an_end_is_kept(tmp_path, features, passes, monkeypatch):
    monkeypatch.setattr(embedding, "_BLOCK", 8)
    calls = []

    def alive():
        calls.append(None)
        if len(calls) > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(tmp_path)(IMAGES, alive)
    assert len(passes) == 2
    np.testing.assert_array_equal(made(tmp_path)(IMAGES), features)
    assert len(passes) == 3


def test_two_processes_may_fill_the_same_cache(tmp_path, features, passes):
    one, other = made(tmp_path), made(tmp_path)
    one(IMAGES[:8])
    other(IMAGES[8:16])
    np.testing.assert_array_equal(one(IMAGES[:16]), features[:16])
    assert len(passes) == 2


def test_the_users_cache_is_where_the_datasets_are(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path))
    Embedding(side=SIDE)(IMAGES[:1])
    assert len(blocks(tmp_path)) == 1


def test_bad_input_gets_a_sentence():
    with pytest.raises(vs.InputError, match=r"expected images of 1 channel.*got 2 channels"):
        Embedding(side=SIDE, cache=False)(np.zeros((1, 8, 8, 2), np.uint8))
    for side in (31, 5000, 64.5):
        with pytest.raises(vs.InputError, match="side: expected 32 to 1024 pixels"):
            Embedding(side=side, cache=False)


FEW_FILES = """
import resource, sys
from pathlib import Path
import numpy as np
from versionspace.features.cache import FeatureCache
keys = [bytes([i]) * 32 for i in range(100)]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
one = FeatureCache("made-up", 2, Path(sys.argv[1]))
for i in range(100):
    one.add([keys[i]], np.full((1, 2), i, np.float32))
for cache in (one, FeatureCache("made-up", 2, Path(sys.argv[1]))):
    found = cache.find(keys[::-1])
    print(len(found.positions), (found.features[:, 0] == 99 - found.positions).all())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_there_are_more_blocks_than_a_process_may_have_open_files(tmp_path):
    command = [sys.executable, "-c", FEW_FILES, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("100 True\n" * 2, "")


def test_a_block_that_was_removed_is_computed_again_or_found_elsewhere(tmp_path, features, passes):
    one, other = made(tmp_path), made(tmp_path)
    one(IMAGES[:8])
    other(IMAGES[8:16])
    one(IMAGES[:16])
    blocks(tmp_path)[0].unlink()
    np.testing.assert_array_equal(one(IMAGES[:16]), features[:16])
    assert len(passes) == 3
    np.testing.assert_array_equal(one(IMAGES[[3, 3, 12, 3]]), features[[3, 3, 12, 3]])
    assert len(passes) == 3


def test_of_two_blocks_with_an_image_the_whole_one_is_believed(tmp_path):
    keys = [key_of(image) for image in IMAGES[:2]]
    cache = FeatureCache("made-up", 2, tmp_path)
    cache.add(keys, np.array([[1, 2], [3, 4]], np.float32))
    cache.add(keys[:1], np.array([[5, 6]], np.float32))
    for path in blocks(tmp_path):
        content = path.read_bytes()
        if np.float32(5).tobytes() in content:
            path.write_bytes(content[:-3] + b"?" + content[-2:])
    found = FeatureCache("made-up", 2, tmp_path).find([keys[0], keys[1], keys[0]])
    assert dict(zip(found.positions.tolist(), found.features.tolist(), strict=True)) == {
        0: [1, 2],
        1: [3, 4],
        2: [1, 2],
    }
