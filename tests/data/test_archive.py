"""Unsafe and damaged archives are rejected with a reason, and nothing is written outside the folder."""

import random
import tarfile

import pytest

from data.published import tar
from versionspace.data.archive import unpack
from versionspace.data.errors import FormatError


def link(name, target, kind=tarfile.SYMTYPE):
    entry = tarfile.TarInfo(name)
    entry.type = kind
    entry.linkname = target
    return entry


def test_wanted_members_are_extracted(tmp_path):
    tar(tmp_path / "a.tar.gz", [("x/one", b"1"), ("x/other", b"0"), ("x/two", b"22")])
    (tmp_path / "out").mkdir()
    found = unpack(tmp_path / "a.tar.gz", tmp_path / "out", wanted=["one", "two"])
    assert {name: path.read_bytes() for name, path in found.items()} == {"one": b"1", "two": b"22"}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["one", "two"]


@pytest.mark.parametrize(
    "evil",
    [
        ("../evil", b"!"),
        ("x/../../evil", b"!"),
        ("/tmp/evil", b"!"),
        ("..\\evil", b"!"),
        ("C:\\evil", b"!"),
        link("one", "/etc/passwd"),
        link("x", ".."),
        link("one", "../evil", tarfile.LNKTYPE),
        link("device", "", tarfile.CHRTYPE),
    ],
    ids=lambda evil: str(getattr(evil, "name", evil[0] if isinstance(evil, tuple) else evil)),
)
def test_unsafe_members_are_rejected(tmp_path, evil):
    tar(tmp_path / "a.tar.gz", [evil, ("x/one", b"1")])
    out = tmp_path / "deep" / "out"
    out.mkdir(parents=True)
    with pytest.raises(FormatError, match="a.tar.gz: expected only regular files and folders in the archive"):
        unpack(tmp_path / "a.tar.gz", out, wanted=["one"])
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.tar.gz", "deep", "out"]


def test_two_members_with_the_same_name_are_rejected(tmp_path):
    tar(tmp_path / "a.tar.gz", [("x/one", b"1"), ("y/one", b"2"), ("two", b"")])
    (tmp_path / "out").mkdir()
    with pytest.raises(FormatError, match="two members called one"):
        unpack(tmp_path / "a.tar.gz", tmp_path / "out", wanted=["one", "two"])


def test_a_missing_member_is_reported(tmp_path):
    tar(tmp_path / "a.tar.gz", [("x/one", b"1")])
    (tmp_path / "out").mkdir()
    with pytest.raises(FormatError, match="got no member called two"):
        unpack(tmp_path / "a.tar.gz", tmp_path / "out", wanted=["one", "two"])


@pytest.mark.parametrize("keep", [0, 10, 3000, 90_000])
def test_a_truncated_archive_is_reported(tmp_path, keep):
    noise = random.Random(0).randbytes(100_000)
    tar(tmp_path / "a.tar.gz", [("one", noise[::-7]), ("two", noise)])
    (tmp_path / "a.tar.gz").write_bytes((tmp_path / "a.tar.gz").read_bytes()[:keep])
    (tmp_path / "out").mkdir()
    with pytest.raises(FormatError, match="a.tar.gz: expected"):
        unpack(tmp_path / "a.tar.gz", tmp_path / "out", wanted=["one", "two"])
