"""Folders of images that hold links: followed where they lead somewhere, listed where they do not."""

import os

import pytest
from test_folder import save

from versionspace.data import read_folder
from versionspace.data.dataset import Skipped
from versionspace.errors import InputError


def test_a_class_folder_may_be_a_link(tmp_path):
    save(tmp_path / "elsewhere" / "a.png")
    save(tmp_path / "elsewhere" / "deep" / "b.png")
    save(tmp_path / "photos" / "dog" / "1.png")
    (tmp_path / "photos" / "cat").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    found = read_folder(tmp_path / "photos")
    assert found.classes == ("cat", "dog")
    assert found.train.files == ("cat/a.png", "cat/deep/b.png", "dog/1.png")
    assert found.train.labels.tolist() == [0, 0, 1]
    assert found.report.skipped == ()


def test_a_part_may_be_a_link(tmp_path):
    save(tmp_path / "elsewhere" / "cat" / "a.png")
    save(tmp_path / "photos" / "train" / "cat" / "1.png")
    (tmp_path / "photos" / "test").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert read_folder(tmp_path / "photos").test.files == ("test/cat/a.png",)


@pytest.mark.parametrize("to", ["..", "../cat", "../../photos", "../.."])
def test_a_link_that_leads_in_a_circle_is_listed(tmp_path, to):
    save(tmp_path / "photos" / "cat" / "1.png")
    (tmp_path / "photos" / "cat" / "round").symlink_to(to, target_is_directory=True)
    found = read_folder(tmp_path / "photos")
    assert found.train.files == ("cat/1.png",)
    name = "cat/round/photos" if to == "../.." else "cat/round"
    assert found.report.skipped == (Skipped(name, "leads back to a folder that it lies in"),)


@pytest.mark.parametrize("to", ["nowhere", "bird"])
def test_a_link_that_leads_nowhere_is_listed(tmp_path, to):
    save(tmp_path / "cat" / "1.png")
    (tmp_path / "bird").symlink_to(to)
    save(tmp_path / ".hidden" / "2.png")
    (tmp_path / ".bird").symlink_to("nowhere")
    found = read_folder(tmp_path)
    assert found.train.files == ("cat/1.png",)
    assert found.report.skipped == (Skipped("bird", "a link that leads nowhere"),)


def test_where_there_is_nothing_else_it_is_named(tmp_path):
    (tmp_path / "cat").symlink_to("nowhere")
    with pytest.raises(InputError, match="got a folder without any; cat: a link that leads nowhere"):
        read_folder(tmp_path)


def test_in_a_part_it_is_named_with_the_part(tmp_path):
    save(tmp_path / "train" / "cat" / "1.png")
    (tmp_path / "train" / "dog").symlink_to("nowhere")
    assert read_folder(tmp_path).report.skipped == (Skipped("train/dog", "a link that leads nowhere"),)


def test_two_links_to_one_folder_are_two_classes_in_conflict(tmp_path):
    save(tmp_path / "elsewhere" / "a.png")
    for name in ("cat", "dog"):
        (tmp_path / "photos").mkdir(exist_ok=True)
        (tmp_path / "photos" / name).symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert read_folder(tmp_path / "photos").report.conflicts[0].classes == ("cat", "dog")


def test_a_folder_that_may_not_be_opened_is_listed(tmp_path, monkeypatch):
    for name in ("cat/1.png", "dog/2.png"):
        save(tmp_path / name)
    real = os.scandir

    def refused(path):
        if str(path).endswith("dog"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refused)
    assert read_folder(tmp_path).report.skipped == (Skipped("dog", "cannot be opened: Permission denied"),)
