"""Once labelling has ended, a final model is trained on all labels, also on those of the audit."""

import json
import time

import pytest
from typer.testing import CliRunner

import versionspace as vs
from label.serving import Client, Server
from versionspace.cli.main import app
from versionspace.label.service import LabelService
from versionspace.label.trainer import Trainer
from versionspace.store import read_campaign, verify


@pytest.fixture
def campaign(folder):
    """A campaign of 40 labels that has ended, still open."""
    folder.campaign(40, query={"size": 20})
    with vs.label_folder(folder.photos) as campaign:
        for proposal in campaign:
            campaign.accept({i: folder.truth[i] for i in proposal.ids})
        campaign.truth = folder.truth
        yield campaign


def test_it_has_seen_all_labels_and_the_estimate_is_from_before(campaign, tmp_path):
    audit = [i for ask in campaign.state.asks if ask.purpose == "audit" for i in ask.ids]
    last = campaign.state.metrics[max(campaign.state.metrics)]
    assert (campaign.state.final.labels, campaign.state.final.audit) == (40, len(audit))
    assert last.labels == 40 - len(audit), "no round is trained on the audit"
    assert campaign.audit == last.audit
    model, weights = tmp_path / "model", "weights.safetensors"
    done = CliRunner().invoke(app, ["export", str(campaign.folder.path), "--model", "safetensors", "--out", str(model)])
    assert "trained on all 40 labels, including the 6 of the audit. The estimated accuracy, " in done.output
    assert json.loads((model / "model.json").read_text())["labels"] == 40
    assert (model / weights).read_bytes() == (campaign.folder.final_weights / weights).read_bytes()
    before = campaign.folder.weights(max(campaign.state.metrics)) / weights
    assert (model / weights).read_bytes() != before.read_bytes()
    assert [one.name for one in campaign.model().predict(model.parent / "photos")] == [
        one.name for one in vs.campaign.load_model(model).predict(model.parent / "photos")
    ]


def test_it_is_trained_once_and_again_after_a_correction(campaign):
    assert campaign.propose() is None
    assert [kind for kind in _kinds(campaign) if kind in ("ended", "final")] == ["ended", "final"]
    first = campaign.state.final.weights_sha256
    image = next(iter(campaign.state.training_labels()))
    campaign.accept({image: "0" if campaign.truth[image] != "0" else "1"})
    campaign.reopen()
    assert campaign.state.final is None
    assert campaign.propose() is None
    assert campaign.state.final.weights_sha256 != first
    assert read_campaign(campaign.folder).state.final == campaign.state.final
    assert verify(campaign.folder.path) == {campaign.folder.path: []}
    (campaign.folder.final_weights / "weights.safetensors").write_bytes(b"damaged")
    assert any("final" in problem for problem in verify(campaign.folder.path)[campaign.folder.path])


def test_none_is_trained_where_the_dataset_answers_or_nothing_was_audited(tmp_path, folder):
    changes = ["ensemble.members=2", "training.epochs=2", "budget.total=30", "budget.audit=10", "data.pool=100"]
    with vs.Campaign.create(tmp_path / "demo", vs.config.read_config("demo", changes)) as campaign:
        assert campaign.run().state.ended
        assert campaign.state.final is None
    folder.campaign(20, budget={"audit": 0})
    with vs.label_folder(folder.photos) as campaign:
        for proposal in campaign:
            campaign.accept({i: folder.truth[i] for i in proposal.ids})
        assert (campaign.state.ended, campaign.state.final) == ("budget", None)
        assert campaign.model().classes == folder.classes


def test_one_that_missed_an_answer_is_dropped(campaign):
    campaign.reopen(41)
    proposal = campaign.propose()
    campaign.accept({i: campaign.truth[i] for i in proposal.ids[:1]})
    service = LabelService(campaign)
    assert not service.final_model_due()
    campaign.commit(campaign.runner.run(campaign.state, max(campaign.state.metrics) + 1))
    assert service.final_model_due()
    message = Trainer(campaign.folder.path, lambda _: None).final()
    service.commit_final_model(message["body"], service.counts.last_answer - 1)
    assert campaign.state.final is None
    service.commit_final_model(message["body"], message["last_event"])
    assert campaign.state.final.labels == 41
    assert not service.final_model_due()


def test_the_page_trains_it_and_the_terminal_says_so(folder):
    with Server(folder.campaign(24)) as server:
        client = Client(server)
        while tasks := client.next()["tasks"]:
            client.answer(tasks[0]["image"], folder.truth[tasks[0]["image"]])
        limit = time.monotonic() + 60
        while (final := read_campaign(server.folder).state.final) is None and time.monotonic() < limit:
            time.sleep(0.1)
        assert (final.labels, final.audit) == (24, 4)
        client.close()
        assert server.stop() == 130
        assert (
            "The final model is trained on all 24 labels, including the 4 of the audit."
            in (server.folder / ".server.log").read_text()
        )
        assert verify(server.folder) == {server.folder: []}


def _kinds(campaign):
    kinds = []
    campaign.subscribe(lambda event: kinds.append(event.kind))
    return kinds
