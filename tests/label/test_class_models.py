"""Models before and after classes were renamed, merged and deleted: their outputs have the right names, or none."""

import csv
import json

import pytest

from versionspace.campaign import Campaign, export_labels, export_model
from versionspace.errors import InputError
from versionspace.store import read_campaign, verify


@pytest.fixture
def finished(folder):
    """A campaign that ended, of three digits."""
    with Campaign.open(folder.campaign(40, training={"epochs": 80})) as campaign:
        label(campaign, folder.truth)
        yield campaign


def label(campaign, truth, names=lambda name: name):
    for proposal in campaign:
        campaign.accept({image: names(truth[image]) for image in proposal.ids})


def exported_names(campaign, to):
    export_model(read_campaign(campaign.folder.path), "safetensors", to)
    return json.loads((to / "model.json").read_text())["classes"]


def test_a_model_has_the_names_that_its_classes_have_now(finished, tmp_path):
    finished.rename_class("1", "one")
    finished.order_classes(["2", "one", "0"])
    assert exported_names(finished, tmp_path / "model") == ["0", "one", "2"]
    assert finished.model().classes == ("0", "one", "2")
    assert {found.name for found in finished.predict()} <= {"0", "one", "2"}
    table = export_labels(read_campaign(finished.folder.path), "csv", tmp_path / "labels.csv")
    with table.open() as file:
        assert {row["label"] for row in csv.DictReader(file)} == {"0", "one", "2"}


def test_a_model_of_merged_classes_is_exported_only_once_it_is_trained_anew(finished, folder, tmp_path):
    right = agreement(finished, folder.truth)
    finished.merge_classes("0", "2")
    for export in (lambda: exported_names(finished, tmp_path / "model"), finished.model, finished.predict):
        with pytest.raises(InputError, match="trained before classes were merged or deleted"):
            export()
    finished.reopen()
    label(finished, folder.truth, lambda name: "2" if name == "0" else name)
    assert exported_names(finished, tmp_path / "model") == ["1", "2"]
    assert {found.name for found in finished.predict()} == {"1", "2"}
    merged = {image: "2" if name == "0" else name for image, name in folder.truth.items()}
    assert agreement(finished, merged) >= right - 0.1, "the outputs of the model have other names than its classes"
    newest = finished.state.metrics[max(finished.state.metrics)]
    assert set(newest.classes) == {"1", "2"}
    assert newest.kappa > 0.5, "votes of the round before are compared by class, not by number"
    assert finished.state.problems == []
    assert not any(verify(finished.folder.path).values())


def agreement(campaign, truth):
    """The share of images without a label whose class the model predicts."""
    by_file = {path: truth[image] for image, path in campaign.images.files.items()}
    found = campaign.predict()
    return sum(by_file[one.item.name] == one.name for one in found) / len(found)
