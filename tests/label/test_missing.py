"""Images that go, change, move or come back while a person's campaign rests: nothing is lost, and the rest goes on."""

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
from versionspace.label.guesses import fitting, keep
from versionspace.label.image_encoding import ImageEncoder
from versionspace.label.messages import Answer, Guesses
from versionspace.label.service import Desk
from versionspace.label.status import status
from versionspace.store import Ask, Event, Label, State, read_arrays, read_campaign, verify, write_arrays


class Files:
    """A folder's files by the id of their image, as it began."""

    def __init__(self, folder):
        self.folder, self.away = folder, folder.photos.with_name("away")
        self.names = {sha256(f.read_bytes()).hexdigest(): f.name for f in sorted(folder.photos.iterdir())}

    def path(self, image):
        return self.folder.photos / self.names[image]

    def take(self, *images):
        self.away.mkdir(exist_ok=True)
        for image in images:
            self.path(image).rename(self.away / self.names[image])

    def bring_back(self):
        for file in self.away.iterdir():
            file.rename(self.folder.photos / file.name)


@pytest.fixture
def files(folder):
    return Files(folder)


def answered(folder, campaign, rounds=0):
    """The first asks, or so many rounds, answered as they are."""
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
def test_an_image_that_is_gone_is_left_out_and_its_label_kept(folder, files, caplog, how):
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
        assert campaign.state.spent() == spent, "the label was given"
        before = len(campaign.state.training_labels())
        proposal = answered(folder, campaign, rounds=2)
        assert campaign.state.metrics[proposal.round].labels >= before
        assert campaign.state.metrics[proposal.round].sets["pool"].images == 119
    (row,) = [r for r in csv.DictReader(export(folder, "csv")[0].read_text().splitlines()) if r["missing"]]
    assert (row["id"], row["file"], row["class"]) == (labelled, files.names[labelled], folder.truth[labelled])
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


def test_images_that_are_asked_for_and_gone_hold_nothing_up_and_are_asked_when_they_are_back(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        audit = campaign.propose().ids
        files_gone = list(audit[:2])
        files.take(*files_gone)
    with vs.label_folder(folder.photos) as campaign:
        assert campaign.propose().ids == audit[2:]
        asked = answered(folder, campaign, rounds=1)
        assert asked.round == 2
        files.take(*asked.ids)
    with vs.label_folder(folder.photos) as campaign:
        later = answered(folder, campaign, rounds=2)
        assert later.round == 3
        assert not set(asked.ids) & set(later.ids)
        assert campaign.state.asks[-2].closed, "or they could not be asked anew"
    files.bring_back()
    with vs.label_folder(folder.photos) as campaign:
        assert campaign.propose().ids == tuple(files_gone), "the audit's come first"
        campaign.accept({i: folder.truth[i] for i in files_gone})
        for proposal in campaign:
            campaign.accept({i: folder.truth[i] for i in proposal.ids})
        assert campaign.state.spent() == 60
        assert campaign.state.metrics[max(campaign.state.metrics)].audit.images == len(audit)
        assert campaign.state.problems == []
    assert verify(campaign.folder.path) == {campaign.folder.path: []}


def test_a_round_closes_the_one_before_though_only_images_that_are_gone_have_no_answer():
    ask = Ask(0, 0, "cold start", ("a", "b"), (0.0, 0.0))
    state = State(asks=[ask], places={"a": (ask, 0), "b": (ask, 1)}, missing=frozenset("b"))
    state.labels["a"] = Label("cat", 0, 0, "", 1)
    assert not state.is_open(ask)
    assert [e.kind for e in fitting([Event("measured", 1)], state, room=5, over=False)] == ["closed", "measured"]


def test_distances_are_measured_on_the_images_that_are_there(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        answered(folder, campaign, rounds=1)
        reference = campaign.images.roles.reference
    files.take(*reference[:3])
    with vs.label_folder(folder.photos) as campaign:
        answered(folder, campaign, rounds=2)
        found = campaign.state.metrics
    assert [found[n].sets["reference"].images for n in (2, 3)] == [len(reference), len(reference) - 3]
    assert "reference_ids" not in read_arrays(campaign.folder.votes(2))
    assert (read_arrays(campaign.folder.votes(3))["reference_ids"] == reference[3:]).all()


def test_two_rounds_are_compared_on_the_images_that_both_had(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        reference, votes = campaign.images.roles.reference, campaign.folder.votes
    draw = np.random.default_rng(0).integers(0, 3, (2, len(reference)))
    write_arrays(votes(1), {"reference_vote": draw[0]})
    write_arrays(votes(2), {"reference_vote": draw[0][:-1], "reference_ids": reference[:-1]})
    files.take(*reference[:3])
    with vs.label_folder(folder.photos) as campaign:
        assert campaign.runner._kappa(2, draw[1][3:]) == kappa(draw[0][3:], draw[1][3:])
        assert campaign.runner._kappa(3, draw[1][3:]) == kappa(draw[0][3:-1], draw[1][3:-1])
        assert campaign.runner._kappa(4, draw[1][3:]) is None


def test_without_any_image_to_measure_distances_on_it_says_so_and_labels_are_exported(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        answered(folder, campaign)
        reference = campaign.images.roles.reference.tolist()
    split = campaign.folder.split.read_bytes()
    files.take(*reference)
    first = min(files.names[i] for i in reference)
    with pytest.raises(InputError, match=f"at least one of the {len(reference)} images .* got none: {first}"):
        vs.label_folder(folder.photos)
    assert len(export(folder, "csv")[0].read_text().splitlines()) == 11
    campaign.folder.split.write_bytes(b"")
    assert len(export(folder, "csv")[0].read_text().splitlines()) == 11, "whatever else is damaged"
    campaign.folder.split.write_bytes(split)
    shutil.rmtree(folder.photos)
    with pytest.raises(InputError, match="the folder of images that the campaign began with, got no folder there"):
        vs.label_folder(campaign=campaign.folder.path)
    export(folder, "jsonl")
    assert {one.file for one in exported_labels(read_campaign(campaign.folder))} <= set(files.names.values())


def test_all_images_with_labels_may_be_gone(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        answered(folder, campaign, rounds=1)
        files.take(*campaign.state.training_labels())
    with vs.label_folder(folder.photos) as campaign:
        for ask in campaign.state.asks:
            campaign.accept(dict.fromkeys(campaign.state.unanswered(ask)))
        with pytest.raises(InputError, match="at least one label to train on, got none, since"):
            campaign.propose()
        desk = Desk(campaign)
        assert desk.order() is None
        assert desk.next("tab", "", (), 1).tasks, "labelling goes on"


def test_a_label_is_never_given_to_the_file_that_has_the_name_now(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        first = answered(folder, campaign)
        campaign.accept({first.ids[0]: "0", first.ids[1]: "1"})
    files.path(first.ids[0]).unlink()
    files.path(first.ids[1]).rename(files.path(first.ids[0]))
    found = {one.id: one for one in exported_labels(read_campaign(campaign.folder))}
    assert (found[first.ids[0]].file, found[first.ids[0]].missing) == ("", True)
    assert (found[first.ids[1]].file, found[first.ids[1]].name) == (files.names[first.ids[0]], "1")


def test_the_page_says_what_is_missing_and_never_asks_for_it(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        desk = Desk(campaign)
        mine = desk.next("tab", "", (), 4).tasks
        for n, task in enumerate(mine[:3]):
            desk.answer("tab", "", [Answer(f"answer-{n}", "class", task.image, folder.truth[task.image])])
        desk.answer("tab", "", [Answer("answer-u", "undo", mine[2].image, of="answer-2")])
        rows = np.arange(len(desk.pool))
        keep(campaign.folder, Guesses.of(1, folder.classes, rows % 3, 0.4 + rows / 1000, desk.pool))
        about = {i: desk.pool.index(i) for i in desk.pool}
    gone = [mine[0].image, mine[2].image, mine[3].image]
    files.take(*gone)
    with vs.label_folder(folder.photos) as campaign:
        desk, showing = Desk(campaign), ImageEncoder(folder.photos, campaign.dataset, campaign.images.files)
        told = status(desk, None, showing, "tab", "")
        assert [t.partition(":")[0] for t in told["troubles"]] == sorted(files.names[i] for i in gone)
        assert sum(c["labels"] for c in told["classes"]) == 1
        assert told["done"] == 2
        other = next(i for i in desk.pool if i not in gone)
        assert desk.guesses.about(other).name == folder.classes[about[other] % 3]
        served, image = set(), "none"
        while tasks := desk.next("tab", "", (), 5).tasks:
            for n, task in enumerate(tasks):
                image = task.image
                served.add(image)
                desk.answer("tab", "", [Answer(f"more-{len(served)}-{n}", "class", image, folder.truth[image])])
        assert not served & set(gone)
        assert desk.spent() == 60
        assert campaign.state.problems == []


def test_the_page_takes_over_what_the_trainer_found(folder, files):
    with Campaign.open(folder.campaign(60)) as campaign:
        desk = Desk(campaign)
        tasks = desk.next("tab", "", (), 3).tasks
        first, second, third = (task.image for task in tasks)
        for n, image in enumerate((first, second)):
            desk.answer("tab", "", [Answer(f"answer-{n}", "class", image, folder.truth[image])])
        unseen = [i for i in desk.spread.ids if i not in campaign.state.places]
        desk.without([first, third, *unseen])
        assert desk.classes() == {c: int(c == folder.truth[second]) for c in folder.classes}
        desk.answer("tab", "", [Answer("corrected", "skip", first)])
        assert sum(desk.classes().values()) == 1
        served = {t.image for t in desk.next("tab", "", (), 12).tasks}
        assert not served & {third, *unseen}
        desk.without([])
        assert third in {t.image for t in desk.next("tab", "", (), 12).tasks}


def test_files_that_are_back_are_asked_for_without_a_restart(folder):
    with Campaign.open(folder.campaign(60)) as campaign:
        desk = Desk(campaign)
        first, second = (task.image for task in desk.next("tab", "", (), 2).tasks)
        other = "0" if folder.truth[second] != "0" else "1"
        desk.answer(
            "tab", "anna", [Answer("answer-0", "class", first, "1"), Answer("answer-1", "class", second, other)]
        )
        desk.answer("tab", "eve", [Answer("answer-2", "class", second, folder.truth[second])])
        desk.answer("tab", "anna", [Answer("answer-u", "undo", first, of="answer-0")])
        unseen = [i for i in desk.spread.ids if i not in campaign.state.places]
        whole = desk.spread.farthest(5)
        assert (desk.history.returned, list(desk.history.doubtful)) == ({first: "anna"}, [second])
        desk.without([first, second, *unseen])
        assert (desk.history.returned, list(desk.history.doubtful), desk.spread.left) == ({}, [], 0)
        assert first not in {task.image for task in desk.next("tab", "anna", (), 12).tasks}
        desk.without(unseen[:1])
        assert desk.spread.left == len(unseen) - 1, "some are back"
        desk.without([])
        assert (desk.history.returned, list(desk.history.doubtful)) == ({first: "anna"}, [second])
        assert desk.spread.farthest(5) == whole
        assert desk.next("tab", "anna", (), 1).tasks[0].image == first
        while tasks := desk.next("tab", "anna", (), 12).tasks:
            desk.answer("tab", "anna", [Answer(f"a-{t.image[:20]}", "bad", t.image) for t in tasks])
        assert set(unseen) <= set(campaign.state.labels)
        assert campaign.state.problems == []


def test_a_guess_about_an_image_that_was_gone_is_none():
    found = Guesses.of(1, ("cat", "dog"), np.array([1, 0]), np.array([0.9, 0.0]), ("a", "b"))
    assert (found.about("a").name, found.about("b")) == ("dog", None)
