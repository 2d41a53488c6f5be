"""The feature cache: features are found again, or computed again if damaged, and never wrong."""

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
from versionspace.features import CachedExtractor, extract, lite, make_extractor
from versionspace.features import cache as feature_cache
from versionspace.features.cache import FeatureCache, image_key

IMAGES = np.ascontiguousarray(load("digits").train.images[:21]).repeat(4, axis=1).repeat(4, axis=2)
SIDE = 32


def cached(cache, side=SIDE, device=None, **options):
    return CachedExtractor(make_extractor("lite0", side=side, device=device), cache=cache, **options)


@pytest.fixture(scope="module")
def features():
    return cached(False)(IMAGES)


@pytest.fixture
def passes(monkeypatch):
    """The number of images in each pass of the network, padding included."""
    seen = []
    real = lite.preprocess

    def counted(images, side):
        seen.append(len(images))
        return real(images, side)

    monkeypatch.setattr(lite, "preprocess", counted)
    return seen


def blocks(tmp_path):
    return sorted((tmp_path / "features").glob("*/*.npy"))


def test_computed_features_are_found_again(tmp_path, features, passes):
    np.testing.assert_array_equal(cached(tmp_path)(IMAGES), features)
    assert len(passes) == 3
    again = cached(tmp_path)
    np.testing.assert_array_equal(again(IMAGES), features)
    np.testing.assert_array_equal(again(IMAGES[5:7]), features[5:7])
    assert len(passes) == 3


def test_only_new_images_are_computed(tmp_path, features, passes):
    cached(tmp_path)(IMAGES[:9])
    assert len(passes) == 2
    order = np.random.default_rng(0).permutation(21)
    np.testing.assert_array_equal(cached(tmp_path)(IMAGES[order]), features[order])
    assert len(passes) == 2 + 2  # twelve new ones


def test_features_do_not_depend_on_threads_or_other_images(features):
    order = np.random.default_rng(1).permutation(21)
    for threads in (1, 2, 3):
        shuffled = cached(False, threads=threads)(IMAGES[order])
        np.testing.assert_array_equal(shuffled, features[order])
    for i in (0, 20):
        np.testing.assert_array_equal(cached(False)(IMAGES[i : i + 1]), features[i : i + 1])


def test_a_repeated_image_is_computed_once(tmp_path, features, passes):
    twice = IMAGES[[3, 1, 3, 3, 1, 3, 1, 3, 3, 3, 1]]
    np.testing.assert_array_equal(cached(tmp_path)(twice), features[[3, 1, 3, 3, 1, 3, 1, 3, 3, 3, 1]])
    assert passes == [8]


def test_the_key_depends_on_shape_and_pixels_but_not_on_strides():
    assert image_key(np.zeros((2, 8, 1), np.uint8)) != image_key(np.zeros((4, 4, 1), np.uint8))
    strided = IMAGES[0][:, ::2]
    assert image_key(strided) == image_key(strided.copy())


def test_each_side_has_its_own_cache(tmp_path, passes):
    cached(tmp_path)(IMAGES[:1])
    found = cached(tmp_path, side=64)(IMAGES[:1])
    assert len(passes) == 2
    np.testing.assert_array_equal(found, cached(False, side=64)(IMAGES[:1]))


@pytest.mark.parametrize(("where", "name", "other"), [
    (work, "processor", lambda: "an abacus"), (torch, "__version__", "99.0"),
], ids=["processor", "torch"])  # fmt: skip
def test_each_processor_and_torch_has_its_own_cache(where, name, other, tmp_path, passes, monkeypatch):
    """A home directory may be shared by machines and outlives versions; features differ in their last bits."""
    cached(tmp_path)(IMAGES[:1])
    monkeypatch.setattr(where, name, other)
    for _ in range(2):
        cached(tmp_path)(IMAGES[:1])
    assert len(passes) == 2


def test_a_gpu_and_the_cpu_have_separate_caches(tmp_path, monkeypatch):
    cached(tmp_path)(IMAGES[:1])
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a GPU")
    found = [
        cached(tmp_path, device=torch.device(name)).cache.find([image_key(IMAGES[0])]) for name in ("cpu", "cuda:0")
    ]
    assert [len(some.positions) for some in found] == [1, 0]


@pytest.mark.parametrize(
    "damage", ["empty", "cut", "one bit of a feature", "one bit of a key", "text", "pickle", "other rows"]
)
def test_damaged_features_are_computed_again(damage, tmp_path, features, passes):
    cached(tmp_path)(IMAGES)
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
    np.testing.assert_array_equal(cached(tmp_path)(IMAGES), features)
    assert len(passes) == (1 if damage.startswith("one bit") else 3)
    passes.clear()
    np.testing.assert_array_equal(cached(tmp_path)(IMAGES), features)
    assert not passes


def test_features_that_are_not_finite_are_ignored():
    cache = FeatureCache("example", 2, location=False)
    key = image_key(IMAGES[0])
    cache.add([key], np.array([[np.nan, 1.0]]))
    assert len(cache.find([key]).positions) == 0


@pytest.mark.parametrize("trouble", ["not a folder", "full"])
def test_without_a_writable_disk_features_stay_in_memory(trouble, tmp_path, features, passes, caplog, monkeypatch):
    if trouble == "not a folder":
        (tmp_path / "features").write_text("in the way")
    else:

        def full(file, *_, **__):
            file.write(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(feature_cache.np.lib.format, "write_array", full)
    monkeypatch.setattr(extract, "_BLOCK", 8)
    extractor = cached(tmp_path)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            np.testing.assert_array_equal(extractor(IMAGES), features)
    assert len(passes) == 3
    assert len(caplog.records) == 1
    assert "kept in memory only" in caplog.text
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "features"] == []


def test_features_computed_before_an_interruption_are_kept(tmp_path, features, passes, monkeypatch):
    monkeypatch.setattr(extract, "_BLOCK", 8)
    calls = []

    def interrupt():
        calls.append(None)
        if len(calls) > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached(tmp_path)(IMAGES, interrupt)
    assert len(passes) == 2
    np.testing.assert_array_equal(cached(tmp_path)(IMAGES), features)
    assert len(passes) == 3


def test_two_processes_share_a_cache(tmp_path, features, passes):
    one, other = cached(tmp_path), cached(tmp_path)
    one(IMAGES[:8])
    other(IMAGES[8:16])
    np.testing.assert_array_equal(one(IMAGES[:16]), features[:16])
    assert len(passes) == 2


def test_the_default_location_is_the_users_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path))
    cached(None)(IMAGES[:1])
    assert len(blocks(tmp_path)) == 1


def test_bad_input_is_rejected_with_a_sentence():
    with pytest.raises(vs.InputError, match=r"expected images of 1 channel.*got 2 channels"):
        cached(False)(np.zeros((1, 8, 8, 2), np.uint8))
    for side in (31, 5000, 64.5):
        with pytest.raises(vs.InputError, match="side: expected 32 to 1024 pixels"):
            cached(False, side=side)


FEW_FILES = """
import resource, sys
from pathlib import Path
import numpy as np
from versionspace.features.cache import FeatureCache
keys = [bytes([i]) * 32 for i in range(100)]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
one = FeatureCache("example", 2, Path(sys.argv[1]))
for i in range(100):
    one.add([keys[i]], np.full((1, 2), i, np.float32))
for cache in (one, FeatureCache("example", 2, Path(sys.argv[1]))):
    found = cache.find(keys[::-1])
    print(len(found.positions), (found.features[:, 0] == 99 - found.positions).all())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_cache_may_have_more_blocks_than_open_files_are_allowed(tmp_path):
    command = [sys.executable, "-c", FEW_FILES, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("100 True\n" * 2, "")


def test_a_deleted_block_is_computed_again_or_found_in_another(tmp_path, features, passes):
    one, other = cached(tmp_path), cached(tmp_path)
    one(IMAGES[:8])
    other(IMAGES[8:16])
    one(IMAGES[:16])
    blocks(tmp_path)[0].unlink()
    np.testing.assert_array_equal(one(IMAGES[:16]), features[:16])
    assert len(passes) == 3
    np.testing.assert_array_equal(one(IMAGES[[3, 3, 12, 3]]), features[[3, 3, 12, 3]])
    assert len(passes) == 3


def test_an_intact_row_is_preferred_to_a_damaged_one(tmp_path):
    keys = [image_key(image) for image in IMAGES[:2]]
    cache = FeatureCache("example", 2, tmp_path)
    cache.add(keys, np.array([[1, 2], [3, 4]], np.float32))
    cache.add(keys[:1], np.array([[5, 6]], np.float32))
    for path in blocks(tmp_path):
        content = path.read_bytes()
        if np.float32(5).tobytes() in content:
            path.write_bytes(content[:-3] + b"?" + content[-2:])
    found = FeatureCache("example", 2, tmp_path).find([keys[0], keys[1], keys[0]])
    assert dict(zip(found.positions.tolist(), found.features.tolist(), strict=True)) == {
        0: [1, 2],
        1: [3, 4],
        2: [1, 2],
    }
