"""Folders that were written once and committed: every later version verifies, resumes, exports and reports them.

tests/golden/make.py says what is in them. A failure here means that the format of a campaign's folder has changed:
raise the ledger's format number, make the folders anew and say so in the changelog; or, more likely, mend the code.
"""

import csv
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import versionspace as vs
from golden.summary import summary
from versionspace import store
from versionspace.campaign import Campaign
from versionspace.cli.main import app

GOLDEN = Path(__file__).parent / "golden"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
PERSON = "person/photos.versionspace"


@pytest.fixture
def copy(tmp_path):
    """A copy of a golden folder: reading a ledger makes files beside it."""
    return lambda name: shutil.copytree(GOLDEN / name, tmp_path / "copy" / name)


def command(*arguments):
    """Run a command; return its exit code."""
    return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False).exit_code


def table(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def comparable(found):
    return json.loads(json.dumps(found))


@pytest.mark.parametrize("name", list(EXPECTED))
def test_the_ledger_tells_what_it_told(copy, name):
    assert comparable(summary(copy(name))) == EXPECTED[name]


@pytest.mark.parametrize("name", list(EXPECTED))
def test_nothing_is_wrong_with_it(copy, name):
    problems = store.verify(copy(name))
    assert problems
    assert not any(problems.values()), problems


def test_a_finished_grid_is_left_as_it_is(copy):
    folder = copy("grid")
    assert command("resume", folder) == 0
    assert comparable(summary(folder)) == EXPECTED["grid"]


def test_a_killed_run_is_resumed_to_its_end(copy):
    folder = copy("killed")
    assert command("resume", folder, "--accept-different") == 0
    assert not any(store.verify(folder).values())
    resumed, before, whole = comparable(summary(folder)), EXPECTED["killed"], EXPECTED["grid"]
    assert [one["ended"] for one in resumed] == ["budget", "budget"]
    kept = len(before[0]["rounds"])
    assert kept == 3
    assert resumed[0]["rounds"][: kept - 1] == before[0]["rounds"][: kept - 1]
    assert [one["labels"] for one in resumed[0]["rounds"]] == [one["labels"] for one in whole[0]["rounds"]]
    if (
        store.read_campaign(folder / "gvd/0").state.environment["arithmetic"] == arithmetic()
    ):  # the processor that made it
        assert [without_weights(one) for one in resumed] == [without_weights(one) for one in whole]


def arithmetic():
    from versionspace.runtime import arithmetic, pick_device

    return arithmetic(pick_device("auto"))


def without_weights(campaign):
    """The killed run keeps no weights."""
    rounds = [one | {"metrics": dict(one["metrics"] or {}) | {"weights_sha256": None}} for one in campaign["rounds"]]
    return campaign | {"rounds": rounds}


def test_labels_are_exported(copy, tmp_path):
    assert command("export", copy("grid") / "gvd/0", "--labels", "csv", "--out", tmp_path / "labels.csv") == 0
    rows = table(tmp_path / "labels.csv")
    assert {row["id"]: row["label"] for row in rows} == EXPECTED["grid"][0]["labels"]


def test_the_model_is_exported_and_predicts(copy, tmp_path):
    folder = copy("grid") / "gvd/0"
    assert command("export", folder, "--model", "safetensors", "--out", tmp_path / "model") == 0
    learner = vs.Ensemble.load(tmp_path / "model")
    record, last = store.read_campaign(folder), EXPECTED["grid"][0]["rounds"][-1]
    from versionspace import data

    test = data.load("digits").train.take(record.split()["test"])
    assert (learner.votes(test.images) == record.votes(last["number"])).mean() > 0.99  # equal on the same processor
    accuracy = float((learner.votes(test.images) == test.labels).mean())
    assert accuracy == pytest.approx(last["metrics"]["sets"]["test"]["accuracy"], abs=0.01)


def test_a_report_gives_the_numbers_of_the_ledger(copy, tmp_path):
    assert command("report", copy("grid"), "--out", tmp_path / "report") == 0
    found = {(row["method"], int(row["round"])): row for row in table(tmp_path / "report/tables/digits-rounds.csv")}
    rounds = {(c["method"], one["number"]): one["metrics"] for c in EXPECTED["grid"] for one in c["rounds"]}
    measured = {key: metrics["sets"]["test"] for key, metrics in rounds.items() if metrics}
    assert measured
    assert found.keys() == measured.keys()
    for key, test in measured.items():
        assert {name: float(found[key][f"test {name}"]) for name in test} == test


def test_a_person_goes_on_labelling(copy):
    root = copy("person")
    with Campaign.open(root / "photos.versionspace", images=root / "photos") as campaign:
        assert campaign.state.spent() == EXPECTED[PERSON][0]["spent"]
        trained = len(campaign.state.metrics)
        while len(campaign.state.metrics) == trained and (proposal := campaign.propose()):
            assert all((root / "photos" / file).is_file() for file in proposal.files)
            campaign.accept(dict.fromkeys(proposal.ids, "one"), who="ann")
        assert len(campaign.state.metrics) == trained + 1 or campaign.state.ended
    assert not any(store.verify(root / "photos.versionspace").values())
    labels = {str(i): label.name for i, label in store.read_campaign(root / "photos.versionspace").state.labels.items()}
    assert EXPECTED[PERSON][0]["labels"].items() <= labels.items()
