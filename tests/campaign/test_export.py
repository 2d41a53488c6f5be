"""Exports: class folders with unique names and unchanged originals, damaged splits, the right round's model."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from campaign.tiny import class_folders, config, of_folder
from versionspace import data
from versionspace.campaign import Campaign
from versionspace.campaign.export import export_labels, export_model, exported_labels
from versionspace.config import parse_config
from versionspace.errors import InputError
from versionspace.store import StoreError, read_campaign

TOML = """
[data]
name = "{photos}"
classes = {classes}
size = 8
channels = 1
[cold_start]
size = 4
[budget]
total = 10
[oracle]
kind = "person"
"""


def labelled(place, files, classes, answers):
    """Return the record of a campaign on a folder of images that were all asked for at once and answered."""
    pixels = data.load("digits").train.images[..., 0]
    for i, file in enumerate(files):
        path = place / "photos" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.array(pixels[i])).save(path)
    config = parse_config(TOML.format(photos=place / "photos", classes=list(classes)), "photos")
    with Campaign.create(place / "c", config) as campaign:
        proposal = campaign.propose()
        campaign.accept({i: answers[file] for i, file in zip(proposal.ids, proposal.files, strict=True)})
    return read_campaign(place / "c")


FILES = ("trip/a.png", "trip__a.png", "b.png", "Trip__A.png")


@pytest.fixture
def trip(tmp_path):
    return labelled(tmp_path, FILES, ("even", "odd"), dict.fromkeys(FILES, "even"))


def test_files_with_clashing_names_are_all_exported_and_the_originals_are_unchanged(trip, tmp_path):
    before = {file: (tmp_path / "photos" / file).read_bytes() for file in FILES}
    assert [one.name for one in exported_labels(trip)] == ["even"] * 4
    export_labels(trip, "imagefolder", tmp_path / "out")
    assert {file: (tmp_path / "photos" / file).read_bytes() for file in FILES} == before
    found = [path.read_bytes() for path in (tmp_path / "out").rglob("*.png")]
    assert sorted(found) == sorted(before.values())
    names = [path.name for path in (tmp_path / "out" / "even").iterdir()]
    assert len({name.lower() for name in names}) == 4  # even on a disk that ignores case


def test_editing_an_export_does_not_change_the_original(trip, tmp_path):
    export_labels(trip, "imagefolder", tmp_path / "out")
    before = (tmp_path / "photos" / "b.png").read_bytes()
    with (tmp_path / "out" / "even" / "b.png").open("r+b") as copy:
        copy.write(b"edited")
    assert (tmp_path / "photos" / "b.png").read_bytes() == before


def test_a_link_is_exported_as_a_copy_of_its_target(tmp_path):
    files = ("a.png", "b.png")
    found = labelled(tmp_path, files, ("even", "odd"), dict.fromkeys(files, "odd"))
    original = (tmp_path / "photos" / "a.png").rename(tmp_path / "elsewhere.png")
    (tmp_path / "photos" / "a.png").symlink_to("../elsewhere.png")
    export_labels(found, "imagefolder", tmp_path / "far" / "away" / "out")
    copy = tmp_path / "far" / "away" / "out" / "odd" / "a.png"
    assert not copy.is_symlink()
    assert copy.read_bytes() == original.read_bytes()


def test_classes_with_clashing_folder_names_get_separate_folders(tmp_path):
    files, classes = ("a.png", "b.png", "c.png"), ("a/b", "0-a_b", "0-A_B")
    found = labelled(tmp_path, files, classes, dict(zip(files, classes, strict=True)))
    export_labels(found, "imagefolder", tmp_path / "out")
    folders = list((tmp_path / "out").iterdir())
    assert len({folder.name.lower() for folder in folders}) == 3
    assert [len(list(folder.iterdir())) for folder in folders] == [1, 1, 1]


@pytest.mark.parametrize("form", ["csv", "jsonl", "imagefolder"])
@pytest.mark.parametrize("place", [".", "..", "there"])
def test_an_export_needs_a_name_and_does_not_overwrite_a_folder(form, place, trip, tmp_path, monkeypatch):
    here = tmp_path / "empty"
    (here / "there" / "something").mkdir(parents=True)
    monkeypatch.chdir(here)
    if form == "imagefolder" and place == ".":
        monkeypatch.chdir(here / "there" / "something")  # an empty folder
    with pytest.raises((InputError, StoreError), match="expected a f"):
        export_labels(trip, form, Path(place))


class Killed(BaseException):
    """Stands for a signal that kills the process after a round's weights are saved and before its commit."""


def test_labels_are_exported_even_if_the_split_is_damaged_anywhere(trip, tmp_path):
    whole, split = trip.split(), trip.folder.split
    good = split.read_bytes()
    wanted = [(one.id, one.name) for one in exported_labels(trip)]
    for place in range(0, len(good), 29):
        split.write_bytes(good[:place] + bytes([good[place] ^ 1 << place % 8]) + good[place + 1 :])
        assert [(one.id, one.name) for one in exported_labels(trip)] == wanted, place
        with contextlib.suppress(StoreError):  # some bytes are never read, such as the time of writing
            np.testing.assert_equal(trip.split(), whole)


@pytest.mark.parametrize("keep", ["ends", "all"])
def test_weights_of_an_uncommitted_round_are_not_exported(keep, tmp_path, monkeypatch):
    from versionspace.campaign.round import RoundRunner

    def killed(*_, **__):
        raise Killed

    folder = tmp_path / "c"
    with Campaign.create(folder, config(f"keep={keep}", "budget.total=20")) as campaign:
        oracle = campaign.oracle()
        campaign.accept(oracle.answer(campaign.propose().ids))
        with monkeypatch.context() as patch:
            patch.setattr(RoundRunner, "_choose", killed)
            with pytest.raises(Killed):
                campaign.propose()
        assert list(folder.glob("weights/round-*"))
        for form in ("safetensors", "onnx"):
            with pytest.raises(InputError, match="expected weights of a round, got none"):
                export_model(read_campaign(folder), form, tmp_path / form)
        campaign.accept(oracle.answer(campaign.propose().ids))
        with monkeypatch.context() as patch:
            patch.setattr(RoundRunner, "_choose", killed)
            with pytest.raises(Killed):
                campaign.propose()
    export_model(read_campaign(folder), "safetensors", tmp_path / "model")
    about = json.loads((tmp_path / "model" / "model.json").read_text())
    assert about["labels"] == 10
    saved = (folder / "weights" / "round-0001" / "weights.safetensors").read_bytes()
    assert (tmp_path / "model" / "weights.safetensors").read_bytes() == saved


@pytest.mark.parametrize(
    ("keep", "note", "trained_on"),
    [("ends", "the model is from round 1 (10 labels): the members of round 2 were not saved", 10), ("all", "", 15)],
)
def test_a_note_says_if_the_exported_model_is_not_from_the_last_round(keep, note, trained_on, tmp_path):
    from typer.testing import CliRunner

    from versionspace.cli.main import app

    with Campaign.create(tmp_path / "c", config(f"keep={keep}")) as campaign:
        oracle = campaign.oracle()
        for _ in range(2):
            campaign.accept(oracle.answer(campaign.propose().ids))
        campaign.propose()
        assert max(campaign.state.metrics) == 2
    words = ["export", str(tmp_path / "c"), "--model", "safetensors", "--out", str(tmp_path / "model")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stderr == (f"note {note}\n" if note else "")
    about = json.loads((tmp_path / "model" / "model.json").read_text())
    assert (about["round"], about["labels"]) == (1 if note else 2, trained_on)


def test_a_campaign_run_on_another_device_is_exported_here(tmp_path):
    with Campaign.create(tmp_path / "c", config("budget.total=10")) as campaign:
        campaign.run()
    toml = tmp_path / "c" / "campaign.toml"
    toml.write_text(toml.read_text().replace('device = "auto"', 'device = "cuda:77"'))
    export_model(read_campaign(tmp_path / "c"), "safetensors", tmp_path / "model")
    assert (tmp_path / "model" / "model.json").is_file()


def test_label_studio_export_without_labels_is_an_empty_list(tmp_path):
    from typer.testing import CliRunner

    from versionspace.cli.main import app

    photos = class_folders(tmp_path / "photos")
    Campaign.create(tmp_path / "c", of_folder(photos)).close()
    words = ["export", str(tmp_path / "c"), "--labels", "label-studio", "--out", str(tmp_path / "tasks.json")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0
    assert json.loads((tmp_path / "tasks.json").read_text()) == []
