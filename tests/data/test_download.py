"""Downloads from a local server that interrupts transfers."""

import hashlib
import random

import pytest

from versionspace.data import download as module
from versionspace.data.download import download
from versionspace.data.errors import ChecksumError, SourceError

CONTENT = random.Random(0).randbytes(300_000)
SUM = ("sha256:" + hashlib.sha256(CONTENT).hexdigest(),)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(module.time, "sleep", lambda _: None)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def offset(asked):
    return int(asked.removeprefix("bytes=").removesuffix("-"))


def test_a_file_is_downloaded(web, tmp_path):
    web.files["x.gz"] = CONTENT
    download(web.base + "x.gz", tmp_path / "x.gz", SUM)
    assert (tmp_path / "x.gz").read_bytes() == CONTENT
    assert names(tmp_path) == ["x.gz"]


def test_a_broken_transfer_is_resumed_where_it_broke(web, tmp_path):
    web.files["x"] = CONTENT
    web.cuts = [100_000, 60_000]
    download(web.base + "x", tmp_path / "x", SUM)
    assert (tmp_path / "x").read_bytes() == CONTENT
    first, second, third = (asked for _, asked in web.asked)
    assert first is None
    assert 100_000 - module._CHUNK_BYTES < offset(second) <= 100_000
    assert offset(second) + 60_000 - module._CHUNK_BYTES < offset(third) <= offset(second) + 60_000


def test_a_server_without_range_support_restarts_the_transfer(web, tmp_path):
    web.files["x"] = CONTENT
    web.ranges = False
    web.cuts = [100_000]
    download(web.base + "x", tmp_path / "x", SUM)
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_a_failed_transfer_leaves_no_file_and_the_next_run_resumes_it(web, tmp_path):
    web.files["x"] = CONTENT
    web.cuts = [40_000] * module.ATTEMPTS
    with pytest.raises(SourceError, match="/x: expected the file, got"):
        download(web.base + "x", tmp_path / "x", SUM)
    assert names(tmp_path) == ["x.part"]
    kept = (tmp_path / "x.part").stat().st_size
    assert kept > 100_000
    web.asked.clear()
    download(web.base + "x", tmp_path / "x", SUM)
    assert web.asked == [("/x", f"bytes={kept}-")]
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert names(tmp_path) == ["x"]


def test_a_wrong_checksum_is_reported_and_leaves_no_file(web, tmp_path):
    web.files["x"] = CONTENT[:-1] + b"?"
    with pytest.raises(ChecksumError, match="x: expected sha256:"):
        download(web.base + "x", tmp_path / "x", SUM)
    assert names(tmp_path) == []


def test_a_partial_download_of_another_file_is_discarded(web, tmp_path):
    web.files["x"] = CONTENT
    (tmp_path / "x.part").write_bytes(b"z" * 1000)
    download(web.base + "x", tmp_path / "x", SUM)
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert [asked for _, asked in web.asked] == ["bytes=1000-", None]


def test_a_complete_partial_download_is_used(web, tmp_path):
    web.files["x"] = CONTENT
    (tmp_path / "x.part").write_bytes(CONTENT)
    download(web.base + "x", tmp_path / "x", SUM)
    assert names(tmp_path) == ["x"]


def test_a_partial_download_longer_than_the_file_is_discarded(web, tmp_path):
    web.files["x"] = CONTENT
    (tmp_path / "x.part").write_bytes(CONTENT + b"more")
    download(web.base + "x", tmp_path / "x", SUM)
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_a_missing_file_is_requested_once(web, tmp_path):
    with pytest.raises(SourceError, match="404"):
        download(web.base + "x", tmp_path / "x", SUM)
    assert len(web.asked) == 1
    assert names(tmp_path) == []


def test_a_refused_connection_is_reported_in_plain_words(web, tmp_path):
    import socket

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/x"
        with pytest.raises(SourceError, match="got connection refused"):
            download(address, tmp_path / "x", SUM)


def test_a_stalled_server_times_out(tmp_path, monkeypatch):
    import socket

    monkeypatch.setattr(module, "READ_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(SourceError, match="no data for 0.2 s"):
            download(f"http://127.0.0.1:{silent.getsockname()[1]}/x", tmp_path / "x", SUM)


def test_a_progress_bar_is_drawn_on_request(web, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    web.files["x"] = CONTENT
    download(web.base + "x", tmp_path / "x", SUM)
    assert capsys.readouterr().err == ""
    download(web.base + "x", tmp_path / "y", SUM, show=True)
    assert "y" in capsys.readouterr().err
