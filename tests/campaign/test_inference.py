"""Which files an exported classifier is shown."""

import pytest

from versionspace.campaign.inference import images_in
from versionspace.errors import InputError


def test_images_below_folders_and_links_to_them(tmp_path):
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
    found = images_in([tmp_path / "photos", tmp_path / "photos" / "notes.txt"])
    names = [file.relative_to(tmp_path / "photos").as_posix() for file in found]
    assert names == ["a/c.jpg", "b.PNG", "link/f.webp", "notes.txt"]


def test_nothing_to_classify_is_a_sentence(tmp_path):
    with pytest.raises(InputError, match="nothing there"):
        images_in([tmp_path / "nowhere"])
    with pytest.raises(InputError, match="one image at least"):
        images_in([tmp_path])
