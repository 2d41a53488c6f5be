"""The state after events, and events that contradict each other."""

from metrics import round_metrics
from versionspace.store import Event, replay

MEASURED = round_metrics(labels=1).to_body()
BEGUN = Event("begun", body={"classes": ["cat", "dog"]})


def proposed(round_, ids, purpose="query", part=0):
    body = {"part": part, "purpose": purpose, "ids": ids, "utilities": [0.0] * len(ids)}
    return Event("proposed", round_, body)


def answered(image, name, round_=1, rank=0, **details):
    return Event("answered", round_, {"id": image, "class": name, "part": 0, "rank": rank, **details}, who="anna")


def test_labels_skips_and_corrections():
    state = replay(
        [BEGUN, proposed(0, [5, 6, 7], "initial"), answered(5, "cat"), answered(6, None), answered(5, "dog")]
    )
    assert state.training_labels() == {5: "dog"}
    assert state.labels[6].name is None
    assert state.unanswered(state.asks[0]) == (7,)
    assert state.is_open(state.asks[0])
    assert state.spent() == 1
    assert state.problems == []


def test_audit_labels_count_but_are_not_trained_on():
    state = replay(
        [BEGUN, proposed(0, [1], "audit"), proposed(0, [2], "initial"), answered(1, "cat"), answered(2, "dog")]
    )
    assert state.training_labels() == {2: "dog"}
    assert state.spent() == 2


def test_a_closed_round_awaits_no_answers_and_its_images_may_be_asked_again():
    before = [BEGUN, proposed(1, [1, 2]), answered(1, "cat"), Event("closed", 1)]
    state = replay(before)
    assert not any(state.is_open(ask) for ask in state.asks)
    assert replay([*before, proposed(2, [2])]).problems == []
    assert "asks again for 1" in replay([*before, proposed(2, [1])]).problems[0]


def test_replaying_in_two_steps_is_the_same_as_in_one():
    events = [BEGUN, proposed(0, [5, 6], "initial"), answered(5, "cat"), Event("measured", 1, MEASURED),
              proposed(1, [9]), answered(9, None), Event("ended", 1, {"why": "budget"})]  # fmt: skip
    for cut in range(len(events)):
        assert replay(events[cut:], replay(events[:cut])) == replay(events)


def test_contradictory_events_are_problems():
    for wrong, problem in [
        ([answered(5, "cat")], "never asked"),
        ([proposed(1, [5]), answered(5, "cow")], "not a class"),
        ([proposed(1, [5, 5])], "asks again"),
        ([proposed(1, [5]), proposed(2, [5])], "asks again"),
        ([proposed(2, [5]), proposed(1, [6])], "after round 2"),
        ([Event("measured", 1, MEASURED), Event("measured", 1, MEASURED)], "measured twice"),
        ([BEGUN], "begun twice"),
        ([Event("sung")], "unknown kind"),
    ]:
        assert any(problem in found for found in replay([BEGUN, *wrong]).problems), problem


def test_a_class_may_be_added():
    state = replay([BEGUN, Event("class", 0, {"name": "cow"}), proposed(1, [5]), answered(5, "cow", guess="before")])
    assert state.classes == ["cat", "dog", "cow"]
    assert state.problems == []
    assert state.labels[5].details == {"guess": "before"}
