"""The layout of a campaign's folder, and disks that are full or read-only."""

import shutil
import subprocess

import numpy as np
import pytest

from campaign.tiny import config
from versionspace.campaign import Campaign
from versionspace.store import CampaignFolder, StoreError, campaigns, read_campaign, verify


def test_the_layout_is_as_documented(finished):
    found = sorted(p.relative_to(finished).as_posix() for p in finished.rglob("*") if p.is_file())
    rounds = [f"votes/round-{r:04d}.npz" for r in range(1, 5)]
    weights = [f"weights/round-{r:04d}/{name}" for r in (1, 4) for name in ("ensemble.json", "weights.safetensors")]
    assert found == sorted(["campaign.toml", "ledger.sqlite", "lock", "split.npz", *rounds, *weights])


def test_no_file_needs_pickle(finished):
    for path in finished.rglob("*.npz"):
        for array in np.load(path, allow_pickle=False).values():
            assert array.dtype != object


def test_unfinished_files_of_a_killed_process_are_removed(copied):
    (copied / ".split.npz.new").write_bytes(b"half")
    (copied / "weights" / ".round-0003.new").mkdir()
    CampaignFolder(copied).remove_unfinished()
    assert not list(copied.rglob(".*"))


def test_a_folder_without_a_campaign_is_an_error(tmp_path):
    for function in (campaigns, verify, read_campaign):
        with pytest.raises(StoreError, match="versionspace run"):
            function(tmp_path)


def test_a_read_only_disk_can_be_read(copied, tmp_path, mount):
    before = read_campaign(copied)
    disk = mount(tmp_path / "disk", "--bind", str(copied))
    subprocess.run(["mount", "-o", "remount,bind,ro", str(disk)], check=True)
    assert read_campaign(disk).rounds == before.rounds
    assert verify(disk) == {disk: []}
    with pytest.raises(StoreError, match="got one that is read-only"):
        Campaign.open(disk)


def test_a_plain_copy_of_an_open_campaign_is_read_with_its_wal(tmp_path, mount):
    with Campaign.create(tmp_path / "live", config()) as campaign:
        campaign.accept(campaign.oracle().answer(campaign.propose().ids))
        shutil.copytree(tmp_path / "live", tmp_path / "copy")
    (tmp_path / "copy" / "ledger.sqlite-shm").unlink()
    assert (tmp_path / "copy" / "ledger.sqlite-wal").stat().st_size > 0
    disk = mount(tmp_path / "disk", "--bind", str(tmp_path / "copy"))
    subprocess.run(["mount", "-o", "remount,bind,ro", str(disk)], check=True)
    assert read_campaign(disk).spent == 10


def test_a_campaign_is_resumed_after_a_full_disk_with_the_same_result(tmp_path, mount):
    disk = mount(tmp_path / "disk", "-t", "tmpfs", "-o", "size=400k", "tmpfs")
    with pytest.raises(StoreError, match="Free some space"), Campaign.create(disk / "c", config()) as campaign:
        campaign.run()
    assert verify(disk / "c") == {disk / "c": []}
    before = read_campaign(disk / "c").spent
    assert 0 < before < 25
    subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
    with Campaign.open(disk / "c") as campaign:
        campaign.run()
    with Campaign.create(tmp_path / "plain", config()) as campaign:
        campaign.run()
    interrupted, plain = read_campaign(disk / "c"), read_campaign(tmp_path / "plain")
    assert [r.metrics for r in interrupted.rounds] == [r.metrics for r in plain.rounds]
