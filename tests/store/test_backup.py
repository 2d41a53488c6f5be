"""Backups are consistent, even of a running campaign."""

import shutil

import pytest

from campaign.tiny import config
from store.interference import once
from versionspace.campaign import Campaign
from versionspace.store import CampaignFolder, Ledger, StoreError, backup, campaigns, read_campaign, verify


def test_a_backup_of_a_running_campaign_is_complete_and_resumes_with_the_same_result(tmp_path):
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
    assert read_campaign(tmp_path / "copy").rounds[-1].metrics == read_campaign(tmp_path / "live").rounds[-1].metrics


def test_a_round_committed_during_a_backup_is_copied_too(person, tmp_path, monkeypatch):
    monkeypatch.setattr(Ledger, "copy_to", once(Ledger.copy_to, after=person.finish_round))
    backup(person.path, tmp_path / "copy")
    assert person.round == 4
    assert verify(tmp_path / "copy") == {tmp_path / "copy": []}
    assert max(read_campaign(tmp_path / "copy").state.metrics) == 4


def test_weights_deleted_while_they_are_copied_are_not_an_error(person, tmp_path, monkeypatch):
    copy = once(shutil.copy2, before=person.finish_round, when=lambda source, _: "round-0003" in str(source.parent))
    monkeypatch.setattr(shutil, "copy2", copy)
    backup(person.path, tmp_path / "copy")
    assert person.round == 4
    assert verify(tmp_path / "copy") == {tmp_path / "copy": []}


def test_a_backup_gives_up_if_every_attempt_is_outrun_by_a_round(person, tmp_path, monkeypatch):
    real = Ledger.copy_to
    monkeypatch.setattr(Ledger, "copy_to", lambda *given: (real(*given), person.finish_round()))
    with pytest.raises(StoreError, match="a new round in each of 5 attempts"):
        backup(person.path, tmp_path / "copy")
    assert [p.name for p in tmp_path.iterdir()] == ["live"]


def test_files_that_the_campaign_has_lost_do_not_prevent_a_backup(copied, tmp_path):
    (CampaignFolder(copied).weights(4) / "weights.safetensors").unlink()
    backup(copied, tmp_path / "other")
    assert verify(tmp_path / "other")[tmp_path / "other"] == ["weights.safetensors is missing in round-0004"]


def test_links_to_other_disks_are_followed(copied, tmp_path):
    (copied / "weights").rename(tmp_path / "large disk")
    (copied / "weights").symlink_to(tmp_path / "large disk")
    backup(copied, tmp_path / "safe")
    assert verify(tmp_path / "safe") == {tmp_path / "safe": []}
    assert not (tmp_path / "safe" / "weights").is_symlink()


def test_a_backup_never_overwrites_anything(finished, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine").write_text("mine")
    with pytest.raises(StoreError, match="got one that is not empty"):
        backup(finished, tmp_path / "there")
    backup(finished.parent.parent, tmp_path / "grid")
    assert [f.path.name for f in campaigns(tmp_path / "grid")] == ["0"]
