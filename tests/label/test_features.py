"""Labelling a folder of images with features that were computed elsewhere."""

import logging
import shutil

import numpy as np
import pytest
from PIL import Image

import versionspace as vs
from versionspace import data
from versionspace.campaign import export_labels
from versionspace.errors import InputError
from versionspace.label.service import LabelService
from versionspace.label.trainer import Trainer
from versionspace.store import StoreError, read_campaign

CLASSES = ["dark", "bright"]


@pytest.fixture
def photos(tmp_path):
    """Write forty grey images, and features of all but one whose second number says which class they are."""
    (tmp_path / "photos" / "in").mkdir(parents=True)
    names = [f"in/{i}.png" for i in range(40)]
    for i, name in enumerate(names):
        Image.fromarray(np.full((8, 8), 6 * i, np.uint8)).save(tmp_path / "photos" / name)
    vectors = np.array([[1.0, i % 2, 0.5] for i in range(1, 40)], np.float16)
    np.save(tmp_path / "emb.npy", vectors)
    (tmp_path / "names.txt").write_text("\n".join(names[1:]) + "\n")
    return tmp_path / "photos"


def begin(photos, **options):
    given = {"features": photos.parent / "emb.npy", "ids": photos.parent / "names.txt"} | options
    return vs.label_folder(photos, CLASSES, budget=24, **given)


def answer(proposal):
    """The class follows from the features and not from the pixels."""
    return {
        i: CLASSES[int(file.split("/")[1].split(".")[0]) % 2]
        for i, file in zip(proposal.ids, proposal.files, strict=True)
    }


def test_the_model_learns_the_given_features(photos, caplog):
    with caplog.at_level(logging.WARNING), begin(photos) as campaign:
        assert "1 image has no features and is left out: in/0.png." in caplog.text
        assert (campaign.config.ensemble.net, campaign.config.data.size) == ("heads", 32)
        assert campaign.config.data.features == str(photos.parent / "emb.npy")
        assert campaign.images.roles.total == 39
        for proposal in campaign:
            campaign.accept(answer(proposal))
        assert campaign.state.metrics[max(campaign.state.metrics)].audit.accuracy == 1
        folder = campaign.folder.path
    (photos.parent / "emb.npy").unlink()  # exports need the images alone
    exported = export_labels(read_campaign(folder), "imagefolder", photos.parent / "export")
    assert sorted(path.name for path in exported.iterdir()) == ["bright", "dark"]
    assert all(int(path.stem.removeprefix("in__")) % 2 for path in (exported / "bright").iterdir())


def test_the_trainer_and_the_page_use_the_vectors(photos):
    with begin(photos) as campaign:
        service = LabelService(campaign)
        for image in [*service.covering.choose(2)]:
            file = campaign.dataset.train.files[campaign.dataset.train.rows([image])[0]]
            vector = campaign.dataset.train.take([image]).images[0]
            assert vector[1] == int(file.split("/")[1].split(".")[0]) % 2
        assert len({tuple(campaign.dataset.train.take([i]).images[0]) for i in service.covering.choose(2)}) == 2
        proposal = campaign.propose()
        campaign.accept(answer(proposal))
        proposal = campaign.propose()
        campaign.accept(answer(proposal))
        result = Trainer(campaign.folder.path, lambda message: None).round(4)
        assert result.events[0].kind == "measured"


def test_files_may_be_moved_but_not_changed(photos):
    with begin(photos) as campaign:
        campaign.accept(answer(campaign.propose()))
        folder = campaign.folder.path
    elsewhere = photos.parent / "elsewhere"
    elsewhere.mkdir()
    for name in ("emb.npy", "names.txt"):
        shutil.move(photos.parent / name, elsewhere / name)
    with pytest.raises(
        InputError, match=r"emb.npy: expected the file .* got no file there. .* --features FILE`. Labels are"
    ):
        vs.label_folder(photos)
    moved = {"features": elsewhere / "emb.npy", "ids": elsewhere / "names.txt"}
    with vs.label_folder(photos, **moved) as campaign:
        assert campaign.state.spent() > 0
    with vs.label_folder(photos) as campaign:
        assert campaign.config.data.ids == str(elsewhere / "names.txt")
    np.save(elsewhere / "emb.npy", np.load(elsewhere / "emb.npy") + np.float16(1))
    with pytest.raises(
        StoreError, match="emb.npy: expected the features that the campaign began with, got a file with an"
    ):
        vs.label_folder(photos)
    assert folder.exists()


def test_ids_may_be_in_the_features_file(photos):
    names = (photos.parent / "names.txt").read_text().split()
    np.savez(photos.parent / "emb.npz", features=np.load(photos.parent / "emb.npy"), ids=np.array(names))
    with begin(photos, features=photos.parent / "emb.npz", ids=None) as campaign:
        assert campaign.dataset.train.shape == (1, 1, 3)


def test_what_cannot_be_used_is_refused(photos):
    with pytest.raises(InputError, match="--ids: expected nothing without --features"):
        begin(photos, features=None)
    with pytest.raises(
        InputError, match=r"emb.npy: expected the name of the image of each row, got features without names"
    ):
        begin(photos, ids=None)
    with pytest.raises(InputError, match="ensemble.net: expected heads, since .* got small, which sees pixels"):
        begin(photos, net="small")
    with pytest.raises(
        InputError, match=r"emb.npy: expected a folder of images, which are shown .* got a features file"
    ):
        vs.label_folder(photos.parent / "emb.npy", CLASSES)
    assert not list(photos.parent.glob("*.versionspace"))
    with vs.label_folder(photos, CLASSES, budget=24, net="small") as campaign:
        campaign.propose()
    with pytest.raises(InputError, match="--features: expected no change for the campaign"):
        begin(photos)
    assert data.load(photos).train.shape == (64, 64, 3)
