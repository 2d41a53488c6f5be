"""Files and folders that appear complete or not at all."""

import hashlib
import stat
import sys

import pytest

from versionspace.files import UNFINISHED, is_sha256, replacing, replacing_folder, sha256, write_bytes


def unfinished(folder):
    return list(folder.glob(UNFINISHED))


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_is_replaced_when_the_block_ends(tmp_path, durable):
    target = tmp_path / "new folder" / "a.txt"
    for content in ("first", "second"):
        with replacing(target, durable) as temporary:
            temporary.write_text(content)
            assert unfinished(target.parent) == [temporary]
            assert not target.exists() or target.read_text() == "first"
        assert target.read_text() == content
        assert list(target.parent.iterdir()) == [target]


def test_an_open_or_linked_old_file_keeps_its_content(tmp_path):
    """The new file takes over the name of the old one; it does not overwrite it."""
    target = tmp_path / "a.txt"
    target.write_text("old")
    (tmp_path / "link").hardlink_to(target)
    with replacing(target) as temporary:
        temporary.write_text("new")
    assert target.read_text() == "new"
    assert (tmp_path / "link").read_text() == "old"


def test_a_failed_block_leaves_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def write_half():
        with replacing(target) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_block_that_writes_nothing_leaves_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(FileNotFoundError), replacing(target):
        pass
    assert target.read_text() == "old"


def write_folder(target, names, fail=False):
    with replacing_folder(target) as temporary:
        for name in names:
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            (temporary / name).write_text(name)
        if fail:
            raise OSError("disk full")


def content(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    target = tmp_path / "weights"
    write_folder(target, ["a", "b/c"])
    write_folder(target, ["b/d"])
    assert content(target) == {"b/d"}  # nothing of the old folder remains
    assert list(tmp_path.iterdir()) == [target]


def test_a_failed_block_leaves_the_old_folder(tmp_path):
    target = tmp_path / "weights"
    write_folder(target, ["a"])
    with pytest.raises(OSError, match="disk full"):
        write_folder(target, ["b"], fail=True)
    assert content(target) == {"a"}
    assert list(tmp_path.iterdir()) == [target]


def test_write_bytes_returns_the_checksum_of_what_it_wrote(tmp_path):
    path = tmp_path / "a.bin"
    assert write_bytes(path, b"\0content") == sha256(path) == hashlib.sha256(b"\0content").hexdigest()
    assert path.read_bytes() == b"\0content"
    assert is_sha256(sha256(path))
    assert not is_sha256(sha256(path).upper())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits")
def test_a_new_file_does_not_inherit_the_permissions_of_the_old_one(tmp_path):
    path = tmp_path / "token"
    path.write_bytes(b"old")
    path.chmod(0o644)
    write_bytes(path, b"secret", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
