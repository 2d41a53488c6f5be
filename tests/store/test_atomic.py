"""Files, arrays and folders appear complete or not at all."""

import os
from pathlib import Path

import numpy as np
import pytest

from versionspace.store import StoreError, read_arrays, write_arrays, write_file, write_folder


def test_equal_arrays_are_written_as_equal_bytes(tmp_path):
    arrays = {"votes": np.arange(2000, dtype=np.uint8).reshape(4, 500), "ids": np.array(["ab", "cd"])}
    first, second = write_arrays(tmp_path / "a.npz", arrays), write_arrays(tmp_path / "b.npz", arrays)
    assert first == second
    found = read_arrays(tmp_path / "a.npz")
    assert (found["votes"] == arrays["votes"]).all()
    assert found["ids"].tolist() == ["ab", "cd"]
    assert (tmp_path / "a.npz").stat().st_size < 2000


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    write_file(tmp_path / "x", b"before")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(StoreError, match="expected free space on the disk, got none"):
        write_file(tmp_path / "x", b"after")
    assert (tmp_path / "x").read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("place", [".", "..", "/", "there"])
def test_a_file_is_not_written_over_a_folder(place, tmp_path, monkeypatch):
    (tmp_path / "here" / "there").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(StoreError, match="expected a file to write, got a folder"):
        write_file(Path(place), b"content")
    if place != "there":
        with pytest.raises(StoreError, match="by its name"):
            write_folder(Path(place), lambda folder: folder.mkdir())
    assert [p.name for p in tmp_path.rglob("*")] == ["here", "there"]


def test_a_folder_that_cannot_be_filled_does_not_appear(tmp_path):
    def fill(folder):
        folder.mkdir()
        (folder / "half").write_text("half")
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        write_folder(tmp_path / "weights", fill)
    assert list(tmp_path.iterdir()) == []
