"""Classes that change while people label and a model is trained: nothing is lost, and nothing gets another class."""

import numpy as np
import pytest

from metrics import round_metrics
from versionspace.campaign import Campaign
from versionspace.errors import InputError
from versionspace.label.messages import Answer, Guess, PoolVotes
from versionspace.label.service import LabelService
from versionspace.label.trainer_messages import RoundResult
from versionspace.store import Event, verify


def give(service, name, count=1, who="anna", **more):
    """Answer the next images with this class and return them."""
    images = []
    for _ in range(count):
        image = service.next_questions("tab", who, (), 1).questions[0].image
        answer = Answer(f"answer-{len(service.history.by_uid):04d}", "class", image, name, **more)
        assert service.answer("tab", who, [answer]).refused == []
        images.append(image)
    return images


def undo(service, image, who="anna"):
    uid = service.history.current[image].uid if image in service.history.current else service.history.answers[-1].uid
    answer = Answer(f"undo-{len(service.history.by_uid):04d}", "undo", image, undoes=uid)
    assert service.answer("tab", who, [answer]).refused == []


def train(service, number=1, *, majority=0, last_event=None, classes=None):
    """Commit a round whose model assigns all images to one class, trained on the ledger up to an event."""
    names = tuple(classes or service.state.classes)
    counts = dict.fromkeys(names, 1)
    votes = PoolVotes(names, np.full(len(service.pool), majority), np.full(len(service.pool), 1.0, np.float32))
    event = Event("measured", number, round_metrics(labels=service.counts.training(), classes=counts).to_body())
    last = service.state.last_event if last_event is None else last_event
    service.commit_round(RoundResult([event], votes, last), 1.0)


def edit(service, method, *names, **more):
    service.edit_classes(lambda campaign: getattr(campaign, method)(*names, **more))


def reopened(service):
    """The service after its process was killed: a new one on the same ledger."""
    service.campaign.close()
    return LabelService(Campaign.open(service.campaign.folder.path))


def test_a_round_in_flight_is_committed_under_the_new_name(service):
    image = give(service, "1", 4)[0]
    before = service.state.last_event
    edit(service, "rename_class", "1", "one")
    train(service, majority=1, last_event=before, classes=["0", "1", "2"])
    assert service.state.metrics[1].classes == {"0": 1, "one": 1, "2": 1}
    assert service.guesses.about(image) == Guess("one", 1.0)
    assert service.state.model_classes[1] == ("0", "one", "2")
    assert service.state.problems == []


@pytest.mark.parametrize("change", [("merge_classes", "1", "0"), ("delete_class", "1")])
def test_a_round_in_flight_is_discarded_when_labels_change_their_class(service, change):
    give(service, "1", 3)
    give(service, "0", 3)
    before = service.state.last_event
    edit(service, *change)
    train(service, majority=1, last_event=before, classes=["0", "1", "2"])
    assert service.state.metrics == {}
    assert service.guesses is None


@pytest.mark.parametrize("change", [("merge_classes", "1", "0"), ("delete_class", "2")])
def test_a_model_of_the_old_classes_is_replaced_at_once(service, change):
    give(service, "1", 6)
    give(service, "0", 6)
    train(service)
    assert service.labels_behind() == 0
    service.asks._queried.add(1)
    assert service.next_round_size() is None
    edit(service, *change)
    assert service.next_round_size() is not None
    train(service, 2)
    service.asks._queried.add(2)
    assert service.next_round_size() is None


def test_guesses_and_grids_follow_the_classes_also_after_a_restart(service):
    give(service, "1", 3)
    give(service, "0", 3)
    train(service, majority=1)
    edit(service, "merge_classes", "1", "0")
    assert service.grid("tab", 3, None).name == "0"
    assert service.grid("tab", 3, None).offers == {"0": len(service.covering.ids) - 6}
    again = reopened(service)
    assert again.guesses.about(again.pool[0]) == Guess("0", 1.0)
    edit(again, "rename_class", "0", "zero")
    assert again.guesses.about(again.pool[0]) == Guess("zero", 1.0)
    edit(again, "add_class", "new")
    edit(again, "delete_class", "zero")
    assert again.guesses.about(again.pool[0]) is None
    with pytest.raises(InputError, match="none that may still be asked"):
        again.grid("tab", 3, None)
    again.campaign.close()


def test_undo_of_an_answer_restores_the_earlier_one_under_its_present_name(service):
    image = give(service, "1")[0]
    service.answer("tab", "anna", [Answer("second-answer", "class", image, "2")])
    edit(service, "merge_classes", "1", "0")
    undo(service, image)
    assert service.state.labels[image].name == "0"
    assert service.history.current[image].name == "0"


def test_undo_does_not_restore_a_deleted_class(service):
    image = give(service, "1")[0]
    service.answer("tab", "anna", [Answer("second-answer", "class", image, "2")])
    edit(service, "delete_class", "1")
    undo(service, image)
    assert service.state.labels[image].name is None
    assert image in service.history.returned


def test_images_of_a_deleted_class_are_asked_again_and_the_ledger_keeps_the_answers(service):
    images = give(service, "1", 3)
    spent = service.spent()
    edit(service, "delete_class", "1", who="ben")
    assert service.spent() == spent - 3
    asked = service.next_questions("tab", "anna", (), 3).questions
    assert {question.image for question in asked} == set(images)
    again = reopened(service)
    assert set(again.history.returned) == set(images)
    kept = [e for e in again.campaign._ledger.events() if e.kind == "answered"]
    assert [(e.body["class"], e.who) for e in kept] == [("1", "anna")] * 3
    again.campaign.close()
    assert not any(verify(service.campaign.folder.path).values())


def test_an_answer_from_a_tab_with_the_old_list_is_stored_under_the_present_name(service):
    edition = service.state.class_list.edition
    edit(service, "rename_class", "1", "one")
    edit(service, "add_class", "uno")
    edit(service, "rename_class", "2", "two")
    edit(service, "rename_class", "uno", "1")
    image = give(service, "1", edition=edition)[0]
    assert service.state.labels[image].name == "one"
    image = give(service, "1", edition=service.state.class_list.edition)[0]
    assert service.state.labels[image].name == "1"
    image = give(service, "2", edition=service.state.class_list.edition)[0]  # a grid that was shown before
    assert service.state.labels[image].name == "two"
    seen = {"guess_timing": "before", "guess": Guess("2", 1.0), "edition": service.state.class_list.edition}
    image = give(service, "0", **seen)[0]
    assert service.state.labels[image].details["guess"]["class"] == "two"


def test_an_answer_for_a_class_that_was_deleted_meanwhile_is_kept_and_the_image_comes_back(service):
    edition = service.state.class_list.edition
    image = service.next_questions("tab", "anna", (), 1).questions[0].image
    edit(service, "delete_class", "1")
    outcome = service.answer("tab", "anna", [Answer("late-answer", "class", image, "1", edition=edition)])
    assert outcome.stored == ["late-answer"]
    assert service.state.labels[image].details["withdrawn"] == "1"
    assert service.next_questions("tab", "anna", (), 1).questions[0].image == image
    assert service.spent() == 0


def test_a_merger_takes_doubts_back_that_it_explains(service):
    give(service, "0", 2)
    train(service, majority=1)
    image = give(service, "0")[0]
    assert service.history.doubtful == [image]
    edit(service, "merge_classes", "1", "0")
    assert service.history.doubtful == []


def test_a_merger_after_the_end_trains_the_last_model_again(service):
    service.set_budget(12)
    give(service, "0", 6)
    give(service, "1", 6)
    train(service)
    service.campaign.commit([Event("ended", 1, {"why": "budget"})])
    assert service.next_round_size() is None
    edit(service, "merge_classes", "1", "0")
    assert service.state.ended == ""
    assert service.next_round_size() is not None


def test_what_cannot_be_done_to_classes_is_said(service):
    for method, names, message in [
        ("add_class", [" 1 "], "exists already as “1”"),
        ("rename_class", ["1", "2"], "“2”, which exists already"),
        ("rename_class", ["nine", "9"], "“nine”"),
        ("merge_classes", ["1", "1"], "twice"),
        ("merge_classes", ["1", "9"], "“9”"),
        ("rename_class", ["1", " "], "a name"),
    ]:
        with pytest.raises(InputError, match=message):
            edit(service, method, *names)
    edit(service, "describe_class", "1", key="A")
    for body, message in [
        ({"key": "a"}, "the key of “1”"),
        ({"key": "ab"}, "one letter"),
        ({"key": "."}, "one letter"),
        ({"guidance": "x" * 300}, "300 characters"),
        ({"guidance": "a\nb"}, "several lines"),
    ]:
        with pytest.raises(InputError, match=message):
            edit(service, "describe_class", "2", **body)
    edit(service, "delete_class", "0")
    with pytest.raises(InputError, match="at least 2 classes"):
        edit(service, "delete_class", "1")
    with pytest.raises(InputError, match="at least 2 classes"):
        edit(service, "merge_classes", "1", "2")
    assert service.state.classes == ["1", "2"]


def test_numbers_are_no_classes_once_some_are_gone(service):
    image = service.next_questions("tab", "", (), 1).questions[0].image
    service.campaign.accept({image: 1})
    assert service.state.labels[image].name == "1"
    edit(service, "rename_class", "1", "one")
    service.campaign.accept({image: 1})
    assert service.state.labels[image].name == "one"
    edit(service, "delete_class", "0")
    with pytest.raises(InputError, match="pass names"):
        service.campaign.accept({image: 1})
