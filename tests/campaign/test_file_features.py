"""Features that are computed straight from the files of a folder, and rounds on them."""

from pathlib import Path

import numpy as np
import pytest

from data.pictures import picture, save
from versionspace.campaign import FileFeatures, computed_from_files, open_dataset, restore_images
from versionspace.config import read_config
from versionspace.data import ExtractedFeatures, read_folder
from versionspace.data.folder import reader
from versionspace.ensemble import Ensemble
from versionspace.features import CachedExtractor, make_extractor
from versionspace.label import label_folder
from versionspace.store import read_arrays


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """Sixty images, bright and dark, in a folder that is too large to be checked first; one of them is damaged."""
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(reader, "CHECKED_FILES", 10)
    for number in range(60):
        save(tmp_path / "photos" / f"{number:02d}.png", picture(4 * number, (20, 16)))
    (tmp_path / "photos" / "bad.png").write_bytes(b"not an image")
    return tmp_path / "photos"


def opened(campaign):
    dataset = open_dataset(campaign.config)
    return restore_images(dataset, read_arrays(campaign.folder.split), allow_missing=True)


def test_only_a_persons_folder_with_an_extractor_is_read_like_this(photos):
    with label_folder(photos, "dark,bright", budget=20, net="heads") as campaign:
        assert computed_from_files(campaign.config)
        assert campaign.images.decoded_on_access
    with label_folder(photos, "dark,bright", budget=20, net="small", campaign=photos.parent / "other") as campaign:
        assert not computed_from_files(campaign.config)
        assert not campaign.images.decoded_on_access
    assert not computed_from_files(read_config("demo"))


def test_they_are_those_of_the_decoded_images_and_each_is_computed_once(photos, monkeypatch):
    with label_folder(photos, "dark,bright", budget=20, net="heads") as campaign:
        images = opened(campaign)
    features = FileFeatures(campaign.config, images, threads=1)
    features.compute(np.arange(len(features.store.ids)))
    side = make_extractor("lite0").side
    whole = read_folder(photos, size=side, cache=photos.parent / "other").train
    expected = CachedExtractor(make_extractor("lite0"), cache=False)(whole.images)
    assert np.array_equal(features.features(features.store.rows(whole.ids)), expected)
    assert not list((photos.parent / "cache" / "folders").rglob("*.npy"))  # no pixels are kept
    again = FileFeatures(campaign.config, images, threads=1)
    monkeypatch.setattr(CachedExtractor, "compute", lambda *_: pytest.fail("computed again"))
    again.compute(np.arange(len(again.store.ids)))
    assert again.ready.sum() == 60


def test_a_damaged_file_is_named_and_left_out_of_every_role(photos):
    with label_folder(photos, "dark,bright", budget=20, net="heads") as campaign:
        images = opened(campaign)
    features = FileFeatures(campaign.config, images, threads=1)
    features.compute(np.arange(len(features.store.ids)))
    ((bad, why),) = features.unreadable.items()
    assert images.files[bad] == "bad.png"
    assert "not a JPEG" in why
    usable = features.campaign_images()
    assert usable.missing == {bad}
    assert bad in images.roles.pool
    assert bad not in usable.roles.pool
    assert len(usable.of("pool")) == len(usable.roles.pool) == 60


def test_images_without_features_have_no_role_but_are_not_missing(photos):
    with label_folder(photos, "dark,bright", budget=20, net="heads") as campaign:
        images = opened(campaign)
    features = FileFeatures(campaign.config, images, threads=1)
    some = images.roles.pool[::3]
    features.compute(features.store.rows(some))
    now = features.campaign_images()
    expected = [i for i in some.tolist() if i not in features.unreadable]
    assert now.roles.pool.tolist() == expected
    assert now.missing == features.unreadable.keys()
    assert set(now.roles.reference) == set(images.roles.reference) & set(expected)
    values = np.arange(1, len(expected) + 1)
    whole = now.expand_to_pool(values)
    assert whole[np.isin(images.roles.pool, expected)].tolist() == values.tolist()
    assert (whole > 0).sum() == len(expected)


def test_a_campaign_runs_to_its_end_on_them_and_its_model_takes_files(photos, tmp_path):
    with label_folder(photos, "dark,bright", budget=20, net="heads") as campaign:
        for proposal in campaign:
            assert not any(path.name == "bad.png" for path in proposal.paths if proposal.purpose != "audit")
            shown = {i: "bright" if int(Path(p).stem) >= 30 else "dark"
                     for i, p in zip(proposal.ids, proposal.paths, strict=True) if p.stem != "bad"}  # fmt: skip
            campaign.accept(shown)
            if len(shown) < len(proposal.ids):
                campaign.accept({i: None for i in proposal.ids if i not in shown})
        assert isinstance(campaign.runner.images.dataset.train.images, ExtractedFeatures)
        rest = {Path(one.item).name: one for one in campaign.predict()}
        from_files = {one.item.name: one for one in campaign.model().predict(photos)}
    assert campaign.state.ended == "budget"
    assert "bad.png" not in rest
    for name, one in rest.items():
        assert one.name == from_files[name].name
        assert one.probability == pytest.approx(from_files[name].probability, abs=1e-6)
    saved = Ensemble.load(campaign.folder.final_weights if campaign.state.final else campaign.folder.weights(1))
    assert saved._image == (160, 160, 3)
