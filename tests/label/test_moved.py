"""A person's campaign resumes after an upgrade, and after its folders were moved."""

import logging
import shutil
from dataclasses import replace

import pytest

import versionspace as vs
from versionspace.campaign import environment as module
from versionspace.campaign.campaign import Campaign
from versionspace.ensemble import settings as sizes
from versionspace.errors import InputError
from versionspace.label.trainer import Trainer
from versionspace.store import Ledger, StoreError, read_campaign


def resumed(folder):
    with Ledger.view(folder / "ledger.sqlite") as ledger:
        return [event.environment for event in ledger.events() if event.kind == "resumed"]


def test_changed_versions_are_recorded_and_warned_about_once(folder, monkeypatch, caplog):
    kept = folder.campaign(60)
    with Campaign.open(kept) as campaign:
        campaign.accept({i: folder.truth[i] for i in campaign.propose().ids})
    real = module._version
    monkeypatch.setattr(module, "_version", lambda name: "9.9" if name == "torch" else real(name))
    monkeypatch.setitem(sizes.SIZES, "small", replace(sizes.SIZES["small"], images=7))
    with caplog.at_level(logging.WARNING), vs.label_folder(folder.photos) as campaign:
        assert f"torch {real('torch')} before, 9.9 now" in caplog.text
        assert campaign.state.spent() == 10
    assert resumed(kept)[-1]["versions"]["torch"] == "9.9"
    assert resumed(kept)[-1]["sizes"]["images"] == 7
    caplog.clear()
    with caplog.at_level(logging.WARNING), vs.label_folder(campaign=kept) as campaign:
        assert campaign.propose().purpose == "cold start"
    assert "9.9" not in caplog.text


def test_an_upgrade_after_the_end_is_recorded_too(folder, monkeypatch):
    kept = folder.campaign(20)
    with Campaign.open(kept) as campaign:
        for proposal in campaign:
            campaign.accept({i: folder.truth[i] for i in proposal.ids})
    vs.label_folder(folder.photos).close()
    assert resumed(kept) == []
    real = module._version
    monkeypatch.setattr(module, "_version", lambda name: "9.9" if name == "numpy" else real(name))
    vs.label_folder(folder.photos, budget=30).close()
    assert [found["versions"]["numpy"] for found in resumed(kept)] == ["9.9"]


def test_a_changed_network_is_refused(folder):
    kept = folder.campaign(60)
    Campaign.open(kept).close()
    path = kept / "campaign.toml"
    path.write_text(path.read_text().replace('net = "small"', 'net = "conv2"'))
    with pytest.raises(StoreError, match="net: expected small"):
        Campaign.open(kept)


def test_photos_and_campaign_may_be_moved_together(folder, tmp_path):
    with Campaign.open(folder.campaign(60)) as campaign:
        first = campaign.propose()
        campaign.accept({first.ids[0]: "1"})
    place = tmp_path / "elsewhere"
    place.mkdir()
    photos = folder.photos.rename(place / "photos")
    kept = campaign.folder.path.rename(place / "photos.versionspace")
    with pytest.raises(InputError, match="no folder there. Put it back, or pass its new location: `versionspace label"):
        vs.label_folder(campaign=kept)
    with vs.label_folder(photos) as campaign:
        assert campaign.propose().ids == first.ids[1:]
        assert campaign.state.missing == frozenset()
    assert resumed(kept)[-1]["images"] == str(photos)
    assert read_campaign(kept).config.data.name == str(photos)
    with vs.label_folder(campaign=kept) as campaign:
        assert campaign.state.spent() == 1
    assert Trainer(kept, lambda news: None).runner.images.missing == frozenset(), "the trainer finds them too"


def test_photos_may_be_moved_before_anything_was_asked(folder, tmp_path):
    kept = folder.campaign(60)
    photos = folder.photos.rename(tmp_path / "elsewhere")
    with vs.label_folder(photos, campaign=kept) as campaign:
        assert campaign.propose().purpose == "audit"
    assert read_campaign(kept).config.data.name == str(photos)


def test_the_given_folder_is_used_even_if_the_old_one_still_exists(folder, tmp_path):
    kept = folder.campaign(60)
    Campaign.open(kept).close()
    new = shutil.copytree(folder.photos, tmp_path / "copy")
    extra = min(new.iterdir())
    extra.unlink()
    with vs.label_folder(new, campaign=kept) as campaign:
        assert campaign.config.data.name == str(new)
        assert len(campaign.state.missing) == 1
    link = tmp_path / "link"
    link.symlink_to(new)
    with vs.label_folder(link, campaign=kept) as campaign:
        assert campaign.config.data.name == str(new), "a link to the same folder"


def test_a_folder_with_other_images_is_refused_and_nothing_is_written(folder, tmp_path):
    kept = folder.campaign(60)
    Campaign.open(kept).close()
    other = tmp_path / "other"
    other.mkdir()
    for number, file in enumerate(sorted(folder.photos.iterdir())):
        (other / file.name).write_bytes(file.read_bytes() + (b"" if number < 5 else b"\0"))
    before = (kept / "campaign.toml").read_bytes(), (kept / "ledger.sqlite").read_bytes()
    with pytest.raises(InputError, match=f"the 120 images of this campaign, got 5 of them in the folder {other}"):
        vs.label_folder(other, campaign=kept)
    assert before == ((kept / "campaign.toml").read_bytes(), (kept / "ledger.sqlite").read_bytes())
