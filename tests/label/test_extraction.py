"""Features of a large folder that are computed piece by piece, while rounds use what is there."""

import numpy as np
import pytest

from data.pictures import picture, save
from versionspace.campaign import FileFeatures, open_dataset, restore_images
from versionspace.data.folder import reader
from versionspace.label import extraction, label_folder, trainer
from versionspace.label.extraction import Extraction
from versionspace.label.service import LabelService
from versionspace.label.status import page_status
from versionspace.label.supervisor import Supervisor
from versionspace.label.trainer import Trainer
from versionspace.store import State, read_arrays

COUNT = 300


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    """Three hundred images, which count as many; one of them is damaged."""
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(reader, "CHECKED_FILES", 10)
    for number in range(COUNT - 1):
        save(tmp_path / "photos" / f"{number:03d}.png", picture(number % 250, (10 + number // 250, 8)))
    (tmp_path / "photos" / "bad.png").write_bytes(b"not an image")
    monkeypatch.setattr(extraction, "PIECE", 16)
    monkeypatch.setattr(extraction, "MEASURED_FIRST", 10)
    monkeypatch.setattr(trainer, "STEP_SECONDS", 0.0)
    with label_folder(tmp_path / "photos", "dark,bright", budget=60, net="heads") as made:
        yield made


@pytest.fixture
def files(campaign):
    images = restore_images(
        open_dataset(campaign.config), read_arrays(campaign.folder.split), allow_missing=True
    )  # fmt: skip
    return FileFeatures(campaign.config, images, threads=1)


def test_the_first_model_needs_a_sample_the_audit_and_a_part_of_the_reference(files):
    work = Extraction(files, seed=0)
    roles = files.images.roles
    sample = roles.askable()[:20]
    work.begin(sample, first=60)
    steps = 0
    while work.has_first_work:
        work.advance()
        steps += 1
    ready = set(files.store.ids[files.ready].tolist()) | files.unreadable.keys()
    assert len(ready) == 60
    assert {*sample.tolist(), *roles.audit.tolist()} <= ready
    assert len(ready & set(roles.reference.tolist())) == 10
    assert steps == 4
    now = work.news(0.0)
    assert (now.done, now.total) == (60, COUNT)
    assert now.seconds > 0


def test_rounds_use_at_most_so_many_images_until_all_have_features(files, monkeypatch):
    monkeypatch.setattr(extraction, "SCORED", 25)
    work = Extraction(files, seed=0)
    work.begin(files.images.roles.askable()[:20], first=30)
    while work._next < 250:
        work.advance()
    partly = work.images_for(State())
    held = len(files.images.roles.reference) + len(files.images.roles.audit)
    assert 25 <= len(partly.roles.pool) <= 25 + held
    assert 0 < len(partly.roles.askable()) <= 25
    assert partly.missing == files.unreadable.keys()
    while not work.is_complete:
        work.advance()
    whole = work.images_for(State())
    assert len(whole.roles.pool) == COUNT - 1
    assert [whole.files[i] for i in whole.missing] == ["bad.png"]
    assert work.images_for(State()) is whole


def test_a_folder_that_is_too_large_for_one_round_takes_turns(files, monkeypatch):
    monkeypatch.setattr(extraction, "MOST_SCORED", 100)
    work = Extraction(files, seed=0)
    work.begin(files.images.roles.askable()[:5], first=10)
    while not work.is_complete:
        work.advance()
    turns = [work.images_for(State(metrics=dict.fromkeys(range(1, n + 1)))) for n in range(3)]
    assert all(len(images.roles.askable()) <= 100 for images in turns)
    assert all(images.roles.reference.tolist() == turns[0].roles.reference.tolist() for images in turns)
    seen = {i for images in turns for i in images.roles.pool.tolist()}
    assert seen | files.unreadable.keys() == set(files.images.roles.pool.tolist())


def test_an_image_that_was_asked_is_used_whether_or_not_it_is_its_turn(files):
    work = Extraction(files, seed=0)
    work.begin(files.images.roles.askable()[:5], first=10)
    last = files.store.ids[work._order[-1]]
    state = State(places={str(last): (None, 0)})
    assert last in work.images_for(state).roles.pool or str(last) in files.unreadable


def test_a_trainer_is_ready_after_a_part_and_scores_what_has_features(campaign, monkeypatch):
    monkeypatch.setattr(trainer, "FIRST", 100)
    messages = []
    made = Trainer(campaign.folder.path, messages.append)
    kinds = [message["kind"] for message in messages]
    assert kinds.index("features") < kinds.index("missing")
    counts = [(m["done"], m["total"]) for m in messages if m["kind"] == "extracted"]
    front = counts[0][1]
    assert front < COUNT
    assert counts[-1] == (front, COUNT)  # then the rest of the folder counts
    assert made.has_backlog()
    service = LabelService(campaign)
    answer(service, campaign, 12)
    votes = made.round(5).votes
    assert len(votes.agreement) == COUNT
    assert 0 < (votes.agreement > 0).sum() <= front + 12
    while made.has_backlog():
        made.work()
    answer(service, campaign, 1)
    assert (made.round(5).votes.agreement > 0).sum() == COUNT - 1
    last = [message for message in messages if message["kind"] == "missing"][-1]
    assert [why[:10] for why in last["unreadable"].values()] == ["not a JPEG"]


def test_predictions_for_download_cover_images_that_no_round_has_scored(campaign, monkeypatch, tmp_path):
    monkeypatch.setattr(trainer, "FIRST", 100)
    made = Trainer(campaign.folder.path, lambda message: None)
    service = LabelService(campaign)
    answer(service, campaign, 12)
    service.commit_round(made.round(5), 1.0)
    assert made.has_backlog()
    done = made.handle({"result": "predictions", "to": str(tmp_path / "out" / "predictions.csv")})
    assert (done["problem"], done["rows"]) == ("", COUNT - 1 - 12)
    lines = (tmp_path / "out" / "predictions.csv").read_text().splitlines()
    assert len({line.split(",")[0] for line in lines[1:]}) == COUNT - 1 - 12
    assert not any("bad.png" in line for line in lines)


def answer(service, campaign, count):
    """Label this many images by the brightness that their names stand for."""
    from versionspace.label.messages import Answer

    for _ in range(count):
        (question,) = service.next_questions("tab", "", (), 1).questions
        name = campaign.images.files[question.image]
        bright = name == "bad.png" or int(name[:3]) % 250 > 125
        service.answer("tab", "", [Answer(f"u{question.image}", "class", question.image, ("dark", "bright")[bright])])


def test_the_page_and_the_terminal_say_how_far_it_is(campaign, caplog):
    from versionspace.label.image_encoding import ImageEncoder
    from versionspace.label.trainer_messages import Extracted

    service = LabelService(campaign)
    encoder = ImageEncoder(campaign.images.dataset.train.images.root, campaign.dataset, campaign.images.files)
    supervisor = Supervisor(service)
    supervisor._status = trainer_status("features")
    with caplog.at_level("INFO", "versionspace.label"):
        supervisor._set_extraction(Extracted(512, 4_000, 34.8))
        supervisor._set_extraction(Extracted(640, 4_000, 33.0))
    assert caplog.messages == ["features of 512 of 4,000 images, about 35 s left"]  # not every second
    status = page_status(service, supervisor, encoder, "", "")
    assert status["training"]["features"] == "features of 640 of 4,000 images, about 33 s left"
    supervisor._set_extraction(Extracted(4_000, 4_000, 0.0))
    assert page_status(service, supervisor, encoder, "", "")["training"]["features"] == ""


def test_an_unreadable_image_is_named_on_the_page_and_not_asked(campaign, caplog):
    from versionspace.label.image_encoding import ImageEncoder

    service = LabelService(campaign)
    supervisor = Supervisor(service)
    (bad,) = [i for i, name in campaign.images.files.items() if name == "bad.png"]
    supervisor._set_missing([], {bad: "not a JPEG, PNG or the like"})
    supervisor._set_missing([], {bad: "not a JPEG, PNG or the like"})
    assert caplog.messages == ["bad.png: not a JPEG, PNG or the like; it is left out"]
    assert service.state.missing == {bad}
    encoder = ImageEncoder(campaign.images.dataset.train.images.root, campaign.dataset, campaign.images.files)
    troubles = page_status(service, supervisor, encoder, "", "")["troubles"]
    assert troubles == ["bad.png: not a JPEG, PNG or the like; left out"]
    asked = {q.image for _ in range(30) for q in service.next_questions("tab", "", (), 12).questions}
    assert bad not in asked
    assert np.array_equal(sorted(asked), sorted(asked - {bad}))


def trainer_status(stage):
    from versionspace.label.supervisor import TrainerStatus

    return TrainerStatus(stage)
