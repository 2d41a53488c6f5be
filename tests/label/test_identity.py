"""What browsers know a campaign by stays the same, wherever its folder lies."""

import os
import shutil
import stat

import pytest

from versionspace.label.auth import FILE, Identity, identity, save_identity


def test_it_is_made_once_kept_for_its_owner_and_moves_with_the_folder(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    found = identity(here)
    assert (here / FILE).stat().st_mode & 0o077 == 0
    assert identity(here) == found
    save_identity(here, Identity(found.token, 4321, found.campaign))
    shutil.copytree(here, tmp_path / "copy")
    here.rename(there)
    assert identity(there) == identity(tmp_path / "copy") == Identity(found.token, 4321, found.campaign)
    assert (there / FILE).stat().st_mode & 0o077 == 0
    here.mkdir()
    assert identity(here).campaign != found.campaign, "another campaign at the same place is another one"


def test_nobody_else_may_read_it_while_it_is_written(tmp_path, monkeypatch):
    seen = []
    real = os.fsync

    def fsync(descriptor):
        seen.append(os.fstat(descriptor).st_mode)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    before = os.umask(0o022)
    try:
        identity(tmp_path)
    finally:
        os.umask(before)
    written = [mode for mode in seen if stat.S_ISREG(mode)]
    assert written
    assert not any(mode & 0o077 for mode in written)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"7", b'{"port": 1}', b'{"token": "t", "port": "x"}', b"\xff"])
def test_a_damaged_file_is_made_anew(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    found = identity(tmp_path)
    assert (found.port, len(found.token), len(found.campaign)) == (0, 32, 16)
    assert identity(tmp_path) == found
