"""What a campaign began under holds to its end: labels, settings, versions."""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from campaign.tiny import class_folders, config, of_folder
from versionspace.campaign import Campaign
from versionspace.campaign import environment as conditions
from versionspace.campaign.grid import run
from versionspace.campaign.setup import prepare
from versionspace.errors import InputError
from versionspace.store import Event, Ledger, StoreError, read_arrays, read_campaign, verify, write_arrays


def half(folder, wanted):
    """A campaign that was stopped after its first round."""
    with Campaign.create(folder, wanted) as campaign:
        campaign.accept(campaign.oracle().answer(campaign.propose().ids))
        campaign.propose()
    return folder


def older(folder, without=(), settings=()):
    """As if the ledger were of a version that did not write these keys down: of a body, or of what it ran under.

    Or, with ``settings``, of one that wrote these as well.
    """
    with Ledger.view(folder / "ledger.sqlite") as ledger:
        events = ledger.events()
    for file in folder.glob("ledger.sqlite*"):
        file.unlink()
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        for e in events:
            body = {k: v for k, v in e.body.items() if k not in without}
            if e.kind == "begun" and settings:
                body["config"] = body["config"] | dict(settings)
            around = {k: v for k, v in e.environment.items() if k not in without}
            ledger.append([Event(e.kind, e.round, body, e.who, around, e.uid)])


@pytest.mark.parametrize("where", ["pool", "test"])
def test_labels_that_changed_since_the_start_are_refused(where, tmp_path):
    photos = class_folders(tmp_path / "photos")
    folder = half(tmp_path / "c", of_folder(photos, "data.test=12"))
    before, record = (folder / "ledger.sqlite").read_bytes(), read_campaign(folder)
    names, ids = record.file_names(), set(record.split()[where].tolist())
    file = next(name for i, name in names.items() if i in ids and name.startswith("class1/"))
    elsewhere = photos / file.replace("class1", "class2")
    (photos / file).rename(elsewhere)
    with pytest.raises(StoreError, match=r"labels: expected the labels .* that the campaign began with, got others"):
        Campaign.open(folder)
    assert (folder / "ledger.sqlite").read_bytes() == before
    elsewhere.rename(photos / file)
    with Campaign.open(folder) as campaign:
        assert campaign.run().state.ended == "budget"


def test_an_older_campaign_knows_the_labels_of_its_test_images(tmp_path):
    photos = class_folders(tmp_path / "photos")
    folder = half(tmp_path / "c", of_folder(photos, "data.test=12"))
    older(folder, ("truth", "config"))
    Campaign.open(folder).close()
    arrays = read_arrays(folder / "split.npz")
    write_arrays(folder / "split.npz", arrays | {"test_truth": (np.asarray(arrays["test_truth"]) + 1) % 3})
    with pytest.raises(StoreError, match="labels: expected"):
        Campaign.open(folder)


EDITS = [
    ("members = 3", "members = 4", "ensemble.members: 3 before, 4 now"),
    ("noise = 0.0", "noise = 0.5", "oracle.noise: 0.0 before, 0.5 now"),
    ("epochs = 3", "epochs = 4", "training.epochs: 3 before, 4 now"),
    ('method = "gvd"', 'method = "random"', "query.method: 'gvd' before, 'random' now"),
    ("seed = 0", "seed = 3", "seed: 0 before, 3 now"),
]


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    return half(tmp_path_factory.mktemp("runs") / "c", config())


@pytest.mark.parametrize(("old", "new", "said"), EDITS)
def test_settings_that_were_edited_half_way_are_refused(old, new, said, begun, tmp_path):
    folder = shutil.copytree(begun, tmp_path / "c")
    toml = folder / "campaign.toml"
    text = toml.read_text()
    assert old in text
    toml.write_text(text.replace(old, new, 1))
    with pytest.raises(StoreError, match=re.escape(said)):
        Campaign.open(folder)
    toml.write_text(text)
    Campaign.open(folder).close()


def test_an_older_ledger_still_knows_its_method_and_seed(begun, tmp_path):
    folder = shutil.copytree(begun, tmp_path / "c")
    older(folder, ("config", "truth"))
    toml = folder / "campaign.toml"
    text = toml.read_text()
    toml.write_text(text.replace('method = "gvd"', 'method = "pwd"', 1))
    with pytest.raises(StoreError, match="query.method: 'gvd' before, 'pwd' now"):
        Campaign.open(folder)
    toml.write_text(text)
    Campaign.open(folder).close()


def test_a_vote_that_a_method_has_no_use_for_is_no_other_setting(tmp_path):
    """Earlier versions wrote it down as soft, whatever the config said."""
    folder = half(tmp_path / "c", config("query.method=random"))
    older(folder, settings={"query.vote": "'soft'"})
    with Campaign.create(folder, config("query.method=random", "query.vote=hard")) as campaign:
        assert campaign.run().state.ended == "budget"


def test_device_and_threads_may_change_at_any_time(begun, tmp_path):
    folder = shutil.copytree(begun, tmp_path / "c")
    toml = folder / "campaign.toml"
    toml.write_text(toml.read_text().replace('device = "auto"', 'device = "cpu"').replace("threads = 0", "threads = 1"))
    with Campaign.open(folder) as campaign:
        assert campaign.run().state.ended == "budget"


def test_one_that_has_ended_is_looked_at_under_other_versions_but_not_reopened(tmp_path, monkeypatch):
    with Campaign.create(tmp_path / "c", config("budget.total=10")) as campaign:
        campaign.run()
    monkeypatch.setattr(conditions, "_version", lambda _: "9.9")
    with Campaign.open(tmp_path / "c") as campaign:
        assert campaign.propose() is None
        with pytest.raises(StoreError, match=r"versions: expected those .* torch .* 9.9 now"):
            campaign.reopen(15)
        assert campaign.state.ended == "budget"
    with Campaign.open(tmp_path / "c", accept_different=True) as campaign:
        campaign.reopen(15)
        assert campaign.run().state.spent() == 15
    assert read_campaign(tmp_path / "c").state.latest_environment["versions"]["torch"] == "9.9"
    assert verify(tmp_path / "c") == {tmp_path / "c": []}


def test_another_processor_is_refused_unless_accepted(begun, tmp_path):
    folder = shutil.copytree(begun, tmp_path / "c")
    before = (folder / "ledger.sqlite").read_bytes()

    def resumed(*more):
        """With the simplest instructions that torch has, as on an old machine."""
        line = [sys.executable, "-m", "versionspace.cli", "resume", str(folder), *more]
        plain = os.environ | {"ATEN_CPU_CAPABILITY": "default"}
        return subprocess.run(line, env=plain, capture_output=True, text=True, check=False)

    refused = resumed()
    assert refused.returncode == 1
    said = " ".join(refused.stderr.split())
    assert re.search(r"processor: expected .*, on which the campaign began, got .*, (DEFAULT|NO AVX)\.", said), said
    assert "--accept-different" in said
    assert (folder / "ledger.sqlite").read_bytes() == before
    assert resumed("--accept-different").returncode == 0
    record = read_campaign(folder)
    assert record.state.ended == "budget"
    assert record.state.environment["arithmetic"] != record.state.latest_environment["arithmetic"]
    assert verify(folder) == {folder: []}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("arithmetic", "an abacus", r"processor: expected .*, on which the grid began, got an abacus"),
        ("_version", "9.9", r"versions: expected those that the grid began with, got .* torch .* 9.9 now"),
    ],
)
@pytest.mark.parametrize("kind", ["new", "begun"])
def test_a_grid_grows_where_its_first_ensemble_was_trained(kind, name, value, said, tmp_path, monkeypatch):
    """Otherwise its other methods would start with weights that no machine would have trained for them."""
    grid, small = tmp_path / "grid", config("budget.total=15")
    new = grid / "random" / "0"
    if kind == "begun":
        prepare(small, grid, ["random"], [0])
        monkeypatch.setattr(conditions, name, lambda _: value)
        Campaign.open(new, shared=grid / "shared" / "0").close()
        monkeypatch.undo()
    assert run(small, methods=["gvd"], seeds=[0], out=grid, progress=False).failed == {}
    before = (new / "ledger.sqlite").read_bytes() if kind == "begun" else None
    monkeypatch.setattr(conditions, name, lambda _: value)
    failed = run(small, methods=["gvd", "random"], seeds=[0], out=grid, progress=False).failed
    assert [*failed] == [new]
    assert re.search(said, failed[new])
    if kind == "begun":
        assert (new / "ledger.sqlite").read_bytes() == before
    else:
        assert not read_campaign(new).state.begun, "so that it may begin elsewhere"
    made = run(small, methods=["gvd", "random"], seeds=[0], out=grid, progress=False, accept_different=True)
    assert made.failed == {}
    assert {record.ended for record in made.campaigns()} == {"budget"}


def test_a_grid_that_does_not_know_where_it_began_grows(tmp_path, monkeypatch):
    small = config("budget.total=15")
    run(small, methods=["gvd"], seeds=[0], out=tmp_path, progress=False)
    note = tmp_path / "shared" / "0" / "ensemble.json"
    older = json.loads(note.read_text())
    assert older.pop("bits") == conditions.bits(small)
    note.write_text(json.dumps(older))
    monkeypatch.setattr(conditions, "arithmetic", lambda _: "an abacus")
    assert run(small, methods=["gvd", "random"], seeds=[0], out=tmp_path, progress=False).failed == {}


def test_a_ledger_that_does_not_know_its_processor_goes_on(begun, tmp_path, monkeypatch):
    folder = shutil.copytree(begun, tmp_path / "c")
    older(folder, ("arithmetic",))
    monkeypatch.setattr(conditions, "arithmetic", lambda _: "an abacus")
    with Campaign.open(folder) as campaign:
        assert campaign.run().state.ended == "budget"
    assert read_campaign(folder).state.latest_environment["arithmetic"] == "an abacus"


def test_one_that_has_ended_is_looked_at_where_its_device_is_not(tmp_path, monkeypatch):
    with Campaign.create(tmp_path / "c", config("budget.total=10")) as campaign:
        campaign.run()
    toml = tmp_path / "c" / "campaign.toml"
    toml.write_text(toml.read_text().replace('device = "auto"', 'device = "cuda:7"'))
    with Campaign.open(tmp_path / "c") as campaign:
        assert campaign.propose() is None
        with pytest.raises(InputError, match="device: expected"):
            campaign.reopen(15)
        assert campaign.state.ended == "budget"


def test_a_person_goes_on_at_any_machine(tmp_path, monkeypatch):
    folder = half(tmp_path / "c", config("oracle.kind=person"))
    monkeypatch.setattr(conditions, "arithmetic", lambda _: "an abacus")
    with Campaign.open(folder) as campaign:
        assert campaign.propose() is not None
