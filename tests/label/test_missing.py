"""Image files that are deleted, edited, moved or restored during a campaign: labelling continues without loss."""

import csv
import json
import logging
import shutil
from hashlib import sha256

import numpy as np
import pytest
from typer.testing import CliRunner

import versionspace as vs
from versionspace.campaign.campaign import Campaign
from versionspace.campaign.export import exported_labels
from versionspace.campaign.metrics import kappa
from versionspace.cli.main import app
from versionspace.errors import InputError
from versionspace.label.guesses import reconcile_round, save_guesses
from versionspace.label.image_encoding import ImageEncoder
from versionspace.label.messages import Answer, Guesses
from versionspace.label.service import LabelService
from versionspace.label.status import page_status
from versionspace.store import Ask, Event, Label, State, read_arrays, read_campaign, verify, write_arrays


class Files:
    """The files of a folder by image id, as they were at the start."""

    def __init__(self, folder):
        self.folder, self.away = folder, folder.photos.with_name("away")
        self.names = {sha256(f.read_bytes()).hexdigest(): f.name for f in sorted(folder.photos.iterdir())}

    def path(self, image):
        return self.folder.photos / self.names[image]

    def remove(self, *images):
        self.away.mkdir(exist_ok=True)
        for image in images:
            self.path(image).rename(self.away / self.names[image])

    def restore(self):
        for file in self.away.iterdir():
            file.rename(self.folder.photos / file.name)


@pytest.fixture
def files(folder):
    return Files(folder)


def answered(folder, campaign, rounds=0):
    """Answer the audit, or this many rounds, correctly and return the next proposal."""
    while True:
        proposal = campaign.propose()
        if proposal.round > rounds or (not rounds and proposal.purpose != "audit"):
            return proposal
        campaign.accept({i: folder.truth[i] for i in proposal.ids}, who="anna")


def export(folder, form):
    out = folder.photos.with_name(f"out.{form}")
    words = ["export", str(folder.photos.with_name("photos.versionspace")), "--labels", form, "--out", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.exception
    return out, done.output


@pytest.mark.parametrize("how", ["deleted", "edited"])
def test_a_missing_image_is_left_out_and_its_label_kept(folder, files, caplog, how):
    with Campaign.open(folder.campaign(60)) as campaign:
        answered(folder, campaign, rounds=1)
        labelled = next(iter(campaign.state.training_labels()))
        spent = campaign.state.spent()
    content = files.path(labelled).read_bytes()
    files.path(labelled).unlink()
    if how == "edited":
        shutil.copy(files.folder.photos / min(f for i, f in files.names.items() if i != labelled), files.path(labelled))
        files.path(labelled).write_bytes(files.path(labelled).read_bytes() + b"\0")
    with caplog.at_level(logging.WARNING), vs.label_folder(folder.photos) as campaign:
        assert "1 of 120 images is missing or has changed since labelling began: " in caplog.text
        assert files.names[labelled] in caplog.text
        assert labelled not in campaign.state.training_labels()
        assert campaign.state.spent() == spent, "the label still counts"
        before = len(campaign.state.training_labels())
        proposal = answered(folder, campaign, rounds=2)
        assert campaign.state.metrics[proposal.round].labels >= before
        assert campaign.state.metrics[proposal.round].sets["pool"].images == 119
    (row,) = [r for r in csv.DictReader(export(folder, "csv")[0].read_text().splitlines()) if r["missing"]]
    assert (row["id"], row["file"], row["label"]) == (labelled, files.names[labelled], folder.truth[labelled])
    lines = [json.loads(line) for line in export(folder, "jsonl")[0].read_text().splitlines()]
    assert [line["file"] for line in lines if line.get("missing")] == [files.names[labelled]]
    tasks = json.loads(export(folder, "label-studio")[0].read_text())
    assert [task["data"]["image"] for task in tasks if task["meta"].get("missing")] == [files.names[labelled]]
    out, said = export(folder, "imagefolder")
    there = {sha256(f.read_bytes()).hexdigest() for f in out.rglob("*.png")}
    assert there == set(read_campaign(campaign.folder).state.labels) - {labelled}
    assert f"labelled images is missing from the folder, or has changed since: {files.names[labelled]}." in said
    files.path(labelled).write_bytes(content)
    with vs.label_folder(folder.photos) as campaign:
        assert campaign.state.training_labels()[labelled] == folder.truth[labelled]
        assert campaign.state.missing == frozenset()
    assert not any(one.missing for one in exported_labels(read_campaign(campaign.folder)))
    assert verify(campaign.folder.path) == {campaign.folder.path: []}


def test_missing_images_do_not_block_a_round_and_are_asked_once_restored(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        audit = campaign.propose().ids
        files_gone = list(audit[:2])
        files.remove(*files_gone)
    with vs.label_folder(folder.photos) as campaign:
        assert campaign.propose().ids == audit[2:]
        asked = answered(folder, campaign, rounds=1)
        assert asked.round == 2
        files.remove(*asked.ids)
    with vs.label_folder(folder.photos) as campaign:
        later = answered(folder, campaign, rounds=2)
        assert later.round == 3
        assert not set(asked.ids) & set(later.ids)
        assert campaign.state.asks[-2].closed, "otherwise they could not be asked again"
    files.restore()
    with vs.label_folder(folder.photos) as campaign:
        assert campaign.propose().ids == tuple(files_gone), "the audit comes first"
        campaign.accept({i: folder.truth[i] for i in files_gone})
        for proposal in campaign:
            campaign.accept({i: folder.truth[i] for i in proposal.ids})
        assert campaign.state.spent() == 60
        assert campaign.state.metrics[max(campaign.state.metrics)].audit.images == len(audit)
        assert campaign.state.problems == []
    assert verify(campaign.folder.path) == {campaign.folder.path: []}


def test_a_round_closes_the_previous_one_even_if_only_missing_images_are_unanswered():
    ask = Ask(0, 0, "cold start", ("a", "b"), (0.0, 0.0))
    state = State(asks=[ask], places={"a": (ask, 0), "b": (ask, 1)}, missing=frozenset("b"))
    state.labels["a"] = Label("cat", 0, 0, "", 1)
    assert not state.is_open(ask)
    assert [e.kind for e in reconcile_round([Event("measured", 1)], state, room=5, is_last=False)] == [
        "closed",
        "measured",
    ]


def test_distances_are_measured_on_the_images_that_are_present(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        answered(folder, campaign, rounds=1)
        reference = campaign.images.roles.reference
    files.remove(*reference[:3])
    with vs.label_folder(folder.photos) as campaign:
        answered(folder, campaign, rounds=2)
        found = campaign.state.metrics
    assert [found[n].sets["reference"].images for n in (2, 3)] == [len(reference), len(reference) - 3]
    assert "reference_ids" not in read_arrays(campaign.folder.votes(2))
    assert (read_arrays(campaign.folder.votes(3))["reference_ids"] == reference[3:]).all()


def test_two_rounds_are_compared_on_the_images_of_both(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        reference, votes = campaign.images.roles.reference, campaign.folder.votes
    draw = np.random.default_rng(0).integers(0, 3, (2, len(reference)))
    write_arrays(votes(1), {"reference_vote": draw[0]})
    write_arrays(votes(2), {"reference_vote": draw[0][:-1], "reference_ids": reference[:-1]})
    files.remove(*reference[:3])
    with vs.label_folder(folder.photos) as campaign:
        assert campaign.runner._kappa(campaign.state, 2, draw[1][3:]) == kappa(draw[0][3:], draw[1][3:])
        assert campaign.runner._kappa(campaign.state, 3, draw[1][3:]) == kappa(draw[0][3:-1], draw[1][3:-1])
        assert campaign.runner._kappa(campaign.state, 4, draw[1][3:]) is None


def test_without_reference_images_opening_fails_and_labels_can_be_exported(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        answered(folder, campaign)
        reference = campaign.images.roles.reference.tolist()
    split = campaign.folder.split.read_bytes()
    files.remove(*reference)
    first = min(files.names[i] for i in reference)
    with pytest.raises(InputError, match=f"at least one of the {len(reference)} images .* got none: {first}"):
        vs.label_folder(folder.photos)
    assert len(export(folder, "csv")[0].read_text().splitlines()) == 11
    campaign.folder.split.write_bytes(b"")
    assert len(export(folder, "csv")[0].read_text().splitlines()) == 11, "even if the split is damaged"
    campaign.folder.split.write_bytes(split)
    shutil.rmtree(folder.photos)
    with pytest.raises(InputError, match="the folder of images that the campaign began with, got no folder there"):
        vs.label_folder(campaign=campaign.folder.path)
    export(folder, "jsonl")
    assert {one.file for one in exported_labels(read_campaign(campaign.folder))} <= set(files.names.values())


def test_all_labelled_images_may_be_missing(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        answered(folder, campaign, rounds=1)
        files.remove(*campaign.state.training_labels())
    with vs.label_folder(folder.photos) as campaign:
        for ask in campaign.state.asks:
            campaign.accept(dict.fromkeys(campaign.state.unanswered(ask)))
        with pytest.raises(InputError, match="at least one label to train on, got none, since"):
            campaign.propose()
        service = LabelService(campaign)
        assert service.next_round_size() is None
        assert service.next_questions("tab", "", (), 1).questions, "labelling continues"


def test_a_label_is_never_exported_for_another_file_of_the_same_name(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        first = answered(folder, campaign)
        campaign.accept({first.ids[0]: "0", first.ids[1]: "1"})
    files.path(first.ids[0]).unlink()
    files.path(first.ids[1]).rename(files.path(first.ids[0]))
    found = {one.id: one for one in exported_labels(read_campaign(campaign.folder))}
    assert (found[first.ids[0]].file, found[first.ids[0]].missing) == ("", True)
    assert (found[first.ids[1]].file, found[first.ids[1]].name) == (files.names[first.ids[0]], "1")


def test_the_page_lists_missing_images_and_never_asks_for_them(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        service = LabelService(campaign)
        mine = service.next_questions("tab", "", (), 4).questions
        for n, question in enumerate(mine[:3]):
            service.answer("tab", "", [Answer(f"answer-{n}", "class", question.image, folder.truth[question.image])])
        service.answer("tab", "", [Answer("answer-u", "undo", mine[2].image, undoes="answer-2")])
        rows = np.arange(len(service.pool))
        save_guesses(campaign.folder, Guesses.of(1, folder.classes, rows % 3, 0.4 + rows / 1000, service.pool), 0)
        about = {i: service.pool.index(i) for i in service.pool}
    gone = [mine[0].image, mine[2].image, mine[3].image]
    files.remove(*gone)
    with vs.label_folder(folder.photos) as campaign:
        service, showing = (
            LabelService(campaign),
            ImageEncoder(folder.photos, campaign.dataset, campaign.images.files),
        )
        shown = page_status(service, None, showing, "tab", "")
        assert [t.partition(":")[0] for t in shown["troubles"]] == sorted(files.names[i] for i in gone)
        assert sum(c["labels"] for c in shown["classes"]) == 1
        assert shown["done"] == 2
        other = next(i for i in service.pool if i not in gone)
        assert service.guesses.about(other).name == folder.classes[about[other] % 3]
        served, image = set(), "none"
        while questions := service.next_questions("tab", "", (), 5).questions:
            for n, question in enumerate(questions):
                image = question.image
                served.add(image)
                service.answer("tab", "", [Answer(f"more-{len(served)}-{n}", "class", image, folder.truth[image])])
        assert not served & set(gone)
        assert service.spent() == 60
        assert campaign.state.problems == []


def test_the_service_leaves_out_images_that_the_trainer_found_missing(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        service = LabelService(campaign)
        questions = service.next_questions("tab", "", (), 3).questions
        first, second, third = (question.image for question in questions)
        for n, image in enumerate((first, second)):
            service.answer("tab", "", [Answer(f"answer-{n}", "class", image, folder.truth[image])])
        unseen = [i for i in service.covering.ids if i not in campaign.state.places]
        service.set_missing([first, third, *unseen])
        assert service.class_counts() == {c: int(c == folder.truth[second]) for c in folder.classes}
        service.answer("tab", "", [Answer("corrected", "skip", first)])
        assert sum(service.class_counts().values()) == 1
        served = {q.image for q in service.next_questions("tab", "", (), 12).questions}
        assert not served & {third, *unseen}
        service.set_missing([])
        assert third in {q.image for q in service.next_questions("tab", "", (), 12).questions}


def test_restored_files_are_asked_for_without_a_restart(folder):
    with Campaign.open(folder.campaign(60)) as campaign:
        service = LabelService(campaign)
        first, second = (question.image for question in service.next_questions("tab", "", (), 2).questions)
        other = "0" if folder.truth[second] != "0" else "1"
        service.answer(
            "tab", "anna", [Answer("answer-0", "class", first, "1"), Answer("answer-1", "class", second, other)]
        )
        service.answer("tab", "eve", [Answer("answer-2", "class", second, folder.truth[second])])
        service.answer("tab", "anna", [Answer("answer-u", "undo", first, undoes="answer-0")])
        unseen = [i for i in service.covering.ids if i not in campaign.state.places]
        whole = service.covering.choose(5)
        assert (service.history.returned, list(service.history.doubtful)) == ({first: "anna"}, [second])
        service.set_missing([first, second, *unseen])
        assert (service.history.returned, list(service.history.doubtful), service.covering.left) == ({}, [], 0)
        assert first not in {question.image for question in service.next_questions("tab", "anna", (), 12).questions}
        service.set_missing(unseen[:1])
        assert service.covering.left == len(unseen) - 1, "all but one are back"
        service.set_missing([])
        assert (service.history.returned, list(service.history.doubtful)) == ({first: "anna"}, [second])
        assert service.covering.choose(5) == whole
        assert service.next_questions("tab", "anna", (), 1).questions[0].image == first
        while questions := service.next_questions("tab", "anna", (), 12).questions:
            service.answer("tab", "anna", [Answer(f"a-{q.image[:20]}", "bad", q.image) for q in questions])
        assert set(unseen) <= set(campaign.state.labels)
        assert campaign.state.problems == []


def test_there_is_no_guess_about_an_image_that_was_missing():
    found = Guesses.of(1, ("cat", "dog"), np.array([1, 0]), np.array([0.9, 0.0]), ("a", "b"))
    assert (found.about("a").name, found.about("b")) == ("dog", None)
