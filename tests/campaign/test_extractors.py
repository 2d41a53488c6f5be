"""Campaigns on the features of another extractor than the default."""

import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from campaign.tiny import config
from features.tiny_models import save_model
from versionspace.campaign import Campaign
from versionspace.cli.main import app
from versionspace.config import parse_config
from versionspace.ensemble import Ensemble
from versionspace.errors import InputError, MissingPackageError
from versionspace.store import StoreError, read_campaign

HEADS = """
[data]
name = "digits"
pool = 60
validation = 10
test = 20
initial = 10
[ensemble]
net = "heads"
members = 2
[training]
epochs = 2
[budget]
total = 20
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def begun(tmp_path):
    """The folder of a campaign after its first round; the model is in ``model`` beside it."""
    save_model("vit", tmp_path / "model")
    with Campaign.create(tmp_path / "c", heads(f"hf:{tmp_path / 'model'}")) as campaign:
        campaign.accept(campaign.oracle().answer(campaign.propose().ids))
        campaign.propose()
    return tmp_path / "c"


def heads(extractor):
    return parse_config(HEADS, "heads", [f"ensemble.extractor={extractor}"])


def test_a_campaign_runs_resumes_and_is_exported(begun, tmp_path):
    with Campaign.open(begun) as campaign:
        assert campaign.run().state.ended == "budget"
    record = read_campaign(begun)
    identity = record.state.begun["extractor"]
    assert identity.startswith("hf-model-")
    run = CliRunner().invoke
    assert run(app, ["export", str(begun), "--model", "safetensors", "--out", str(tmp_path / "out")]).exit_code == 0
    assert Ensemble.load(tmp_path / "out").inputs.extractor.identity == identity
    assert len(list((tmp_path / "cache/features").iterdir())) == 1


@pytest.mark.parametrize("accept_different", [True, False])
def test_changed_weights_are_rejected_on_resume(begun, tmp_path, accept_different):
    save_model("vit", tmp_path / "model", seed=1)
    with pytest.raises(
        StoreError, match=r"extractor: expected hf-model-\w+, as when the campaign began, got hf-model-"
    ):
        Campaign.open(begun, accept_different=accept_different)
    save_model("vit", tmp_path / "model")
    with Campaign.open(begun) as campaign:
        assert campaign.run().state.ended == "budget"


def test_a_campaign_that_has_ended_is_read_without_its_model(begun, tmp_path):
    with Campaign.open(begun) as campaign:
        campaign.run()
    shutil.rmtree(tmp_path / "model")
    with Campaign.open(begun) as campaign:
        assert campaign.state.ended == "budget"


def test_an_extractor_that_cannot_be_used_is_rejected_before_a_folder_is_made(tmp_path, monkeypatch):
    for extractor, error, message in (
        (f"hf:{tmp_path}/nothing", InputError, "expected a folder with config.json"),
        ("onnx:nothing.onnx", InputError, "expected an ONNX file, got no such file"),
        ("no.such.module:function", InputError, "package.module:function that can be imported"),
        ("torchvision:resnet18", MissingPackageError, r"pip install 'versionspace\[torchvision\]'"),
    ):
        monkeypatch.setitem(sys.modules, "torchvision", None)
        with pytest.raises(error, match=message):
            Campaign.create(tmp_path / "c", heads(extractor))
        assert not Path(tmp_path / "c").exists()


def test_run_accepts_an_extractor_as_a_change(tmp_path):
    path = tmp_path / "heads.toml"
    path.write_text(HEADS)
    save_model("vit", tmp_path / "model")
    extractor = f"ensemble.extractor=hf:{tmp_path / 'model'}"
    done = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "grid"), "--set", extractor])
    assert done.exit_code == 0, done.output
    record = read_campaign(tmp_path / "grid/gvd/0")
    assert record.state.ended == "budget"
    assert record.config.ensemble.extractor == f"hf:{tmp_path}/model"


def test_networks_that_see_pixels_record_no_extractor(tmp_path):
    with Campaign.create(tmp_path / "c", config()) as campaign:
        assert "extractor" not in campaign.state.begun
