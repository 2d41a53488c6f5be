"""From a folder to a campaign, and the labels that are known before."""

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas
import pytest

import versionspace as vs
from features.tiny_models import save_model
from versionspace.campaign.campaign import Campaign
from versionspace.campaign.setup import create_folder
from versionspace.data import load
from versionspace.errors import InputError
from versionspace.files import sha256
from versionspace.label.create import campaign_folder, class_names, new_config
from versionspace.label.image_encoding import ImageEncoder, ImageUnavailable
from versionspace.label.import_labels import commit_import, read_labels
from versionspace.label.label_studio import choices, tasks
from versionspace.label.service import LabelService
from versionspace.label.trainer_messages import SampleFeatures
from versionspace.store import read_campaign


def test_the_campaign_lies_beside_the_images_and_never_among_them(folder):
    assert campaign_folder(folder.photos, None) == folder.photos.with_name("photos.versionspace")
    for inside in (folder.photos, folder.photos / "x"):
        with pytest.raises(InputError, match="outside the images"):
            campaign_folder(folder.photos, inside)


def test_a_new_campaign_suits_a_person(folder):
    config, found = new_config(folder.photos, folder.classes, budget=60, net="small")
    assert config.oracle.kind == "person"
    assert (config.budget.total, config.budget.audit) == (60, 10)
    assert config.query.method == "pwd-cover"
    assert found.names == {}


def test_another_method_is_asked_for_at_the_start_and_kept(folder):
    with vs.label_folder(folder.photos, folder.classes, budget=30, net="small", method="margin") as campaign:
        assert campaign.config.query.method == "margin"
    with vs.label_folder(folder.photos, method="margin") as again:
        assert again.config.query.method == "margin"
    with pytest.raises(InputError, match="--method: expected no change"):
        vs.label_folder(folder.photos, method="gvd")
    with pytest.raises(InputError, match="Did you mean 'margin'"):
        vs.label_folder(folder.photos, folder.classes, method="margins", campaign=folder.photos.parent / "other")
    assert not (folder.photos.parent / "other").exists()


def test_random_is_uniform_from_the_first_image_on(folder):
    with vs.label_folder(folder.photos, folder.classes, budget=30, net="small", method="random") as campaign:
        service = LabelService(campaign)
        first = list(service.covering.choose(60))
        service.set_features(SampleFeatures(tuple(service.covering.ids), np.eye(len(service.covering.ids))))
        assert list(service.covering.choose(60)) == first, "features do not matter"
        assert campaign.config.cold_start.method == "random"


def test_another_extractor_decides_how_large_images_are_kept(folder, tmp_path):
    save_model("dinov2", tmp_path / "model")
    name = f"hf:{tmp_path / 'model'}"
    with vs.label_folder(folder.photos, folder.classes, budget=30, extractor=name) as campaign:
        assert (campaign.config.ensemble.net, campaign.config.ensemble.extractor) == ("heads", name)
        assert campaign.config.data.size == 40
        assert campaign.dataset.train.images.shape[1:3] == (40, 40)
    assert f'extractor = "{name}"' in (folder.photos.with_name("photos.versionspace") / "campaign.toml").read_text()
    with vs.label_folder(folder.photos, extractor=name) as again:
        assert again.config.ensemble.extractor == name
    with pytest.raises(InputError, match="--extractor: expected no change for the campaign"):
        vs.label_folder(folder.photos, extractor="lite0")


def test_an_extractor_that_cannot_be_used_is_refused_at_the_start(folder, tmp_path):
    other = tmp_path / "other"
    for options, message in (
        ({"extractor": "lite9"}, "ensemble.extractor: expected one of lite0, .* Did you mean 'lite"),
        ({"extractor": "hf:./nothing"}, "expected a folder with config.json and weights"),
        (
            {"extractor": "lite1", "net": "small"},
            "ensemble.extractor: expected none, since small sees pixels, got 'lite1'",
        ),
    ):
        with pytest.raises(InputError, match=message):
            vs.label_folder(folder.photos, folder.classes, campaign=other, **options)
    assert not other.exists()
    assert new_config(folder.photos, folder.classes, net="heads", extractor="lite1")[0].data.size == 160


def test_two_classes_are_the_least():
    for text in ("", "cat", "cat,cat", "cat,,dog", ["cat"], ["cat", " cat"], ["cat", ""], ["cat", 2], []):
        with pytest.raises(InputError, match="two different names"):
            class_names(text)


def test_classes_are_split_as_in_the_command_also_to_resume(folder):
    with vs.label_folder(folder.photos, "0, 1,2", budget=30, net="small") as campaign:
        assert campaign.config.data.classes == ("0", "1", "2")
    vs.label_folder(folder.photos, ["0", "1 ", "2"]).close()
    with pytest.raises(InputError, match="--classes: expected no change"):
        vs.label_folder(folder.photos, "0,1")


@pytest.mark.parametrize("budget", [19, 0, -3, True, 30.0, "30"])
def test_a_budget_that_the_command_rejects_is_rejected(folder, budget):
    with pytest.raises(InputError, match="--budget: expected a whole number of labels, at least 20"):
        vs.label_folder(folder.photos, folder.classes, budget=budget, net="small")
    assert not campaign_folder(folder.photos, None).exists()


def test_after_the_loop_come_the_model_its_accuracy_and_the_rest(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder.campaign(60, training={"epochs": 20}, query={"size": 25})
    with vs.label_folder("photos") as campaign:
        with pytest.raises(InputError, match="expected a trained model, got none yet"):
            campaign.model()
        assert (campaign.audit, campaign.measured()) == (None, [])
        for proposal in campaign:
            assert all(path.is_absolute() for path in proposal.paths)
            assert [sha256(path) for path in proposal.paths] == list(proposal.ids)
            campaign.accept({i: folder.truth[i] for i in proposal.ids})
    monkeypatch.chdir("/")
    rounds = campaign.measured()
    assert [row.round for row in rounds] == list(range(1, len(rounds) + 1))
    assert rounds[-1].labels + campaign.audit.images == 60
    assert (rounds[-1].audit_accuracy, rounds[-1].audit_low) == (campaign.audit.accuracy, campaign.audit.low)
    rest = campaign.predict()
    assert {sha256(found.item) for found in rest} == set(folder.truth) - set(campaign.state.labels)
    right = [found.name == folder.truth[sha256(found.item)] for found in rest]
    assert sum(right) / len(right) > 0.8
    by_path = {found.item: found for found in campaign.predict(folder.photos)}
    assert len(by_path) == len(folder.truth)
    assert {found.item: found.name for found in rest}.items() <= {p: found.name for p, found in by_path.items()}.items()
    (first,) = campaign.model().predict(str(rest[0].item))
    assert (first.name, first.probability) == (rest[0].name, pytest.approx(rest[0].probability, abs=1e-5))
    assert pandas.DataFrame(rounds)["labels"].is_monotonic_increasing


def test_a_class_name_that_cannot_be_stored_is_refused_at_the_start(folder):
    with pytest.raises(InputError, match="expected names in Unicode"):
        vs.label_folder(folder.photos, ["caf\udce9", "other"], net="small")  # as a shell gives Latin-1
    assert not campaign_folder(folder.photos, None).exists()


@pytest.fixture
def annex(folder, tmp_path):
    """The folder with links to a file and to a folder elsewhere, and the ids of the two images."""
    (tmp_path / "annex").mkdir()
    for name in "12":
        content = (folder.photos / "00000.png").read_bytes() + name.encode()
        (tmp_path / "annex" / f"{name}.png").write_bytes(content)
    (folder.photos / "link.png").symlink_to(tmp_path / "annex" / "1.png")
    (folder.photos / "link").symlink_to(tmp_path / "annex", target_is_directory=True)
    return folder, [sha256(tmp_path / "annex" / f"{name}.png") for name in "12"]


def test_links_that_leave_the_folder_are_left_out_and_listed(annex):
    folder, ids = annex
    for again in (False, True):
        with vs.label_folder(folder.photos, None if again else folder.classes, net="small") as campaign:
            assert {entry.file for entry in campaign.dataset.report.skipped} == {"link", "link.png"}
            assert not set(ids) & set(campaign.dataset.train.ids.tolist())
    with pytest.raises(InputError, match="--follow-links: expected no change"):
        vs.label_folder(folder.photos, follow_links=True)


def test_links_that_leave_the_folder_are_followed_if_asked(annex):
    folder, ids = annex
    with vs.label_folder(folder.photos, folder.classes, net="small", follow_links=True) as campaign:
        assert set(ids) <= set(campaign.dataset.train.ids.tolist())
    with vs.label_folder(folder.photos) as campaign:
        assert set(ids) <= set(campaign.dataset.train.ids.tolist())
        root, files = Path(campaign.config.data.name), campaign.images.files
        for follow in (True, False):
            encoder = ImageEncoder(root, campaign.dataset, files, follow_links=follow)
            with nullcontext() if follow else pytest.raises(ImageUnavailable, match="leads out"):
                assert encoder.image(ids[0]).media == "image/png"


@pytest.mark.parametrize("typed", ["digits", "./digits", "digits/", "~/digits"])
def test_a_folder_that_is_called_like_a_dataset_is_the_folder(folder, tmp_path, monkeypatch, typed):
    photos = folder.photos.rename(tmp_path / "digits")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with vs.label_folder(typed, tuple("0123456789"), budget=300, net="small") as campaign:
        assert set(campaign.images.files.values()) == {file.name for file in photos.iterdir()}
        assert campaign.state.labels == {}, "the dataset's own labels are none of hers"
        assert (campaign.budget, len(campaign.images.roles.audit)) == (300, 120 // 5)
    assert campaign.folder.path == tmp_path / "digits.versionspace"
    for file in sorted(photos.iterdir())[12:]:
        file.unlink()
    with pytest.raises(InputError, match="expected at least 30 images, got 12"):
        vs.label_folder(typed, ("odd", "even"), campaign=tmp_path / "other", net="small")


def test_too_few_images_are_not_worth_it(tmp_path, folder):
    few = tmp_path / "few"
    few.mkdir()
    for file in sorted(folder.photos.iterdir())[:5]:
        (few / file.name).write_bytes(file.read_bytes())
    with pytest.raises(InputError, match="at least 30 images"):
        new_config(few, folder.classes, net="small")


def studio_task(file, *names, cancelled=False):
    results = [{"type": "choices", "from_name": "c", "to_name": "i", "value": {"choices": [n]}} for n in names]
    return {"data": {"image": file}, "annotations": [{"was_cancelled": cancelled, "result": results}]}


def test_an_export_of_label_studio_is_taken_in(folder, tmp_path):
    files = sorted(f.name for f in folder.photos.iterdir())[:4]
    export = tmp_path / "export.json"
    export.write_text(json.dumps([
        studio_task(f"/data/upload/3/0a1b2c3d-{files[0]}", "1"),
        studio_task(f"/data/local-files/?d=photos/{files[1]}", "2"),
        studio_task(f"s3://bucket/photos/{files[2]}", "0", cancelled=True),
        studio_task("/data/upload/3/elsewhere.png", "1"),
    ]))  # fmt: skip
    config, found = new_config(folder.photos, folder.classes, budget=40, net="small", labels=export)
    dataset = load(folder.photos, progress=False)
    by_file = dict(zip(dataset.train.files, dataset.train.ids.tolist(), strict=True))
    assert found.names == {by_file[files[0]]: "1", by_file[files[1]]: "2"}
    assert found.unknown == ("data/upload/3/elsewhere.png",)
    with Campaign.create(campaign_folder(folder.photos, None), config) as campaign:
        assert config.budget.total == 40 + commit_import(campaign, found), "labels that are there come on top"


def test_labels_csv_is_taken_in_and_unknown_classes_are_refused(folder, tmp_path):
    files = sorted(f.name for f in folder.photos.iterdir())
    table = tmp_path / "labels.csv"
    table.write_text("file,label\n" + "".join(f"{f},{n % 3}\n" for n, f in enumerate(files[:30])))
    dataset = load(folder.photos, progress=False)
    assert len(read_labels(dataset, folder.classes, table).names) == 30
    with pytest.raises(InputError, match="also 2"):
        read_labels(dataset, ("0", "1"), table)
    table.write_text("file,label\nnothing.png,1\n")
    with pytest.raises(InputError, match="none in 1 rows; 1 without exactly one matching image: nothing.png"):
        read_labels(dataset, folder.classes, table)


def test_imported_labels_are_trained_on_or_audited_but_never_asked(folder, tmp_path):
    files = sorted(f.name for f in folder.photos.iterdir())
    table = tmp_path / "labels.csv"
    table.write_text("file,label\n" + "".join(f"{f},{n % 3}\n" for n, f in enumerate(files[:60])))
    found = read_labels(load(folder.photos, progress=False), folder.classes, table)
    with Campaign.open(folder.campaign(150)) as campaign:
        count = commit_import(campaign, found)
        cut = campaign.images.roles
        assert count == len(set(found.names) - set(cut.reference.tolist()))
        audit = {i for i in cut.audit.tolist() if i in found.names}
        assert audit
        assert not audit & set(campaign.state.training_labels()), "the audit is never trained on"
        assert commit_import(campaign, found) == 0, "once"
        service = LabelService(campaign)
        assert service.next_round_size() is not None, "it can train at once"
        served = {t.image for t in service.next_questions("tab", "", (), 12).questions}
        assert not served & set(found.names)
        assert campaign.state.problems == []


def test_what_goes_out_to_label_studio_comes_back(service):
    image = service.next_questions("tab", "", (), 1).questions[0].image
    service.campaign.accept({image: "1"}, who="anna")
    files = dict(zip(service.campaign.dataset.train.ids.tolist(), service.campaign.dataset.train.files, strict=True))
    out = tasks(read_campaign(service.campaign.folder), files, prefix="/data/local-files/?d=photos/")
    (one,) = choices(out)
    assert (one.files[0], one.name, one.image) == (f"photos/{files[image]}", "1", image)


def test_folders_that_are_no_classes_are_only_folders(folder):
    for number, file in enumerate(sorted(folder.photos.glob("*.png"))):
        (folder.photos / f"202{number % 2}").mkdir(exist_ok=True)
        file.rename(folder.photos / f"202{number % 2}" / file.name)
    config, found = new_config(folder.photos, folder.classes, budget=60, net="small")
    assert found.names == {}
    assert config.data.classes == tuple(folder.classes)


def test_a_loop_of_ones_own_and_the_page_go_on_with_each_others_answers(folder):
    with vs.label_folder(folder.photos, folder.classes, budget=25, net="small") as campaign:
        assert campaign.config.oracle.kind == "person"
        proposal = campaign.propose()
        assert [Path(f).suffix for f in proposal.files] == [".png"] * len(proposal.ids)
        campaign.accept({i: folder.truth[i] for i in proposal.ids})
    with vs.label_folder(campaign=campaign.folder.path, budget=30) as again:
        service = LabelService(again)
        assert (service.spent(), service.budget) == (len(proposal.ids), 30)
        task = service.next_questions("tab", "", (), 1).questions[0]
        assert task.image not in proposal.ids
    with pytest.raises(InputError, match="no change"):
        vs.label_folder(folder.photos, ["other", "classes"])


def test_labels_are_taken_in_though_it_was_killed_before_it_had_done_so(folder, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("file,label\n" + "".join(f"{f.name},1\n" for f in sorted(folder.photos.iterdir())[:40]))
    config, found = new_config(folder.photos, folder.classes, budget=30, net="small", labels=table)
    create_folder(campaign_folder(folder.photos, None), config)  # and then the lights went out
    with vs.label_folder(folder.photos, folder.classes, labels=table) as campaign:
        taken = campaign.state.spent()
        assert 0 < taken <= len(found.names)
        assert campaign.state.problems == []
        assert Campaign.propose(campaign).purpose == "audit"
    with vs.label_folder(folder.photos) as again:
        assert again.state.spent() == taken
