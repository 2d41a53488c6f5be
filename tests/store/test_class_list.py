"""Classes that are renamed, merged, deleted, ordered and described, and the labels and models that have them."""

import pytest

from metrics import round_metrics
from versionspace.store import ClassList, ClassNote, Event, plain_name, replay

BEGUN = Event("begun", body={"classes": ["cat", "kitten", "dog"]})
ASKED = Event("proposed", 0, {"part": 0, "purpose": "initial", "ids": [1, 2, 3], "utilities": [0.0] * 3})


def answered(image, name):
    return Event("answered", 0, {"id": image, "class": name, "part": 0, "rank": 0})


def replayed(*events):
    numbered = [Event(e.kind, e.round, e.body, number=n) for n, e in enumerate((BEGUN, ASKED, *events), start=1)]
    state = replay(numbered)
    for cut in range(len(numbered)):
        assert replay(numbered[cut:], replay(numbered[:cut])) == state
    return state


def test_labels_follow_a_class_that_is_renamed_and_then_merged():
    state = replayed(
        answered(1, "kitten"),
        Event("renamed", body={"class": "kitten", "to": "small cat"}),
        answered(2, "small cat"),
        Event("merged", body={"class": "small cat", "into": "cat"}),
    )
    assert state.training_labels() == {1: "cat", 2: "cat"}
    assert state.classes == ["cat", "dog"]
    assert state.problems == []


def test_a_name_that_is_used_again_means_the_new_class():
    state = replayed(
        answered(1, "cat"),
        Event("renamed", body={"class": "cat", "to": "lion"}),
        Event("class", body={"name": "cat"}),
        answered(2, "cat"),
        Event("renamed", body={"class": "cat", "to": "house cat"}),
    )
    assert state.training_labels() == {1: "lion", 2: "house cat"}
    assert state.class_list.current("cat", since=3) == "lion"
    assert state.class_list.current("cat", since=5) == "house cat"


def test_labels_of_a_deleted_class_no_longer_count_and_say_what_they_were():
    state = replayed(answered(1, "kitten"), answered(2, "dog"), Event("deleted", body={"class": "kitten"}))
    assert state.training_labels() == {2: "dog"}
    assert state.spent() == 1
    assert state.labels[1].reason == "undone"
    assert state.labels[1].details["deleted"] == "kitten"


def test_models_and_their_counts_follow_the_classes():
    measured = Event("measured", 1, round_metrics(labels=5, classes={"cat": 2, "kitten": 1, "dog": 2}).to_body())
    edits = [
        Event("renamed", body={"class": "dog", "to": "wolf"}),
        Event("merged", body={"class": "kitten", "into": "cat"}),
    ]
    state = replayed(measured, *edits)
    assert state.model_classes[1] == ("cat", "cat", "wolf")
    assert dict(state.metrics[1].classes) == {"cat": 3, "wolf": 2}
    state = replayed(measured, *edits, Event("class", body={"name": "bird"}), Event("deleted", body={"class": "cat"}))
    assert state.model_classes[1] == (None, None, "wolf")
    assert dict(state.metrics[1].classes) == {"wolf": 2}


def test_order_and_notes_change_neither_numbers_nor_labels():
    state = replayed(
        answered(1, "dog"),
        Event("ordered", body={"classes": ["dog", "gone", "cat"]}),
        Event("described", body={"class": "dog", "key": "d"}),
        Event("described", body={"class": "dog", "guidance": "wolves, too"}),
        Event("renamed", body={"class": "dog", "to": "canine"}),
    )
    assert state.classes == ["cat", "kitten", "canine"]
    assert state.class_list.order == ["canine", "cat", "kitten"]
    assert state.class_list.note("canine") == ClassNote("d", "wolves, too")
    assert state.class_list.note("dog") == ClassNote()


@pytest.mark.parametrize(("kind", "body"), [
    ("renamed", {"class": "cow", "to": "bull"}), ("merged", {"class": "cat", "into": "cow"}),
    ("deleted", {"class": "cow"}), ("described", {"class": "cow", "key": "w"}),
])  # fmt: skip
def test_an_edit_of_an_unknown_class_is_a_problem(kind, body):
    assert replayed(Event(kind, body=body)).problems == ["event 3: 'cow' is not a class"]


def test_names_are_compared_without_case_and_spaces():
    listed = ClassList(names=["Stop sign", "stop"])
    assert listed.like("stopSIGN ") == "Stop sign"
    assert listed.like("stop") == "stop"
    assert listed.like("go") is None
    assert plain_name("Ａ b") == "ab"
