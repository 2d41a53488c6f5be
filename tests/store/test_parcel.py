"""Parcels: a copy of a campaign's folder that is updated piece by piece, and is intact at any moment."""

import pytest

from versionspace.store import CampaignFolder, Event, Ledger, StoreError, pack, unpack


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    (folder / "weights" / "round-0001").mkdir(parents=True)
    (folder / "campaign.toml").write_text("config")
    (folder / "weights" / "round-0001" / "w").write_bytes(b"one")
    (folder / "lock").write_text("123")
    (folder / ".hidden.new").write_text("unfinished")
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        ledger.append([Event("begun", 0, {"classes": ["a"]}), Event("split", 0, {"x": 0.1 + 0.2})])
    return folder


def contents(folder):
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if not name.startswith(("ledger", "lock", "."))}


def rows(folder):
    with Ledger.view(CampaignFolder(folder).ledger) as ledger:
        assert ledger.damage() == []
        return ledger.rows()


def test_a_copy_has_the_files_and_the_events(source, tmp_path):
    copy = tmp_path / "copy"
    unpack(pack(source), copy)
    assert contents(copy) == contents(source) == {"campaign.toml": b"config", "weights/round-0001/w": b"one"}
    assert rows(copy) == rows(source)
    assert not (copy / "lock").exists()


def test_a_second_parcel_holds_only_what_changed(source, tmp_path):
    copy = tmp_path / "copy"
    first = pack(source)
    unpack(first, copy)
    (source / "weights" / "round-0001" / "w").unlink()
    (source / "weights" / "round-0001").rmdir()
    (source / "votes").mkdir()
    (source / "votes" / "v").write_bytes(b"two")
    with Ledger.open(source / "ledger.sqlite") as ledger:
        ledger.append([Event("ended", 1, {"why": "budget"})])
    second = pack(source, first.stamps, first.last_event)
    assert set(second.files) == {"votes/v"}
    assert [row[1] for row in second.rows] == ["ended"]
    with Ledger.view(copy / "ledger.sqlite") as reader:  # `status` may read the copy meanwhile
        unpack(second, copy)
        assert len(reader.events()) == 3
    assert contents(copy) == contents(source) == {"campaign.toml": b"config", "votes/v": b"two"}
    assert rows(copy) == rows(source)
    assert not (copy / "weights").exists()


def test_a_campaign_that_has_not_begun_gets_no_ledger(source, tmp_path):
    (source / "ledger.sqlite").unlink()
    unpack(pack(source), tmp_path / "copy")
    assert not (tmp_path / "copy" / "ledger.sqlite").exists()


def test_events_that_do_not_continue_the_copy_are_rejected(source, tmp_path):
    copy = tmp_path / "copy"
    first = pack(source)
    unpack(first, copy)
    for folder, why in ((source, "stop rule"), (copy, "budget")):  # two processes ran the same campaign
        with Ledger.open(folder / "ledger.sqlite") as ledger:
            ledger.append([Event("ended", 1, {"why": why}), Event("reopened", 1, {"total": 5})])
    before = rows(copy)
    with pytest.raises(StoreError, match="expected event 5 of the same campaign, got event 3 of another copy"):
        unpack(pack(source, first.stamps, first.last_event), copy)
    with Ledger.open(source / "ledger.sqlite") as ledger:
        ledger.append([Event("ended", 1, {"why": "budget"})])
    with pytest.raises(StoreError, match="expected event 5 of the same campaign, got event 5 of another copy"):
        unpack(pack(source, first.stamps, 4), copy)
    assert rows(copy) == before
