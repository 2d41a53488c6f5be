"""The files that an exported model classifies."""

import pytest

from versionspace.campaign.inference import find_images
from versionspace.errors import InputError


def test_images_in_folders_and_behind_links(tmp_path):
    for file in (
        "photos/b.PNG",
        "photos/a/c.jpg",
        "photos/.hidden/d.png",
        "photos/.e.png",
        "photos/notes.txt",
        "far/f.webp",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    (tmp_path / "photos" / "link").symlink_to(tmp_path / "far", target_is_directory=True)
    (tmp_path / "far" / "back").symlink_to(tmp_path / "photos", target_is_directory=True)
    found = find_images([tmp_path / "photos", tmp_path / "photos" / "notes.txt"])
    names = [file.relative_to(tmp_path / "photos").as_posix() for file in found]
    assert names == ["a/c.jpg", "b.PNG", "link/f.webp", "notes.txt"]


def test_nothing_to_classify_is_an_error(tmp_path):
    with pytest.raises(InputError, match="got a path that does not exist"):
        find_images([tmp_path / "nowhere"])
    with pytest.raises(InputError, match="expected at least one image"):
        find_images([tmp_path])
