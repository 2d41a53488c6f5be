"""The dataset cache: its location, its manifest, and files that are complete or absent."""

import errno
import gzip
import json
import os
from contextlib import suppress

import numpy as np
import pytest

from data.published import known, write_mnist
from versionspace.data import DataError
from versionspace.data import cache as caches
from versionspace.data.cache import STALE_SECONDS, cache_folder, file_backed, staging
from versionspace.data.catalogue import MNIST
from versionspace.data.fetcher import ensure_cached


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_staging_folders_are_deleted_afterwards_and_abandoned_ones_after_a_day(tmp_path):
    old, fresh = tmp_path / ".staging-old", tmp_path / ".staging-fresh"
    for folder in (old, fresh):
        folder.mkdir()
        (folder / "x").write_text("half")
    past = fresh.stat().st_mtime - STALE_SECONDS - 60
    os.utime(old, (past, past))
    with suppress(KeyError), staging(tmp_path) as workspace:
        (workspace / "y").write_text("half")
        assert names(tmp_path) == sorted([".staging-fresh", workspace.name])
        raise KeyError
    assert names(tmp_path) == [".staging-fresh"]


def test_the_cache_folder_is_the_argument_the_variable_or_the_users(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path / "variable"))
    assert cache_folder(tmp_path / "given") == tmp_path / "given"
    assert cache_folder() == tmp_path / "variable"
    monkeypatch.delenv("VERSIONSPACE_CACHE")
    assert cache_folder().name.lower() in ("versionspace", "cache")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "mnist"}', '{"format": 0}'])
def test_a_damaged_manifest_counts_as_not_cached(tmp_path, root, text):
    write_mnist(tmp_path / "one")
    ensure_cached(known(MNIST, tmp_path / "one"), source=tmp_path / "one", cache=root)
    (root / "mnist" / "dataset.json").write_text(text)
    assert caches.read_manifest(root, "mnist") is None


def test_a_manifest_of_another_format_counts_as_not_cached(tmp_path, root):
    write_mnist(tmp_path / "one")
    ensure_cached(known(MNIST, tmp_path / "one"), source=tmp_path / "one", cache=root)
    path = root / "mnist" / "dataset.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": caches.FORMAT + 1}))
    assert caches.read_manifest(root, "mnist") is None


def test_the_manifest_is_readable_json(tmp_path, root):
    write_mnist(tmp_path / "made", zipped=True)
    ensure_cached(known(MNIST, tmp_path / "made"), source=tmp_path / "made", cache=root)
    manifest = json.loads((root / "mnist" / "dataset.json").read_text())
    assert manifest["source"] == f"folder {tmp_path / 'made'}"
    gz = tmp_path / "made" / "t10k-labels-idx1-ubyte.gz"
    assert gzip.decompress(gz.read_bytes())[:4] == b"\0\0\x08\x01"
    assert set(manifest["files"]) == {path.name for path in (tmp_path / "made").iterdir()}


def test_too_many_open_files_are_not_reported_as_a_full_disk(tmp_path):
    with (
        pytest.raises(DataError, match="expected permission to open another file, got Too many open files.*ulimit"),
        caches.explaining_write_errors(tmp_path),
    ):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def test_a_large_array_is_moved_to_a_file_without_a_name(tmp_path, monkeypatch):
    monkeypatch.setattr("versionspace.data.cache._LARGE_BYTES", 100)
    ids = np.array(["b" * 64, "a" * 64])
    moved = file_backed(ids, tmp_path / "cache")
    assert isinstance(moved, np.memmap)
    assert moved.tolist() == ids.tolist()
    assert not list((tmp_path / "cache").iterdir())
    assert file_backed(ids[:0], tmp_path) is not moved
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert file_backed(ids, blocked) is ids
