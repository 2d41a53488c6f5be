"""Damage that `verify` reports, and changes of a running campaign that it does not."""

import importlib
import shutil

import pytest

from store.interference import once, rewrite_event
from versionspace.campaign import Campaign
from versionspace.store import CampaignFolder, Ledger, StoreError, backup, read_campaign, verify


def test_each_kind_of_damage_is_found(copied):
    folder = CampaignFolder(copied)
    assert verify(copied) == {copied: []}
    good = folder.votes(2).read_bytes()
    folder.votes(2).write_bytes(good[:-1])
    assert verify(copied)[copied] == ["votes/round-0002.npz differs from what was written"]
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


@pytest.mark.parametrize(("kind", "before", "after", "message"), DAMAGED)
def test_a_damaged_event_is_named_and_the_rest_of_a_grid_is_verified(kind, before, after, message, finished, tmp_path):
    bad, good = (shutil.copytree(finished, tmp_path / "grid" / "gvd" / seed) for seed in ("0", "1"))
    rewrite_event(bad, kind, before, after)
    with pytest.raises(StoreError, match=message) as error:
        read_campaign(bad)
    assert str(bad / "ledger.sqlite") in str(error.value)
    problems = verify(tmp_path / "grid")
    assert problems[good] == []
    assert any("was changed after it was written" in problem or message in problem for problem in problems[bad])
    backup(tmp_path / "grid", tmp_path / "copy")
    assert verify(tmp_path / "copy")[tmp_path / "copy" / "gvd" / "0"]
    if kind != "measured":  # the metrics of earlier rounds are not required to resume
        with pytest.raises(StoreError, match=message):
            Campaign.open(bad)


@pytest.mark.parametrize("name", ['"votes_sha256":', '"sets":'])
def test_damaged_metrics_are_found_and_copied(name, copied, tmp_path):
    rewrite_event(copied, "measured", name, '"x":')
    assert "(measured) was changed after it was written" in verify(copied)[copied][0]
    backup(copied, tmp_path / "other")


def test_a_round_committed_during_verification_is_not_damage(person, monkeypatch):
    module = importlib.import_module("versionspace.store.verify")
    monkeypatch.setattr(module, "replay", once(module.replay, after=person.finish_round))
    assert verify(person.path) == {person.path: []}
    assert person.round == 4
    shutil.rmtree(person.campaign.folder.weights(4))
    monkeypatch.setattr(module, "replay", once(module.replay, after=lambda: person.campaign.add_class("ten")))
    assert "weights.safetensors is missing in round-0004" in verify(person.path)[person.path]


def test_an_answer_committed_during_verification_is_not_damage(person, monkeypatch):
    monkeypatch.setattr(Ledger, "events", once(Ledger.events, before=person.answer))
    assert verify(person.path) == {person.path: []}
