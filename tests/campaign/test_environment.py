"""On resume, changes of labels, settings, versions or CPU are rejected where results must be reproducible."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from PIL import Image

from campaign.tiny import class_folders, config, of_folder
from versionspace.campaign import Campaign, environment
from versionspace.campaign.grid import run
from versionspace.campaign.setup import prepare_grid
from versionspace.errors import InputError
from versionspace.store import Ledger, StoreError, read_campaign, verify


def run_one_round(folder, wanted):
    """Create a campaign and run its first round."""
    with Campaign.create(folder, wanted) as campaign:
        campaign.accept(campaign.oracle().answer(campaign.propose().ids))
        campaign.propose()
    return folder


@pytest.mark.parametrize("where", ["pool", "test"])
def test_changed_labels_are_rejected(where, tmp_path):
    photos = class_folders(tmp_path / "photos")
    folder = run_one_round(tmp_path / "c", of_folder(photos, "data.test=12"))
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


EDITS = [
    ("members = 3", "members = 4", "ensemble.members: 3 before, 4 now"),
    ("noise = 0.0", "noise = 0.5", "oracle.noise: 0.0 before, 0.5 now"),
    ("epochs = 3", "epochs = 4", "training.epochs: 3 before, 4 now"),
    ('method = "gvd"', 'method = "random"', "query.method: 'gvd' before, 'random' now"),
    ("seed = 0", "seed = 3", "seed: 0 before, 3 now"),
    ("epochs = 3\n", "", "training.epochs: 3 before, nothing now"),
    ('like = "mnist"\n', 'like = "mnist"\nbatch = 7\n', "training.batch: nothing before, 7 now"),
]


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    return run_one_round(tmp_path_factory.mktemp("runs") / "c", config())


@pytest.mark.parametrize(("old", "new", "said"), EDITS)
def test_edited_settings_are_rejected(old, new, said, begun, tmp_path):
    folder = shutil.copytree(begun, tmp_path / "c")
    toml = folder / "campaign.toml"
    text = toml.read_text()
    assert old in text
    toml.write_text(text.replace(old, new, 1))
    with pytest.raises(StoreError, match=re.escape(said)):
        Campaign.open(folder)
    toml.write_text(text)
    Campaign.open(folder).close()


def test_a_vote_that_the_method_does_not_use_may_change(tmp_path):
    folder = run_one_round(tmp_path / "c", config("query.method=random"))
    with Campaign.create(folder, config("query.method=random", "query.vote=hard")) as campaign:
        assert campaign.run().state.ended == "budget"


def test_device_and_threads_may_change_at_any_time(begun, tmp_path):
    folder = shutil.copytree(begun, tmp_path / "c")
    toml = folder / "campaign.toml"
    toml.write_text(toml.read_text().replace('device = "auto"', 'device = "cpu"').replace("threads = 0", "threads = 1"))
    with Campaign.open(folder) as campaign:
        assert campaign.run().state.ended == "budget"


def test_an_ended_campaign_opens_with_other_versions_but_is_not_reopened(tmp_path, monkeypatch):
    with Campaign.create(tmp_path / "c", config("budget.total=10")) as campaign:
        campaign.run()
    monkeypatch.setattr(environment, "_version", lambda _: "9.9")
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


def test_another_cpu_is_rejected_unless_accepted(begun, tmp_path):
    folder = shutil.copytree(begun, tmp_path / "c")
    before = (folder / "ledger.sqlite").read_bytes()

    def resumed(*more):
        """Resume with the simplest instructions that torch has, as on an old CPU."""
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
def test_a_grid_is_extended_only_where_its_first_ensemble_was_trained(kind, name, value, said, tmp_path, monkeypatch):
    """Else its other methods would start with weights that this machine would not have trained."""
    grid, small = tmp_path / "grid", config("budget.total=15")
    new = grid / "random" / "0"
    if kind == "begun":
        prepare_grid(small, grid, ["random"], [0])
        monkeypatch.setattr(environment, name, lambda _: value)
        Campaign.open(new, shared=grid / "shared" / "0").close()
        monkeypatch.undo()
    assert run(small, methods=["gvd"], seeds=[0], out=grid, progress=False).failed == {}
    before = (new / "ledger.sqlite").read_bytes() if kind == "begun" else None
    monkeypatch.setattr(environment, name, lambda _: value)
    failed = run(small, methods=["gvd", "random"], seeds=[0], out=grid, progress=False).failed
    assert [*failed] == [new]
    assert re.search(said, failed[new])
    if kind == "begun":
        assert (new / "ledger.sqlite").read_bytes() == before
    else:
        assert not read_campaign(new).state.begun, "it may still begin on another machine"
    made = run(small, methods=["gvd", "random"], seeds=[0], out=grid, progress=False, accept_different=True)
    assert made.failed == {}
    assert {record.ended for record in made.campaigns()} == {"budget"}


def test_an_ended_campaign_opens_without_its_device(tmp_path, monkeypatch):
    with Campaign.create(tmp_path / "c", config("budget.total=10")) as campaign:
        campaign.run()
    toml = tmp_path / "c" / "campaign.toml"
    toml.write_text(toml.read_text().replace('device = "auto"', 'device = "cuda:7"'))
    with Campaign.open(tmp_path / "c") as campaign:
        assert campaign.propose() is None
        with pytest.raises(InputError, match="device: expected"):
            campaign.reopen(15)
        assert campaign.state.ended == "budget"


def test_a_campaign_that_a_person_labels_resumes_on_any_machine(tmp_path, monkeypatch):
    folder = run_one_round(tmp_path / "c", config("oracle.kind=person"))
    monkeypatch.setattr(environment, "arithmetic", lambda _: "an abacus")
    with Campaign.open(folder) as campaign:
        assert campaign.propose() is not None


def test_changed_versions_are_rejected_unless_accepted(tmp_path, monkeypatch):
    with Campaign.create(tmp_path, config()) as campaign:
        campaign.propose()
    real = environment._version
    monkeypatch.setattr(environment, "_version", lambda name: "9.9" if name == "torch" else real(name))
    with pytest.raises(StoreError, match="torch .* before, 9.9 now"):
        Campaign.open(tmp_path)
    Campaign.open(tmp_path, accept_different=True).close()


def test_changed_group_sizes_are_rejected_unless_accepted(tmp_path, monkeypatch):
    from versionspace.ensemble import settings as sizes

    Campaign.create(tmp_path, config()).close()
    monkeypatch.setitem(sizes.SIZES, "small", sizes.Sizes(group=1, images=7))
    with pytest.raises(StoreError, match="group.*--accept-different"):
        Campaign.open(tmp_path)
    Campaign.open(tmp_path, accept_different=True).close()
    with Ledger.view(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.events()[-1].environment["sizes"] == {"group": 1, "images": 7}


def test_the_recorded_sizes_depend_on_the_size_of_the_images(tmp_path):
    """Larger images are processed in smaller chunks, which changes bits, so that a resumed run must keep them."""
    (tmp_path / "photos").mkdir()
    for i in range(30):
        Image.new("RGB", (8, 8), (i, 0, 0)).save(tmp_path / "photos" / f"{i:02}.png")
    for size, images in ((32, 512), (64, 128)):
        toml = f"""
[data]
name = "{tmp_path / "photos"}"
classes = ["a", "b"]
size = {size}
[ensemble]
net = "small"
[budget]
total = 10
[oracle]
kind = "person"
"""
        with Campaign.create(tmp_path / str(size), config(toml=toml)) as campaign:
            assert campaign.state.begun["sizes"] == {"group": 10, "images": images}


@pytest.mark.parametrize("kind", ["labels", "person"])
@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("change", ["renamed", "added"])
def test_a_folder_whose_classes_changed_is_rejected(kind, ended, change, tmp_path):
    """Labels are numbers of classes in the order of their names: they would mean other classes."""
    photos = class_folders(tmp_path / "photos")
    wanted = of_folder(photos, f"oracle.kind={kind}", f"budget.total={3 if ended else 9}", "cold_start.size=3")
    with Campaign.create(tmp_path / "c", wanted) as campaign:
        while not campaign.state.metrics:
            ids = campaign.propose().ids
            campaign.accept(campaign.oracle().answer(ids))
            campaign.propose()
        assert bool(campaign.state.ended) == ended
    if change == "renamed":
        (photos / "class1").rename(photos / "zebra")
    else:
        (photos / "apples").mkdir()
        shutil.copyfile(next((photos / "class1").iterdir()), photos / "apples" / "1.png")
    with pytest.raises(StoreError, match="classes: expected class1, class2, class3, as when the campaign began"):
        Campaign.open(tmp_path / "c")
    if change == "renamed":
        (photos / "zebra").rename(photos / "class1")
        with Campaign.open(tmp_path / "c") as campaign:
            campaign.run()
