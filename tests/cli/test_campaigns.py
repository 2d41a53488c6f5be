"""The commands about campaigns, as people type them."""

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from campaign.tiny import TOML
from versionspace import data
from versionspace.campaign.inference import load_model
from versionspace.cli.main import app, main
from versionspace.cli.options import read_seeds
from versionspace.ensemble import Ensemble
from versionspace.errors import InputError
from versionspace.store import read_campaign, verify


def versionspace(*words, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "versionspace.cli", *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "tiny.toml"
    path.write_text(TOML)
    return path


@pytest.fixture(scope="module")
def grid(tiny, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "grid"
    done = versionspace("run", tiny, "--methods", "gvd,random", "--seeds", "0-1", "--out", out, "--set", "query.size=8")
    assert "gvd" in done.stdout
    assert str(out) in "".join(done.stdout.split())
    return out


def test_status_for_people(grid):
    said = versionspace("status", grid).stdout
    assert said.count(" done") == 4
    assert "25/25" in said
    assert versionspace("status", grid / "gvd" / "0").stdout.count("done") == 1


def test_a_mean_fit_below_99_percent_is_a_warning(grid):
    assert "they are not samples of the version space" in " ".join(versionspace("status", grid).stdout.split())


def test_status_for_programs(grid):
    found = json.loads(versionspace("status", grid, "--json").stdout)["campaigns"]
    assert [(c["method"], c["seed"]) for c in found] == [("gvd", 0), ("gvd", 1), ("random", 0), ("random", 1)]
    record = read_campaign(grid / "gvd" / "0")
    assert found[0]["rounds"][1]["asked"] == list(record.rounds[1].asked)
    assert found[0]["rounds"][1]["labels"] == [[i, record.state.labels[i].name] for i in record.rounds[1].asked]
    assert found[0]["rounds"][1]["metrics"] == record.rounds[1].metrics.to_body()
    text = json.dumps([{k: v for k, v in c.items() if k != "environment"} for c in found])
    assert str(grid) not in text
    assert set(found[0]["environment"]["began"]) >= {"versions", "threads", "host", "device"}


def test_the_same_command_again_is_quick_and_changes_nothing(grid, tiny):
    before = (grid / "gvd" / "0" / "ledger.sqlite").read_bytes()
    versionspace("run", tiny, "--methods", "gvd,random", "--seeds", "0,1", "--out", grid, "--set", "query.size=8")
    assert (grid / "gvd" / "0" / "ledger.sqlite").read_bytes() == before


def test_another_config_is_refused(grid, tiny):
    said = versionspace("run", tiny, "--methods", "gvd", "--out", grid, code=2).stderr
    assert "query.size: 8 before, 5 now" in said
    assert "Traceback" not in said


def test_verify_and_backup(grid, tmp_path):
    assert "intact: 4 campaigns" in versionspace("verify", grid).stdout
    versionspace("backup", grid, tmp_path / "copy")
    (tmp_path / "copy" / "gvd" / "0" / "votes" / "round-0001.npz").write_bytes(b"")
    said = versionspace("verify", tmp_path / "copy", code=1).stdout
    assert "round-0001.npz" in said
    assert "1 of 4" in said
    assert "one that is not empty" in versionspace("backup", grid, tmp_path / "copy", code=2).stderr


def test_resume_of_a_finished_run_is_done(grid):
    versionspace("resume", grid)
    assert "no folder" in versionspace("resume", grid / "nowhere", code=2).stderr


def test_labels_as_csv_and_lines_and_folders(grid, tmp_path):
    record = read_campaign(grid / "gvd" / "0")
    versionspace("export", grid / "gvd" / "0", "--labels", "csv", "--out", tmp_path / "l.csv")
    rows = list(csv.DictReader((tmp_path / "l.csv").read_text().splitlines()))
    assert {int(r["id"]): r["label"] for r in rows} == record.state.training_labels()
    versionspace("export", grid / "gvd" / "0", "--labels", "jsonl", "--out", tmp_path / "l.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "l.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == [int(r["id"]) for r in rows]
    versionspace("export", grid / "gvd" / "0", "--labels", "imagefolder", "--out", tmp_path / "images")
    digits = data.load("digits")
    for image, name in record.state.training_labels().items():
        pixels = np.asarray(Image.open(tmp_path / "images" / name / f"{image}.png"))
        assert (pixels == digits.train.take([image]).images[0, ..., 0]).all()
    assert "one that is not empty" in versionspace(
        "export", grid / "gvd" / "0", "--labels", "imagefolder", "--out", tmp_path / "images", code=2
    ).stderr  # fmt: skip


def test_an_exported_model_classifies_new_images(grid, tmp_path):
    record = read_campaign(grid / "gvd" / "0")
    part = data.load("digits").train.take(record.split()["test"])
    versionspace("export", grid / "gvd" / "0", "--model", "safetensors", "--out", tmp_path / "model")
    (tmp_path / "new").mkdir()
    for i in range(20):
        Image.fromarray(part.images[i, ..., 0]).save(tmp_path / "new" / f"{i:02d}.png")
    rows = list(csv.DictReader(versionspace("predict", tmp_path / "model", tmp_path / "new").stdout.splitlines()))
    probs = Ensemble.load(tmp_path / "model").predict_proba(part.images[:20], members=True).mean(axis=0)
    assert [r["class"] for r in rows] == [record.classes[c] for c in probs.argmax(axis=1)]
    assert [float(r["probability"]) for r in rows] == pytest.approx(probs.max(axis=1), abs=1e-4)
    (tmp_path / "new" / "00.png").write_bytes(b"broken")
    done = versionspace("predict", tmp_path / "model", tmp_path / "new", "--out", tmp_path / "p.csv", code=1)
    assert "00.png" in done.stderr
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 20
    if sys.platform == "linux":  # elsewhere all file names are text
        (tmp_path / "new" / "01.png").rename(tmp_path / "new" / os.fsdecode(b"caf\xe9.png"))
        versionspace("predict", tmp_path / "model", tmp_path / "new", "--out", tmp_path / "q.csv", code=1)
        assert r"caf\xe9.png" in (tmp_path / "q.csv").read_text(encoding="utf-8")
    assert "does not exist" in versionspace("predict", tmp_path / "model", tmp_path / "nowhere", code=2).stderr
    assert "export" in versionspace("predict", tmp_path, tmp_path / "new", code=2).stderr
    about = json.loads((tmp_path / "model" / "model.json").read_text())
    for wrong in ({}, [], about | {"classes": ["one"]}, about | {"images": {"shape": [8], "fit": "crop"}}):
        (tmp_path / "model" / "model.json").write_text(json.dumps(wrong))
        with pytest.raises(InputError, match="expected an exported model: .*, got .*versionspace export"):
            load_model(tmp_path / "model")
    assert "Traceback" not in versionspace("predict", tmp_path / "model", tmp_path / "new", code=2).stderr


def test_models_out(grid, tmp_path):
    import onnxruntime

    record = read_campaign(grid / "gvd" / "0")
    images = data.load("digits").train.take(record.split()["test"]).images
    versionspace("export", grid / "gvd" / "0", "--model", "safetensors", "--out", tmp_path / "model")
    ensemble = Ensemble.load(tmp_path / "model")
    assert (ensemble.votes(images) == record.votes(record.measured_rounds()[-1].number)).all()
    assert json.loads((tmp_path / "model" / "model.json").read_text())["classes"] == list(record.classes)
    versionspace("export", grid / "gvd" / "0", "--model", "safetensors", "--member", "1", "--out", tmp_path / "one")
    np.testing.assert_allclose(
        Ensemble.load(tmp_path / "one").predict_proba(images, members=True)[0],
        ensemble.predict_proba(images, members=True)[1],
        atol=1e-6,
    )
    said = versionspace("export", grid / "gvd" / "0", "--model", "onnx", "--out", tmp_path / "m.onnx").stdout
    assert "of torch's" in said
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    np.testing.assert_allclose(
        session.run(None, {"images": images})[0], ensemble.predict_proba(images, members=True).mean(axis=0), atol=1e-5
    )
    versionspace("export", grid / "gvd" / "0", "--model", "onnx", "--member", "2", "--out", tmp_path / "m2.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "m2.onnx"))
    np.testing.assert_allclose(
        session.run(None, {"images": images[:1]})[0], ensemble.predict_proba(images[:1], members=True)[2], atol=1e-5
    )
    assert session.get_modelmeta().custom_metadata_map["classes"].split("\n") == list(record.classes)
    assert "0 to 2" in versionspace("export", grid / "gvd" / "0", "--model", "onnx", "--member", "7", code=2).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("export {grid} --labels csv", "a grid of 4"),
        ("export {grid}/gvd/0", "one of --labels, --model and --predictions, got none"),
        ("export {grid}/gvd/0 --labels csv --model onnx", "got several"),
        ("export {grid}/gvd/0 --labels xls", "one of csv, jsonl, imagefolder, label-studio, got 'xls'"),
        ("export {grid}/gvd/0 --labels label-studio", "expected a campaign on a folder of images, got one on digits"),
        ("export {grid}/gvd/0 --model safetensors --member 9", "0 to 2, got 9. Leave it out for all members."),
        ("export {grid}/gvd/0 --model onnx --out {tiny}/m.onnx", "expected a folder that can be read and written"),
        ("backup {grid} .", "a file or folder by its name"),
        ("run nothing.toml", "preset"),
        ("run demo --seeds 3-x", "0-3"), ("run demo --methods gdv", "Did you mean 'gvd'"),
        ("run demo --set budget.totle=3", "budget.total"), ("run demo --set stop.when=flot(1)", "flat"),
        ("status nowhere", "versionspace run"),
        ("plan smal/mnist", "small/mnist"), ("presets smal/mnist", "small/mnist"),
        ("run demo --set data.name=nowhere --out {tmp}/x", "digits"),
        ("run {tiny} --set data.pool=99999 --out {tmp}/x", "too few"),
        ("run {tiny} --set training.epochs=many", "training.epochs: expected a whole number of at least 1, got 'many'"),
        ("run {tiny} --set training.rate=fast", "training.rate: expected a positive number, got 'fast'"),
        ("run {tiny} --set training.epochs=2.5", "training.epochs: expected a whole number of at least 1, got 2.5"),
        ("run {tiny} --methods gvd,badge --set query.member=all --out {tmp}/x", "since badge uses one, got 'all'"),
        ("run {tiny} --methods badge --set query.member=7 --out {tmp}/x", "0 to 2"),
        ("run {tiny} --set 'stop.when=flat(0, 0.0)' --out {tmp}/x", "a whole number of at least 1"),
        ("plan {tiny} --methods gvdd", "Did you mean 'gvd'"),
        ("export {grid}/gvd/0 --labels csv --out .", "expected a file to write, got a folder"),
        ("predict {tmp} {tmp} --out .", "expected a file to write, got a folder"),
    ],
)  # fmt: skip
def test_mistakes_are_sentences(words, said, grid, tiny, tmp_path, monkeypatch, capsys):
    place = tmp_path / "empty"
    place.mkdir()
    monkeypatch.setattr(sys, "argv", ["versionspace", *shlex.split(words.format(grid=grid, tiny=tiny, tmp=place))])
    monkeypatch.chdir(place)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    heard = " ".join(capsys.readouterr().err.split())
    assert said in heard
    assert "Traceback" not in heard
    assert list(place.iterdir()) == [], "nothing was made"


@pytest.mark.parametrize("command", ["status", "resume", "report", "export --labels csv"])
def test_a_config_that_is_no_longer_text_is_a_sentence(command, grid, tmp_path, monkeypatch, capsys):
    place = shutil.copytree(grid / "gvd" / "0", tmp_path / "c")
    (place / "campaign.toml").write_bytes(b"seed = 0\xff\n")
    verb, *options = command.split()
    monkeypatch.setattr(sys, "argv", ["versionspace", verb, str(place), *options])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    heard = "".join(capsys.readouterr().err.split())
    assert f"{place}/campaign.toml:expectedaconfiginUTF-8" in heard
    assert "/campaign.toml:expectedaconfiginUTF-8" in "".join(verify(place)[place][0].split())


def test_a_run_that_was_refused_can_be_mended_in_its_folder(tiny, tmp_path):
    out = tmp_path / "out"
    assert "too few" in versionspace("run", tiny, "--set", "data.pool=99999", "--out", out, code=2).stderr
    versionspace("run", tiny, "--set", "budget.total=10", "--methods", "random", "--out", out)
    assert read_campaign(out / "random" / "0").ended == "budget"


def test_a_plan_is_of_what_can_be_asked(tiny):
    said = versionspace("plan", tiny, "--methods", "random", "--set", "budget.total=100000").stdout
    assert re.search(r"campaigns\s+1, each with 29 rounds", said)
    assert "150: the pool has no more (the budget is 100000)" in " ".join(said.split())


def test_plan_says_what_it_would_take():
    said = versionspace("plan", "demo", "--methods", "gvd,dfal", "--seeds", "0").stdout
    assert re.search(r"campaigns\s+2, each with 7 rounds", said)
    for word in ("time", "memory", "disk", "dfal"):
        assert word in said


def test_presets_are_listed_and_shown():
    assert "small/mnist" in versionspace("presets").stdout
    assert "[budget]" in versionspace("presets", "demo").stdout


COMMANDS = ("run", "status", "resume", "verify", "backup", "export", "predict", "plan", "presets", "report")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command):
    said = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert said.exit_code == 0
    assert f"Example: versionspace {command}" in said.stdout


def test_shell_completion_is_there():
    assert "--install-completion" in CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout


def test_seeds():
    assert read_seeds("0-2, 5") == [0, 1, 2, 5]
    for wrong in ("", "a", "1-", "3-1"):
        with pytest.raises(InputError, match="0-3"):
            read_seeds(wrong)
