"""Features of a folder in one file: the same as those of `versionspace label`, resumable, with the names of images."""

import numpy as np
import pytest
from PIL import Image

from features.brightness import Brightness
from versionspace.data import load, pair_with_features, read_features
from versionspace.errors import InputError
from versionspace.features import CachedExtractor, extract_folder, extract_shard, folder, make_extractor, shards

EXTRACTOR = "features.test_folder:brightness"
CALLS = []


def brightness():
    CALLS.append(1)
    return Brightness()


@pytest.fixture
def photos(tmp_path):
    root = tmp_path / "photos"
    (root / "b").mkdir(parents=True)
    draw = np.random.default_rng(0)
    for i in range(7):
        name = f"b/{i}.png" if i % 2 else f"ä{i}.png"
        Image.fromarray(draw.integers(0, 256, (20, 30, 3), dtype=np.uint8)).save(root / name)
    (root / "broken.jpg").write_bytes(b"no image")
    return root


@pytest.mark.parametrize("suffix", [".parquet", ".npz"])
def test_the_file_has_the_features_and_the_names(photos, tmp_path, suffix):
    made = extract_folder(photos, tmp_path / f"emb{suffix}", EXTRACTOR, size=16, shard_files=3)
    table = read_features(made.path)
    assert sorted(table.ids) == sorted([f"b/{i}.png" for i in (1, 3, 5)] + [f"ä{i}.png" for i in (0, 2, 4, 6)])
    assert [one.file for one in made.skipped] == ["broken.jpg"]
    assert (made.images, made.width, made.resumed) == (7, table.features.shape[1], 0)
    images = load(str(photos), size=16, progress=False)
    expected = CachedExtractor(make_extractor(EXTRACTOR), cache=False)(images.train.images)
    paired = pair_with_features(images, table)
    np.testing.assert_array_equal(np.asarray(paired.train.images[:]).reshape(expected.shape), expected)
    assert not list(tmp_path.glob("*.parts"))


def test_an_interrupted_run_resumes_with_the_shards_that_are_left(photos, tmp_path):
    out, seen = tmp_path / "emb.npz", []

    def runner(fail):
        def run(todo):
            for number, shard in enumerate(todo):
                if fail and number == 2:
                    raise KeyboardInterrupt
                seen.append(shard.files)
                yield number, extract_shard(shard)

        return run

    with pytest.raises(KeyboardInterrupt):
        extract_folder(photos, out, EXTRACTOR, size=16, shard_files=3, runner=runner(fail=True))
    assert not out.exists()
    made = extract_folder(photos, out, EXTRACTOR, size=16, shard_files=3, runner=runner(fail=False))
    assert made.resumed == 6
    assert len(set(seen)) == len(seen) == 3
    whole = extract_folder(photos, tmp_path / "whole.npz", EXTRACTOR, size=16)
    np.testing.assert_array_equal(read_features(out).features, read_features(whole.path).features)
    assert read_features(out).ids.tolist() == read_features(whole.path).ids.tolist()


def test_parts_of_other_work_are_not_mixed(photos, tmp_path):
    def stop(todo):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract_folder(photos, tmp_path / "emb.npz", EXTRACTOR, size=16, runner=stop)
    (photos / "broken.jpg").unlink()
    with pytest.raises(InputError, match="got parts of another \\(files, size changed\\). Delete this folder"):
        extract_folder(photos, tmp_path / "emb.npz", EXTRACTOR, size=8)


def test_wrong_input_is_rejected_before_any_work(photos, tmp_path):
    for out, message in (("emb.csv", "ends in .parquet or .npz, got .csv"), ("photos", "got no extension")):
        with pytest.raises(InputError, match=message):
            extract_folder(photos, tmp_path / out, EXTRACTOR)
    (tmp_path / "there.npz").write_bytes(b"")
    with pytest.raises(InputError, match="expected a new file, got one that exists"):
        extract_folder(photos, tmp_path / "there.npz", EXTRACTOR)
    with pytest.raises(InputError, match="expected a folder of images"):
        extract_folder(tmp_path / "none", tmp_path / "emb.npz", EXTRACTOR)
    for file in photos.rglob("*.png"):
        file.unlink()
    with pytest.raises(InputError, match=r"expected at least one readable image, got none \(broken.jpg: "):
        extract_folder(photos, tmp_path / "emb.npz", EXTRACTOR)
    assert not list(tmp_path.glob("*.parts"))


def test_weights_are_loaded_once_in_a_process(photos, tmp_path):
    shards._extractor.cache_clear()
    extract_folder(photos, tmp_path / "one.npz", EXTRACTOR, size=16, shard_files=2, runner=folder._extract_here)
    CALLS.clear()
    extract_folder(photos, tmp_path / "two.npz", EXTRACTOR, size=16, shard_files=2)
    assert len(CALLS) == 1, "one to check the name"
