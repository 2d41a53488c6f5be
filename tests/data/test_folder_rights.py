"""Folders and tables that one may not read: a sentence, not a traceback."""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image

from versionspace import data
from versionspace.errors import InputError

pytestmark = pytest.mark.skipif(not hasattr(os, "seteuid"), reason="rights are other ones there")
NOBODY = 65534


@contextmanager
def closed(path, mode):
    """A path with these rights, for somebody who is not root."""
    before, root = path.stat().st_mode, os.geteuid() == 0
    path.chmod(mode)
    try:
        if root:
            os.seteuid(NOBODY)
        yield
    finally:
        if root:
            os.seteuid(0)
        path.chmod(before)


@pytest.fixture
def photos():
    """Images in train and val, with a table, where everybody may look. (pytest's own folder is its owner's alone.)"""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        root = Path(place) / "above" / "photos"
        for number, part in enumerate(("train", "val")):
            (root / part / "cat").mkdir(parents=True)
            Image.new("L", (4, 4), number).save(root / part / "cat" / "1.png")
        (root / "val" / "labels.csv").write_text("file,label\ncat/1.png,cat\n")
        yield root


@pytest.mark.parametrize("mode", [0o000, 0o111, 0o444])
@pytest.mark.parametrize("which", [".", "train"])
@pytest.mark.parametrize("read", [data.load, data.folder.read])
def test_a_folder_that_may_not_be_looked_into(photos, read, which, mode):
    path = (photos / which).resolve()
    with closed(path, mode), pytest.raises(InputError) as said:
        read(photos, size=4)
    assert str(said.value).startswith(f"{path}")
    assert "expected a folder that may be looked into, got Permission denied. Ask whoever owns it" in str(said.value)


@pytest.mark.parametrize("read", [data.load, data.folder.read])
def test_a_folder_in_one_that_may_not_be_looked_into(photos, read):
    with closed(photos.parent, 0o000), pytest.raises(InputError, match="photos: expected a folder that may be looked"):
        read(photos, size=4)


@pytest.mark.parametrize("part", ["", "val"])
def test_a_table_that_may_not_be_read(photos, part):
    table = photos / part / "labels.csv"
    table.write_text("file,label\n")
    with closed(table, 0o000), pytest.raises(InputError) as said:
        data.load(photos, size=4)
    assert str(said.value).startswith(f"{table}: expected a table that may be read, got Permission denied. Ask whoever")


def test_a_campaign_and_its_images_in_a_folder_that_may_not_be_looked_into(photos):
    from versionspace.campaign.datasets import open_dataset
    from versionspace.config import read_text
    from versionspace.store import StoreError, campaigns

    wanted = read_text(
        f'[data]\nname = "{photos}"\nclasses = ["cat"]\n[budget]\ntotal = 5\n[oracle]\nkind = "person"\n'
    )
    with closed(photos.parent, 0o000):
        with pytest.raises(InputError, match="expected a folder that may be looked into"):
            open_dataset(wanted)
        with pytest.raises(StoreError, match="photos: expected"):
            campaigns(photos)
