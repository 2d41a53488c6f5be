"""Campaigns on features files: nothing asks for pixels, and a file that changed is refused."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import versionspace as vs
from campaign.tiny import class_folders
from versionspace import data
from versionspace.campaign import Campaign, export_labels, export_model, load_model, plan
from versionspace.cli.main import app
from versionspace.config import parse_config, read_config, to_toml
from versionspace.errors import InputError
from versionspace.files import sha256
from versionspace.query import TABLE
from versionspace.report import make
from versionspace.store import StoreError, read_campaign

TOML = """
[data]
name = "{file}"
pool = 150
validation = 40
test = 60
initial = 10
[ensemble]
members = 3
[training]
epochs = 40
[query]
size = 5
[budget]
total = 20
"""


def config(file, *changes):
    return parse_config(TOML.format(file=file), "features", changes)


def write_digits(path, **changes):
    digits = data.load("digits").train
    arrays = {"features": digits.images.reshape(-1, 64).astype(np.float16), "labels": digits.labels} | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_digits(tmp_path_factory.mktemp("features") / "emb.npz", ids=np.arange(1000, 2797))


@pytest.fixture(scope="module")
def ended(file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ended") / "campaign"
    with Campaign.create(folder, config(file)) as campaign:
        campaign.run()
    return folder


def test_a_campaign_runs_on_heads_of_the_features(file, ended):
    record = read_campaign(ended)
    assert record.config.ensemble.net == "heads"
    assert record.measured_rounds()[-1].metrics.sets["test"].accuracy > 0.4
    assert record.state.begun["dataset"]["features"] == data.read_features(file).sha256
    assert all(1000 <= image < 2797 for image in record.state.labels)
    assert record.state.spent() == 20


@pytest.mark.parametrize("method", sorted({"random", "gvd", "margin", "coreset", "badge", "dfal", "bald"} | {
    name for name in TABLE if TABLE[name].labelled
}))  # fmt: skip
def test_every_kind_of_method_runs(method, file, tmp_path):
    with Campaign.create(tmp_path / "c", config(file, f"query.method={method}", "budget.total=16")) as campaign:
        assert campaign.run().state.spent() == 16


def test_methods_of_distances_see_the_vectors_themselves(file, tmp_path, monkeypatch):
    seen = {}

    def query(method, k, **inputs):
        seen.update(inputs)
        return vs.query(method, k, **inputs)

    monkeypatch.setattr("versionspace.campaign.choice.query", query)
    with Campaign.create(tmp_path / "c", config(file, "query.method=pwd-cover")) as campaign:
        campaign.accept(campaign.oracle().answer(campaign.propose().ids))
        campaign.propose()
        table = data.read_features(file)
        candidates = campaign.images.roles.askable()
        candidates = candidates[~np.isin(candidates, campaign.images.roles.initial)]
        np.testing.assert_array_equal(np.asarray(seen["features"]), table.features[candidates - 1000])
        assert not isinstance(seen["features"], np.ndarray)  # read on access
        assert np.asarray(seen["labelled_features"]).shape == (10, 64)


def test_the_cold_start_spreads_over_the_vectors(tmp_path):
    file = write_digits(tmp_path / "emb.npz")
    with Campaign.create(tmp_path / "c", config(file, "data.initial=0", "budget.total=20")) as campaign:
        first = campaign.propose()
    vectors = data.read_features(file).features[list(first.ids)].astype(float)
    assert (first.purpose, first.files) == ("cold start", None)
    assert len(np.unique(vectors, axis=0)) == len(first.ids) > 1


def test_networks_on_pixels_are_refused(file):
    with pytest.raises(InputError, match=r"ensemble.net: expected heads, since .*emb.npz holds features, got conv2"):
        config(file, "ensemble.net=conv2")
    with pytest.raises(InputError, match=r"data.features: expected nothing, unless data.name is a folder of images"):
        config(file, "data.features=other.npy")
    with pytest.raises(InputError, match=r"data.ids: expected nothing without data.features, got names.txt"):
        config("photos", "data.ids=names.txt")
    assert config(file, "ensemble.net=package.module:function").ensemble.net == "package.module:function"
    assert config("photos", "data.features=e.npy").ensemble.net == "heads"
    assert config("digits").ensemble.net == read_config("demo").ensemble.net == "small"
    assert parse_config(to_toml(config(file))) == config(file)


def test_a_person_may_label_features_in_a_loop_of_their_own(tmp_path):
    file, truth = write_digits(tmp_path / "emb.npz", labels=None), data.load("digits").train.labels
    changes = ["oracle.kind=person", f"data.classes={[str(i) for i in range(10)]}", "data.initial=0", "budget.total=30"]
    with Campaign.create(tmp_path / "c", config(file, *changes, "data.validation=0", "data.test=0")) as campaign:
        for proposal in campaign:
            campaign.accept({i: str(truth[i]) for i in proposal.ids})
        assert (campaign.state.ended, campaign.state.spent()) == ("budget", 30)
    file.unlink()  # the labels and the model need the campaign alone
    assert len(export_labels(read_campaign(tmp_path / "c"), "csv", tmp_path / "l.csv").read_text().splitlines()) == 31
    export_model(read_campaign(tmp_path / "c"), "safetensors", tmp_path / "model")
    assert load_model(tmp_path / "model").inputs.channels == 64


def test_a_file_without_labels_cannot_answer(tmp_path):
    file = write_digits(tmp_path / "emb.npz", labels=None)
    with pytest.raises(InputError, match="oracle: expected a dataset whose pool has labels, got .*emb.npz without"):
        Campaign.create(tmp_path / "c", config(file, "data.initial=0", "data.balanced=false")).run()


def test_a_changed_file_is_refused_and_a_moved_one_is_found(file, tmp_path):
    copy = shutil.copy(file, tmp_path / "emb.npz")
    with Campaign.create(tmp_path / "c", config(copy)) as campaign:
        campaign.accept(campaign.oracle().answer(campaign.propose().ids))
    moved = shutil.move(copy, tmp_path / "moved.npz")
    with pytest.raises(InputError, match=r"emb.npz: expected the features file that .* got no file .* --images FILE"):
        Campaign.open(tmp_path / "c")
    with Campaign.open(tmp_path / "c", images=moved) as campaign:
        assert campaign.config.data.name == str(moved)
    write_digits(moved, ids=np.arange(1000, 2797), features=data.read_features(file).features + np.float16(1))
    with pytest.raises(StoreError, match=r"moved.npz: expected the features that the campaign began with, got a"):
        Campaign.open(tmp_path / "c")


def test_resumed_campaigns_end_like_uninterrupted_ones(file, ended, tmp_path):
    for _ in range(3):
        with Campaign.create(tmp_path / "c", config(file)) as campaign:
            proposal = campaign.propose()
            if proposal is not None:
                campaign.accept(campaign.oracle().answer(proposal.ids), who="simulated")
    with Campaign.open(tmp_path / "c") as campaign:
        campaign.run()
    one, two = read_campaign(ended), read_campaign(tmp_path / "c")
    assert {i: label.name for i, label in one.state.labels.items()} == {
        i: label.name for i, label in two.state.labels.items()
    }
    assert one.measured_rounds()[-1].metrics.sets == two.measured_rounds()[-1].metrics.sets


def test_the_model_classifies_new_features(file, ended, tmp_path):
    export_model(read_campaign(ended), "safetensors", tmp_path / "model")
    new = write_digits(tmp_path / "new.npz", labels=None)
    found = list(load_model(tmp_path / "model").predict([new]))
    digits = data.load("digits").train
    assert [one.item for one in found] == list(range(1797))
    assert np.mean([one.name == str(label) for one, label in zip(found, digits.labels, strict=True)]) > 0.4
    result = CliRunner().invoke(app, ["predict", str(tmp_path / "model"), str(new), "--out", str(tmp_path / "p.csv")])
    assert (result.exit_code, "1797 rows classified" in result.output) == (0, True)
    rows = list(csv.reader((tmp_path / "p.csv").read_text().splitlines()))
    assert rows[0] == ["id", "class", "probability", "agreement"]
    assert (rows[1][:2], len(rows)) == (["0", found[0].name], 1798)
    np.save(tmp_path / "narrow.npy", np.zeros((3, 5)))
    with pytest.raises(InputError, match="narrow.npy: expected 64 features in each row, as the model .* got 5"):
        load_model(tmp_path / "model").predict([tmp_path / "narrow.npy"])
    with pytest.raises(InputError, match="expected a features file with 64 features, .* got a folder"):
        load_model(tmp_path / "model").predict([tmp_path])


def test_labels_are_exported_without_pictures(ended, tmp_path):
    record = read_campaign(ended)
    rows = list(csv.DictReader(export_labels(record, "csv", tmp_path / "labels.csv").read_text().splitlines()))
    assert (len(rows), rows[0]["missing"], rows[0]["file"]) == (20, "", "")
    with pytest.raises(InputError, match="labels: expected a campaign on images, for class folders of images"):
        export_labels(record, "imagefolder", tmp_path / "folders")


def test_the_report_leaves_pictures_out(ended, tmp_path):
    page = make([ended], tmp_path / "report").read_text()
    assert "Queried images" in page
    assert "Contact sheet" not in page


def test_a_plan_measures_features(file):
    assert plan(config(file)).rounds == 3


@pytest.fixture
def photos(tmp_path):
    return class_folders(tmp_path / "photos")


def folder_features(photos, names_file, leave_out=0):
    """Write vectors of all images but some, in an order of their own; return the file and the names of their rows."""
    names = sorted((path.relative_to(photos).as_posix() for path in photos.rglob("*.png")), reverse=True)[leave_out:]
    vectors = np.stack([np.asarray(Image.open(photos / name)).ravel() for name in names]).astype(np.float32)
    np.save(names_file.with_suffix(".npy"), vectors)
    names_file.write_text("".join(f"./{name}\n" for name in names))
    return names_file.with_suffix(".npy"), names


def test_features_for_a_folder_replace_its_pixels(photos, tmp_path):
    file, names = folder_features(photos, tmp_path / "names.txt", leave_out=2)
    dataset = data.pair_with_features(data.load(photos), data.read_features(file), tmp_path / "names.txt")
    assert dataset.train.shape == (1, 1, 64)
    assert len(dataset.train) == 58
    for i, path in zip(dataset.train.ids, dataset.train.files, strict=True):
        expected = np.asarray(Image.open(photos / path)).ravel()
        np.testing.assert_array_equal(dataset.train.take([i]).images[0], expected)
        assert i == sha256(photos / path)
        assert f"class{dataset.train.take([i]).labels[0] + 1}" == path.split("/")[0]
    assert data.without_features_message(dataset).startswith("2 images have no features and are left out: class3/")
    changes = [f'data.features="{file}"', f'data.ids="{tmp_path / "names.txt"}"', "data.initial=3", "data.pool=40"]
    with Campaign.create(tmp_path / "c", config(photos, *changes, "data.test=9", "data.validation=9")) as campaign:
        assert campaign.run().state.ended == "budget"
    (tmp_path / "moved").mkdir()
    moved = {
        name: shutil.move(tmp_path / f"names.{end}", tmp_path / "moved")
        for name, end in (("features", "npy"), ("ids", "txt"))
    }
    with Campaign.open(tmp_path / "c", **{name: Path(path) for name, path in moved.items()}) as campaign:
        assert campaign.config.data.features == str(tmp_path / "moved" / "names.npy")
    file, listed = (tmp_path / "moved" / f"names.{end}" for end in ("npy", "txt"))
    listed.write_text("\n".join(reversed(names)))
    with pytest.raises(StoreError, match="expected the features .* content, or other names in data.ids"):
        Campaign.open(tmp_path / "c")
    file.unlink()
    with pytest.raises(InputError, match="names.npy: expected the file of features .* got no file there. Put it back"):
        Campaign.open(tmp_path / "c")


def test_names_that_do_not_fit_are_refused(photos, tmp_path):
    file, names = folder_features(photos, tmp_path / "names.txt")
    dataset, table = data.load(photos), data.read_features(file)
    for lines, sentence in {
        tuple(f"photos/{name}" for name in names): r"expected names of images in the folder, .* such as 'photos/class3",
        tuple(names[:-1]): r"names.txt, ids: expected integers or text of shape \(60,\)",
        (*names[:-1], names[0]): r"names.txt, ids: expected a different id in each row, got './class3",
    }.items():
        (tmp_path / "names.txt").write_text("\n".join(lines) if "shape" in sentence or "such" in sentence else
                                            "\n".join(f"./{name}" for name in lines))  # fmt: skip
        with pytest.raises(InputError, match=sentence):
            data.pair_with_features(dataset, table, tmp_path / "names.txt")
    with pytest.raises(InputError, match=r"names.npy: expected the name of the image of each row, .* --ids names.txt"):
        data.pair_with_features(dataset, table)
    with pytest.raises(InputError, match="nowhere.txt: expected a text file with one name on each line, got No such"):
        data.pair_with_features(dataset, table, tmp_path / "nowhere.txt")


def test_a_copy_of_an_image_may_name_its_features(photos, tmp_path):
    one = sorted(photos.rglob("*.png"))[0]
    shutil.copy(one, photos / "zcopy.png")
    np.savez(tmp_path / "e.npz", features=np.ones((1, 4)), ids=np.array(["zcopy.png"]))
    dataset = data.pair_with_features(data.load(photos), data.read_features(tmp_path / "e.npz"))
    assert [photos / file for file in dataset.train.files] == [one]
