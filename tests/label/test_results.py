"""Results that the page offers: labels, predictions of all other images, the model; checks on request; the target."""

import csv
import io
import time
import zipfile

import httpx
import pytest
from typer.testing import CliRunner

import versionspace as vs
from label.serving import Client, Server
from versionspace.campaign import load_model, spare_random_images
from versionspace.cli.main import app
from versionspace.errors import InputError
from versionspace.label.label_studio import choices
from versionspace.label.model_check import check_is_due, random_images_left, request_check
from versionspace.label.results import request_result
from versionspace.store import read_campaign, verify


def wait_for(client, ready, seconds=60):
    limit = time.monotonic() + seconds
    while not ready(status := client.status()):
        assert time.monotonic() < limit, status
        time.sleep(0.1)
    return status


def label(client, truth, count):
    for _ in range(count):
        image = client.next()["tasks"][0]["image"]
        client.answer(image, truth[image])


def test_files_are_made_by_a_model_that_knows_all_labels(folder, tmp_path):
    with Server(folder.campaign(60)) as server:
        client = Client(server)
        with pytest.raises(httpx.HTTPStatusError, match="409"):
            client.post("/api/results", kind="predictions")
        label(client, folder.truth, 20)
        wait_for(client, lambda status: status["round"] and status["training"]["stage"] == "idle")
        label(client, folder.truth, 3)
        assert client.http.get("/api/results/predictions").status_code == 409, "not made yet"
        for kind in ("predictions", "model"):
            client.post("/api/results", kind=kind)
        done = wait_for(client, lambda status: all(
            status["results"]["files"][kind]["state"] == "ready" for kind in ("predictions", "model")
        ))  # fmt: skip
        trained = len(read_campaign(server.folder).state.training_labels())
        assert done["results"]["behind"] == 0
        assert {done["results"]["files"][kind]["labels"] for kind in ("predictions", "model")} == {trained}
        assert done["results"]["files"]["predictions"]["current"]

        reply = client.http.get("/api/results/predictions")
        assert reply.headers["content-disposition"] == 'attachment; filename="predictions.csv"'
        rows = list(csv.DictReader(io.StringIO(reply.text)))
        labelled = {row["file"] for row in csv.DictReader(io.StringIO(client.http.get("/api/labels.csv").text))}
        files = {path.name for path in folder.photos.iterdir()}
        assert {row["file"] for row in rows} == files - labelled
        assert len(rows) == done["results"]["unlabelled"] == 120 - 23
        assert all(0 < float(row["probability"]) <= 1 and row["class"] in folder.classes for row in rows)

        with zipfile.ZipFile(io.BytesIO(client.http.get("/api/results/model").content)) as archive:
            archive.extractall(tmp_path / "zip")
        found = {one.item.name: one.name for one in load_model(tmp_path / "zip" / "model").predict(folder.photos)}
        assert all(found[row["file"]] == row["class"] for row in rows)

        studio = client.http.get("/api/labels.json").json()
        assert {(one.image, one.name) for one in choices(studio)} == {
            (image, given.name) for image, given in read_campaign(server.folder).state.labels.items()
        }
        table = tmp_path / "predictions.csv"
        done = CliRunner().invoke(app, ["export", str(server.folder), "--predictions", "--out", str(table)])
        assert f"predictions for {120 - 23} images without a label written to" in done.output
        assert table.read_text() == reply.text, "the command writes the same table, while the page is open"

        label(client, folder.truth, 1)
        old = client.status()["results"]["files"]["predictions"]
        assert (old["state"], old["current"]) == ("ready", False), "a label came since"
        client.close()


def test_a_file_that_cannot_be_made_says_why_and_training_continues(folder):
    with Server(folder.campaign(60)) as server:
        client = Client(server)
        label(client, folder.truth, 16)
        wait_for(client, lambda status: status["round"])
        (server.folder / ".results").write_text("in the way")
        client.post("/api/results", kind="model")
        failed = wait_for(client, lambda status: status["results"]["files"]["model"]["problem"])
        assert failed["results"]["files"]["model"]["state"] == "none"
        assert failed["training"]["stage"] != "down"
        (server.folder / ".results").unlink()
        client.post("/api/results", kind="model")
        wait_for(client, lambda status: status["results"]["files"]["model"]["state"] == "ready")
        client.close()


def test_random_images_come_next_are_not_trained_on_and_the_model_is_measured_on_them(folder):
    with Server(folder.campaign(60)) as server:
        client = Client(server)
        with pytest.raises(httpx.HTTPStatusError, match="409"):
            client.post("/api/check", images=12)
        label(client, folder.truth, 20)
        wait_for(client, lambda status: status["round"] and status["training"]["stage"] == "idle")
        before = read_campaign(server.folder).state
        answered = sum(i in before.labels for ask in before.asks if ask.purpose == "audit" for i in ask.ids)
        left = 10 - answered
        assert client.post("/api/check", images=12)["budget"] == 60 + 12 - left
        assert client.status()["light"]["checking"] == 12
        label(client, folder.truth, 12)
        state = read_campaign(server.folder).state
        audit = [i for ask in state.asks if ask.purpose == "audit" for i in ask.ids]
        assert sum(i in state.labels for i in audit) == answered + 12
        assert state.training_labels().keys() == before.training_labels().keys()
        measured = wait_for(client, lambda status: status["curves"][-1]["audit"]["images"] == answered + 12)
        assert measured["light"]["checking"] == 0
        client.close()
        assert verify(server.folder) == {server.folder: []}


def test_a_check_reopens_a_campaign_that_has_ended(folder):
    folder.campaign(24)
    with vs.label_folder(folder.photos) as campaign:
        for proposal in campaign:
            campaign.accept({i: folder.truth[i] for i in proposal.ids})
        from versionspace.label.service import LabelService

        service = LabelService(campaign)
        assert (bool(campaign.state.ended), campaign.state.final.labels) == (True, 24)
        assert request_check(service, 5) == 29
        assert (campaign.state.ended, random_images_left(service), check_is_due(service)) == ("", 5, False)
        questions = service.next_questions("tab", "", [], 9).questions
        assert len(questions) == 5
        assert {question.image for question in questions} <= set(campaign.images.roles.reference.tolist())
        with pytest.raises(InputError, match="a whole number from 1 to"):
            request_check(service, spare_random_images(campaign) + 1)
        for proposal in campaign:
            campaign.accept({i: folder.truth[i] for i in proposal.ids})
        assert (campaign.audit.images, campaign.state.final.labels, campaign.state.final.audit) == (9, 29, 9)


def test_the_target_is_an_option_and_can_be_changed(folder, tmp_path):
    options = {"budget": 20, "net": "small", "campaign": tmp_path / "c"}
    for wrong in (0, 1, 1.5, "90", True):
        with pytest.raises(InputError, match="an accuracy between 0 and 1"):
            vs.label_folder(folder.photos, folder.classes, target=wrong, **options)
    assert not (tmp_path / "c").exists()

    def target(campaign):
        return campaign.state.target(campaign.config.stop.target)

    with vs.label_folder(folder.photos, folder.classes, target=0.9, **options) as campaign:
        assert target(campaign) == campaign.config.stop.target == 0.9
    with vs.label_folder(campaign=tmp_path / "c", target=0.7) as campaign:
        assert target(campaign) == 0.7
    with vs.label_folder(campaign=tmp_path / "c") as campaign:
        assert target(campaign) == 0.7
    done = CliRunner().invoke(app, ["label", "--campaign", str(tmp_path / "c"), "--target", "90"])
    assert "--target: expected an accuracy between 0 and 1, got 90.0. For example 0.9, for 90%." in str(done.exception)
    assert verify(tmp_path / "c") == {tmp_path / "c": []}


def test_a_request_needs_a_newer_model_only_if_labels_came_since(service):
    with pytest.raises(InputError, match="a trained model"):
        request_result(service, "model")
    questions = service.next_questions("tab", "", [], 12).questions
    service.campaign.accept({q.image: service.truth[q.image] for q in questions})
    service.campaign.commit(service.campaign.runner.run(service.state, 1))
    request_result(service, "model")
    assert service.results.next_request() == {"result": "model", "to": str(service.results.path("model"))}
    questions = service.next_questions("tab", "", [], 4).questions
    service.campaign.accept({q.image: service.truth[q.image] for q in questions})
    assert service.labels_behind()
    request_result(service, "predictions")
    assert service.results.next_request() is None
    assert service.next_round_size() is not None
    service.results.model_trained(service.counts.last_answer - 1)
    assert service.results.next_request() is None, "that model was trained on older labels"
    service.results.model_trained(service.counts.last_answer)
    assert service.results.next_request()["result"] == "model"
