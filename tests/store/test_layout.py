"""Files that appear whole or not at all; full disks, read-only folders, copies."""

import contextlib
import importlib
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import pytest

from campaign.tiny import config
from versionspace.campaign import Campaign
from versionspace.store import StoreError, backup, campaigns, read, verify
from versionspace.store.layout import Folder, read_arrays, write, write_arrays, write_folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "gvd" / "0"
    with Campaign.create(folder, config()) as campaign:
        campaign.run()
    return folder


@pytest.fixture
def copied(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "copy")


def mounted(path, *options):
    """A small or read-only disk of its own; skips, loudly, where the system does not let us mount one."""
    path.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *options, str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"NOT TESTED, since mounting is not allowed here: {done.stderr.strip()}")
    return path


def rewritten(folder, kind, before, after):
    """As a failing disk or a meddling hand would: the first event of a kind is another than was written."""
    with contextlib.closing(sqlite3.connect(folder / "ledger.sqlite")) as raw:
        raw.execute("DROP TRIGGER never_changed")
        first = "number = (SELECT min(number) FROM events WHERE kind = ?)"
        body = raw.execute(f"SELECT body FROM events WHERE {first}", (kind,)).fetchone()[0]
        assert before in body
        raw.execute(f"UPDATE events SET body = ? WHERE {first}", (body.replace(before, after, 1), kind))
        raw.commit()


@pytest.fixture
def unmount():
    mounts = []
    yield mounts.append
    for path in mounts:
        subprocess.run(["umount", "-l", str(path)], check=False)


def test_arrays_are_the_same_bytes_for_the_same_numbers(tmp_path):
    arrays = {"votes": np.arange(2000, dtype=np.uint8).reshape(4, 500), "ids": np.array(["ab", "cd"])}
    first, second = write_arrays(tmp_path / "a.npz", arrays), write_arrays(tmp_path / "b.npz", arrays)
    assert first == second
    found = read_arrays(tmp_path / "a.npz")
    assert (found["votes"] == arrays["votes"]).all()
    assert found["ids"].tolist() == ["ab", "cd"]
    assert (tmp_path / "a.npz").stat().st_size < 2000


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    write(tmp_path / "x", b"before")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(StoreError, match="room on the disk"):
        write(tmp_path / "x", b"after")
    assert (tmp_path / "x").read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("place", [".", "..", "/", "there"])
def test_a_file_is_not_written_where_a_folder_is(place, tmp_path, monkeypatch):
    (tmp_path / "here" / "there").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(StoreError, match="expected a file to write, got a folder"):
        write(Path(place), b"content")
    if place != "there":
        with pytest.raises(StoreError, match="by its name"):
            write_folder(Path(place), lambda folder: folder.mkdir())
    assert [p.name for p in tmp_path.rglob("*")] == ["here", "there"]


def test_a_folder_that_fails_does_not_appear(tmp_path):
    def fill(folder):
        folder.mkdir()
        (folder / "half").write_text("half")
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        write_folder(tmp_path / "weights", fill)
    assert list(tmp_path.iterdir()) == []


def test_the_layout_is_as_documented(finished):
    found = sorted(p.relative_to(finished).as_posix() for p in finished.rglob("*") if p.is_file())
    rounds = [f"votes/round-{r:04d}.npz" for r in range(1, 5)]
    weights = [f"weights/round-{r:04d}/{name}" for r in (1, 4) for name in ("ensemble.json", "weights.safetensors")]
    assert found == sorted(["campaign.toml", "ledger.sqlite", "lock", "split.npz", *rounds, *weights])


def test_no_pickle_anywhere(finished):
    for path in finished.rglob("*.npz"):
        for array in np.load(path, allow_pickle=False).values():
            assert array.dtype != object


def test_verify_finds_each_kind_of_damage(copied):
    folder = Folder(copied)
    assert verify(copied) == {copied: []}
    good = folder.votes(2).read_bytes()
    folder.votes(2).write_bytes(good[:-1])
    assert verify(copied)[copied] == ["votes/round-0002.npz is not what was written"]
    folder.votes(2).unlink()
    assert "round-0002.npz is missing" in verify(copied)[copied][0]
    folder.votes(2).write_bytes(good)
    (folder.weights(4) / "weights.safetensors").unlink()
    assert "weights.safetensors is missing" in verify(copied)[copied][0]
    folder.split.write_bytes(b"")
    assert any("split.npz" in problem for problem in verify(copied)[copied])
    folder.config.write_text(folder.config.read_text().replace('method = "gvd"', 'method = "ge"'))
    assert any("another method" in problem for problem in verify(copied)[copied])
    folder.ledger.write_bytes(b"not a database at all, " * 100)
    assert verify(copied)[copied]


DAMAGED = [
    ("answered", "{", "x", "JSON in event"),
    ("answered", '"class":', '"xlass":', "nothing named 'class'"),
    ("proposed", '"ids":[', '"ids":7,"x":[', "not iterable"),
    ("measured", '"labels":', '"xabels":', "nothing named 'labels'"),
    ("begun", '"classes":', '"xlasses":', "nothing named 'classes'"),
]


@pytest.mark.parametrize(("kind", "before", "after", "said"), DAMAGED)
def test_a_damaged_event_is_a_sentence_and_hides_nothing_else(kind, before, after, said, finished, tmp_path):
    bad, good = (shutil.copytree(finished, tmp_path / "grid" / "gvd" / seed) for seed in ("0", "1"))
    rewritten(bad, kind, before, after)
    with pytest.raises(StoreError, match=said) as error:
        read(bad)
    assert str(bad / "ledger.sqlite") in str(error.value)
    found = verify(tmp_path / "grid")
    assert found[good] == []
    assert any("was changed after it was written" in problem or said in problem for problem in found[bad])
    backup(tmp_path / "grid", tmp_path / "copy")
    assert verify(tmp_path / "copy")[tmp_path / "copy" / "gvd" / "0"]
    if kind != "measured":  # what a round found before is not needed to go on
        with pytest.raises(StoreError, match=said):
            Campaign.open(bad)


@pytest.mark.parametrize("name", ['"votes_sha256":', '"sets":'])
def test_metrics_that_are_damaged_do_not_keep_verify_from_its_verdict(name, copied, tmp_path):
    rewritten(copied, "measured", name, '"x":')
    assert "(measured) was changed after it was written" in verify(copied)[copied][0]
    backup(copied, tmp_path / "other")


def test_a_backup_of_a_live_campaign_is_whole_and_goes_on_alike(tmp_path):
    with Campaign.create(tmp_path / "live", config()) as campaign:
        oracle = campaign.oracle()
        for proposal in campaign:
            campaign.accept(oracle.answer(proposal.ids), who="simulated")
            if proposal.round == 1:
                backup(tmp_path / "live", tmp_path / "copy")
    assert verify(tmp_path / "copy") == {tmp_path / "copy": []}
    assert not (tmp_path / "copy" / "lock").exists()
    with Campaign.open(tmp_path / "copy") as campaign:
        campaign.run()
    assert read(tmp_path / "copy").rounds[-1].metrics == read(tmp_path / "live").rounds[-1].metrics


class Person:
    """A campaign of digits that a person labels, three rounds old: each round lets the weights before it go."""

    def __init__(self, campaign):
        self.campaign, self.path = campaign, campaign.folder.path
        while self.round < 3:
            self.answer()

    @property
    def round(self):
        return max(self.campaign.state.metrics, default=0)

    def answer(self):
        self.campaign.accept(dict.fromkeys(self.campaign.propose().ids, "3"))

    def go_on(self):
        """Until one more round is committed."""
        before = self.round
        while self.round == before:
            self.answer()


@pytest.fixture
def person(tmp_path):
    changes = ("oracle.kind=person", "cold_start.cap=4", "query.size=3", "budget.total=60", "training.epochs=1")
    with Campaign.create(tmp_path / "live", config(*changes)) as campaign:
        yield Person(campaign)


def once(real, before=lambda: None, after=lambda: None, when=lambda *_: True):
    """A function that does something more, the first time that it is called so."""
    done = []

    def made(*given, **named):
        first = not done and when(*given)
        done.extend([1] * first)
        if first:
            before()
        found = real(*given, **named)
        if first:
            after()
        return found

    return made


def test_a_round_that_ends_during_a_backup_leaves_it_whole(person, tmp_path, monkeypatch):
    module = importlib.import_module("versionspace.store.ledger")
    monkeypatch.setattr(module.Ledger, "copy_to", once(module.Ledger.copy_to, after=person.go_on))
    backup(person.path, tmp_path / "copy")
    assert person.round == 4
    assert verify(tmp_path / "copy") == {tmp_path / "copy": []}
    assert max(read(tmp_path / "copy").state.metrics) == 4


def test_weights_that_go_while_they_are_copied_are_no_error(person, tmp_path, monkeypatch):
    copying = once(shutil.copy2, before=person.go_on, when=lambda source, _: "round-0003" in str(source.parent))
    monkeypatch.setattr(shutil, "copy2", copying)
    backup(person.path, tmp_path / "copy")
    assert person.round == 4
    assert verify(tmp_path / "copy") == {tmp_path / "copy": []}


def test_a_backup_that_rounds_outrun_is_given_up_with_a_sentence(person, tmp_path, monkeypatch):
    module = importlib.import_module("versionspace.store.ledger")
    real = module.Ledger.copy_to
    monkeypatch.setattr(module.Ledger, "copy_to", lambda *given: (real(*given), person.go_on()))
    with pytest.raises(StoreError, match="a new round in each of 5 tries"):
        backup(person.path, tmp_path / "copy")
    assert [p.name for p in tmp_path.iterdir()] == ["live"]


def test_a_round_that_ends_while_it_is_verified_is_no_damage(person, monkeypatch):
    module = importlib.import_module("versionspace.store.verify")
    monkeypatch.setattr(module, "replay", once(module.replay, after=person.go_on))
    assert verify(person.path) == {person.path: []}
    assert person.round == 4
    shutil.rmtree(person.campaign.folder.weights(4))
    monkeypatch.setattr(module, "replay", once(module.replay, after=lambda: person.campaign.add_class("ten")))
    assert "weights.safetensors is missing in round-0004" in verify(person.path)[person.path]


def test_an_answer_that_comes_while_the_ledger_is_verified_is_no_damage(person, monkeypatch):
    module = importlib.import_module("versionspace.store.ledger")
    monkeypatch.setattr(module.Ledger, "events", once(module.Ledger.events, before=person.answer))
    assert verify(person.path) == {person.path: []}


def test_what_a_folder_has_lost_does_not_keep_the_rest_from_being_copied(copied, tmp_path):
    (Folder(copied).weights(4) / "weights.safetensors").unlink()
    backup(copied, tmp_path / "other")
    assert verify(tmp_path / "other")[tmp_path / "other"] == ["weights.safetensors is missing in round-0004"]


def test_a_backup_follows_links_to_other_disks(copied, tmp_path):
    (copied / "weights").rename(tmp_path / "large disk")
    (copied / "weights").symlink_to(tmp_path / "large disk")
    backup(copied, tmp_path / "safe")
    assert verify(tmp_path / "safe") == {tmp_path / "safe": []}
    assert not (tmp_path / "safe" / "weights").is_symlink()


def test_a_backup_never_writes_over_anything(finished, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine").write_text("mine")
    with pytest.raises(StoreError, match="something in it"):
        backup(finished, tmp_path / "there")
    backup(finished.parent.parent, tmp_path / "grid")
    assert [f.path.name for f in campaigns(tmp_path / "grid")] == ["0"]


def test_reading_works_on_a_read_only_disk(copied, tmp_path, unmount):
    before = read(copied)
    disk = mounted(tmp_path / "disk", "--bind", str(copied))
    unmount(disk)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(disk)], check=True)
    assert read(disk).rounds == before.rounds
    assert verify(disk) == {disk: []}
    with pytest.raises(StoreError, match="can only be read"):
        Campaign.open(disk)


def test_a_copy_made_while_it_was_written_to_is_read_whole(tmp_path, unmount):
    with Campaign.create(tmp_path / "live", config()) as campaign:
        campaign.accept(campaign.oracle().answer(campaign.propose().ids))
        shutil.copytree(tmp_path / "live", tmp_path / "copy")  # as a plain cp would, with what the WAL holds
    (tmp_path / "copy" / "ledger.sqlite-shm").unlink()
    assert (tmp_path / "copy" / "ledger.sqlite-wal").stat().st_size > 0
    disk = mounted(tmp_path / "disk", "--bind", str(tmp_path / "copy"))
    unmount(disk)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(disk)], check=True)
    assert read(disk).spent == 10


def test_a_full_disk_is_a_sentence_and_the_campaign_goes_on_when_there_is_room(tmp_path, unmount):
    disk = mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=400k", "tmpfs")
    unmount(disk)
    with pytest.raises(StoreError, match="Make room"), Campaign.create(disk / "c", config()) as campaign:
        campaign.run()
    assert verify(disk / "c") == {disk / "c": []}
    before = read(disk / "c").spent
    assert 0 < before < 25
    subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
    with Campaign.open(disk / "c") as campaign:
        campaign.run()
    with Campaign.create(tmp_path / "plain", config()) as campaign:
        campaign.run()
    assert [r.metrics for r in read(disk / "c").rounds] == [r.metrics for r in read(tmp_path / "plain").rounds]


def test_half_written_files_of_a_killed_process_are_cleared_away(copied):
    (copied / ".split.npz.new").write_bytes(b"half")
    (copied / "weights" / ".round-0003.new").mkdir()
    Folder(copied).clean()
    assert not list(copied.rglob(".*"))


def test_a_folder_that_is_no_campaign_is_a_sentence(tmp_path):
    for way in (campaigns, verify, read):
        with pytest.raises(StoreError, match="versionspace run"):
            way(tmp_path)
