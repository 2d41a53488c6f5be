"""The campaign behind the page, without web and without trainer: what is served, stored and taken back."""

import numpy as np
import pytest

from metrics import round_metrics
from versionspace.campaign.campaign import Campaign
from versionspace.campaign.round import proposal_event
from versionspace.errors import InputError
from versionspace.label import queue as pacing
from versionspace.label.messages import Answer
from versionspace.label.queue import SECONDS
from versionspace.label.service import Desk
from versionspace.store import Event, StoreError, read_campaign


def one(image, name, uid, **more):
    return Answer(uid, more.pop("kind", "class"), image, name, **more)


def labelled(desk, count, session="tab", who=""):
    """Answers the next images truly, one by one."""
    done = []
    for number in range(count):
        task = desk.next(session, who, (), 1).tasks[0]
        desk.answer(session, who, [one(task.image, desk.truth[task.image], f"{session}-{number}-{task.image[:20]}")])
        done.append(task.image)
    return done


def metrics(labels, **more):
    return round_metrics(labels=labels, classes={"0": 1, "1": 1, "2": 1}).to_body() | more


def a_round(desk, round_, ids, agreement=1.0, audit=None):
    """What a trainer would send: the metrics, a proposal, and votes for the truth."""
    votes = np.array([int(desk.truth[i]) for i in desk.pool], np.int32)
    guesses = {"classes": ["0", "1", "2"], "majority": votes, "agreement": np.full(len(votes), agreement, np.float32)}
    labels = sum(desk.classes().values())
    events = [
        Event("measured", round_, metrics(labels, audit=audit)),
        proposal_event(round_, 0, "query", np.array(ids), np.ones(len(ids))),
    ]
    desk.trained(events, guesses, 2.0)


def untouched(desk, count):
    return [i for i in desk.spread.ids if i not in desk.state.places][:count]


def test_no_image_is_served_twice_and_every_answer_is_in_the_ledger(desk):
    shown = labelled(desk, 25)
    assert len(set(shown)) == 25
    stored = read_campaign(desk.campaign.folder.path).state
    assert {i: label.name for i, label in stored.labels.items()} == {i: desk.truth[i] for i in shown}
    assert stored.problems == []


def test_counts_kept_up_are_those_of_a_fresh_start(desk):
    shown = labelled(desk, 4)
    audit = desk.asked.audit()[0]
    desk.answer("tab", "", [
        Answer("a-skip-1", "skip", shown[0]), one(shown[1], "2", "a-change"), one(audit, "1", "an-audit"),
        Answer("undo-change", "undo", shown[1], of="a-change"), Answer("undo-first", "undo", shown[2],
                                                                       of=f"tab-2-{shown[2][:20]}"),
    ])  # fmt: skip
    fresh = Desk(desk.campaign)
    assert (desk.spent(), desk.classes()) == (fresh.spent(), fresh.classes())
    assert desk.spent() == 4 - 2 + 1


def test_before_the_first_model_unlike_images_are_asked_until_it_is_time_to_train(desk):
    assert desk.order() is None
    while desk.cold():
        labelled(desk, 1, session=f"s{desk.spent()}")
    assert all(desk.classes().values())
    assert desk.order() is not None, "each class has a label: train"
    assert not desk.asked.audit() or desk.next("t", "", (), 1).tasks[0].image in desk.asked.audit()


def test_the_same_answer_sent_twice_counts_once(desk):
    image = desk.next("tab", "", (), 1).tasks[0].image
    for _ in range(3):
        assert desk.answer("tab", "", [one(image, "1", "the-same")]).taken == ["the-same"]
    desk.answer("tab", "", [one(image, "2", "a-correction")])
    desk.answer("tab", "", [one(image, "1", "the-same")])
    assert desk.history.standing[image].name == desk.state.labels[image].name == "2", "a late copy corrects nothing"
    assert len(desk.history.given) == 2
    assert desk.spent() == 1
    events = [e for e in desk.campaign._ledger.events() if e.kind == "answered"]
    assert len(events) == 2


def test_two_tabs_have_different_images_until_one_is_silent_too_long(desk):
    desk.now = 0.0
    mine = {task.image for task in desk.next("a", "", (), 4).tasks}
    theirs = {task.image for task in desk.next("b", "", (), 4).tasks}
    assert not mine & theirs
    desk.now = SECONDS + 1
    again = {task.image for task in desk.next("b", "", tuple(theirs), 4).tasks}
    assert again == mine, "a tab that is gone holds nothing back"
    late = next(iter(mine))
    assert desk.answer("a", "anna", [one(late, "2", "late-answer")]).taken == ["late-answer"]


def test_a_closed_tab_gives_its_images_back_at_once(desk):
    mine = [task.image for task in desk.next("a", "", (), 3).tasks]
    desk.leave("a")
    assert [task.image for task in desk.next("b", "", (), 3).tasks] == mine


def test_undo_takes_back_and_the_image_comes_again_first(desk):
    first = labelled(desk, 2)
    desk.answer("tab", "", [Answer("undo-1", "undo", first[1], of=f"tab-1-{first[1][:20]}")])
    assert desk.spent() == 1
    assert desk.next("tab", "", (), 1).tasks[0].image == first[1]
    desk.answer("tab", "", [Answer("undo-2", "undo", first[0], of=f"tab-0-{first[0][:20]}")])
    assert [t.image for t in desk.next("tab", "", (), 2).tasks] == [first[0], first[1]]


def test_what_was_taken_back_is_on_that_screen_and_no_other_until_it_is_closed(desk):
    desk.now = 0.0
    first, second = images(desk.next("a", "", (), 2))
    desk.answer("a", "", [one(first, "0", "an-answer"), one(second, "0", "another"), one(second, "1", "corrected")])
    undos = [Answer("undo-1", "undo", first, of="an-answer"), Answer("undo-2", "undo", second, of="corrected")]
    for _ in range(2):
        desk.answer("a", "", undos)  # sent twice, since the first reply was lost
        assert desk.leases.held() == {first}, "the other has its earlier answer again"
    theirs = images(desk.next("b", "", (), 5))
    assert first not in theirs
    assert first not in images(desk.next("c", "eve", (), 5))
    desk.now = SECONDS + 1
    assert images(desk.next("b", "", theirs, 1)) == [first]
    desk.answer("b", "", [one(first, "2", "by-another")])
    desk.answer("a", "", undos[:1])
    assert first not in desk.leases.held(), "a late copy takes nothing"


def test_undo_of_a_correction_brings_the_earlier_answer_back_also_after_a_restart(desk):
    image = labelled(desk, 1)[0]
    other = "0" if desk.truth[image] != "0" else "1"
    desk.answer("tab", "", [one(image, other, "correction"), Answer("undo-it", "undo", image, of="correction")])
    assert desk.state.labels[image].name == desk.truth[image]
    again = Desk(desk.campaign)
    assert again.history.standing[image].name == desk.truth[image]
    assert again.history.returned == {}
    assert again.history.by("", 5)[0].image == image


def test_what_was_taken_back_is_asked_again_after_a_restart(desk):
    image = labelled(desk, 1)[0]
    desk.answer("tab", "", [Answer("undo-it", "undo", image, of=f"tab-0-{image[:20]}")])
    assert Desk(desk.campaign).next("new", "", (), 1).tasks[0].image == image


def test_bad_answers_are_refused_one_by_one_and_good_ones_kept(desk):
    tasks = desk.next("tab", "", (), 2).tasks
    outcome = desk.answer("tab", "", [
        one("0" * 64, "1", "unknown-image"), one(tasks[0].image, "zebra", "unknown-class"),
        one(tasks[1].image, "1", "fine-one"), Answer("bad-undo", "undo", tasks[1].image, of="nothing"),
    ])  # fmt: skip
    assert outcome.taken == ["fine-one"]
    assert [r.uid for r in outcome.refused] == ["unknown-image", "unknown-class", "bad-undo"]
    assert "never" not in str(desk.state.problems)


def test_a_new_round_is_served_at_once_and_what_the_old_one_asked_is_not_lost(desk):
    labelled(desk, 12)
    a_round(desk, 1, untouched(desk, 10))
    old = [t.image for t in desk.next("tab", "", (), 12).tasks]
    new = untouched(desk, 10)
    a_round(desk, 2, new)
    served = [t.image for t in desk.next("tab", "", (), 4).tasks]
    assert set(served) - set(desk.asked.audit()) <= set(new)
    assert set(old) - set(desk.asked.audit()) <= set(desk.asked.older())
    assert desk.state.problems == []


def test_a_round_may_ask_again_for_what_the_closed_one_left(desk):
    labelled(desk, 12)
    ids = untouched(desk, 10)
    a_round(desk, 1, ids)
    answered = ids[0]
    desk.answer("tab", "", [one(answered, desk.truth[answered], "first-of-round")])
    a_round(desk, 2, ids)
    assert desk.state.asks[-1].ids == tuple(ids[1:]), "all but what was answered meanwhile"
    assert desk.state.problems == []
    assert not set(desk.asked.fresh()) & set(desk.asked.older())


def test_a_model_that_is_too_far_behind_no_longer_asks(desk, monkeypatch):
    monkeypatch.setattr(pacing, "STALE", 5)
    labelled(desk, 10)
    wanted = untouched(desk, 12)
    a_round(desk, 1, wanted)
    for image in wanted[:6]:
        desk.answer("tab", "", [one(image, desk.truth[image], f"uid-{image[:20]}")])
    fillers = [t.image for t in desk.next("tab", "", (), 12).tasks]
    assert fillers
    assert not set(fillers) & set(wanted)
    audit = set(desk.asked.audit())
    assert set(fillers[: len(audit)]) == audit, "the audit is done first"


def test_the_audit_keeps_step_with_the_budget(desk):
    labelled(desk, 9)
    while not desk.spent() >= desk.total:
        if desk.spent() % 10 == 9:
            a_round(desk, desk.generation() + 1, untouched(desk, 10))
        labelled(desk, 1, session=f"n{desk.spent()}")
        done = 10 - len(desk.asked.audit())
        if desk.generation():
            assert done >= 10 * (desk.spent() - 2) / 60 - 1
    assert desk.spent() == 60
    assert desk.next("tab", "", (), 3).finished == "budget"


def test_nothing_past_the_budget_is_served_though_two_tabs_wait(desk):
    while desk.spent() < 58:
        labelled(desk, 1, session=f"n{desk.spent()}")
    assert len(desk.next("a", "", (), 12).tasks) == 2
    assert desk.next("b", "", (), 12).tasks == []
    assert desk.next("b", "", (), 12).finished == "", "others have the last ones on their screens"


def test_an_end_is_not_taken_while_answers_are_awaited(desk):
    labelled(desk, 12)
    desk.trained([Event("measured", 1, metrics(12)), Event("ended", 1, {"why": "budget"})], None, 1.0)
    assert desk.state.ended == ""
    assert 1 in desk.state.metrics


@pytest.mark.parametrize(("accuracy", "times"), [(0.9, 1), (0.5, 0)])
def test_a_label_against_a_sure_guess_of_a_good_model_is_looked_at_once_more(desk, accuracy, times):
    labelled(desk, 12)
    ids = untouched(desk, 3)
    a_round(desk, 1, ids, audit={"accuracy": accuracy, "images": 20, "low": 0.5, "high": 1.0})
    wrong = "0" if desk.truth[ids[0]] != "0" else "1"
    desk.answer("tab", "", [one(ids[0], wrong, "a-slip")])
    assert list(desk.history.doubtful) == [ids[0]]
    seen = []
    for _ in range(30):
        task = desk.next("tab", "", (), 1).tasks[0]
        seen.append(task)
        desk.answer("tab", "", [one(task.image, desk.truth[task.image], f"u{len(seen)}-{task.image[:20]}")])
    again = [task for task in seen if task.again]
    assert [task.image for task in again] == [ids[0]] * times
    assert (desk.state.labels[ids[0]].name == desk.truth[ids[0]]) is bool(times)
    assert len(desk.history.doubtful) == 1 - times


def test_a_grid_is_of_one_class_and_never_of_images_asked_before(desk):
    with pytest.raises(InputError, match="trained model"):
        desk.grid("tab", "", 3, None)
    labelled(desk, 12)
    a_round(desk, 1, untouched(desk, 5), agreement=0.8)
    before = set(desk.state.places)
    grid = desk.grid("tab", "", 3, "1")
    assert grid.name == "1"
    assert {desk.truth[t.image] for t in grid.tasks} == {"1"}
    assert len(grid.tasks) == 9
    assert not before & {t.image for t in grid.tasks}
    assert not {t.image for t in grid.tasks} & {t.image for t in desk.next("other", "", (), 12).tasks}


def images(served):
    return [task.image for task in served.tasks]


def test_grids_that_are_only_looked_at_cost_nothing_and_models_are_trained_on(desk):
    labelled(desk, 12)
    a_round(desk, 1, untouched(desk, 12), agreement=0.8)
    asked, waiting = len(desk.state.asks), desk.asked.waiting()
    for name in (*desk.state.classes, "0"):
        assert len(desk.grid("tab", "", 5, name).tasks) > 15
    assert (len(desk.state.asks), desk.asked.waiting()) == (asked, waiting)
    shown = images(desk.grid("tab", "", 3, "1"))
    assert not set(shown) & set(images(desk.grid("other", "", 5, "1"))), "they are on a screen"
    desk.leave("tab")
    assert images(desk.grid("other", "", 3, "1")) == shown, "a grid that was left is free"
    labelled(desk, 10)
    assert desk.order() is not None


def test_what_a_grid_shows_is_asked_when_it_is_answered_also_after_a_restart(desk):
    labelled(desk, 12)
    a_round(desk, 1, untouched(desk, 5), agreement=0.8)
    shown = images(desk.grid("tab", "", 3, "1"))
    a_round(desk, 2, [shown[8], *(i for i in untouched(desk, 20) if i not in shown)], agreement=0.8)
    hidden = desk.campaign.images.roles.reference[0]
    later = Desk(desk.campaign)
    answers = [one(i, "1", f"g-{i[:20]}", grid=True) for i in (*shown, hidden)]
    assert [r.uid for r in later.answer("tab", "", answers).refused] == [f"g-{hidden[:20]}"], "never to be asked"
    assert later.spent() == 12 + 9
    ask, _ = later.state.places[shown[0]]
    assert (ask.ids, ask.purpose, ask.round) == (tuple(shown[:8]), "query", 2)
    assert ask.utilities == pytest.approx([0.2] * 8)
    assert later.spread.left == len(untouched(later, 200))
    assert later.state.problems == []


def test_a_grid_leaves_room_for_what_the_tab_and_others_have_and_never_shows_it(desk):
    labelled(desk, 12)
    a_round(desk, 1, untouched(desk, 12), agreement=0.8)
    desk.extend(30)
    ahead, theirs = images(desk.next("tab", "", (), 6)), images(desk.next("other", "", (), 2))
    shown = images(desk.grid("tab", "", 5, "1", ahead))
    assert len(shown) == 30 - 12 - 6 - 2
    assert desk.next("other", "", theirs, 5).tasks == []
    out = [*shown[:3], *ahead]  # clicked out of the grid, to be looked at one by one
    assert not set(images(desk.grid("tab", "", 5, "1", out))) & set(out)
    assert desk.leases.held() >= {*out, *theirs}


def test_unlike_images_are_none_that_are_on_the_screen_in_a_grid(desk):
    labelled(desk, 12)
    a_round(desk, 1, [], agreement=0.8)
    unlike = list(desk.spread.farthest(9))
    desk.leases.take("tab", unlike)
    served = images(desk.next("other", "", desk.asked.audit(), 5))
    assert len(served) == 5
    assert not set(served) & set(unlike)
    assert not set(unlike) & set(desk.state.places), "nobody has asked for them"


def test_the_guess_is_sent_only_to_those_who_want_to_see_it(desk):
    labelled(desk, 12)
    a_round(desk, 1, untouched(desk, 5))
    assert desk.next("a", "", (), 1).tasks[0].guess is None
    assert desk.next("a", "", (), 1, "before").tasks[0].guess is not None
    image = desk.next("a", "", (), 1).tasks[0].image
    desk.answer("a", "", [one(image, "1", "with-guess", when="after")])
    assert desk.state.labels[image].details["guess"]["shown"] == "after"


def test_a_class_added_later_can_be_used(desk):
    assert desk.add_class("new one") == ["0", "1", "2", "new one"]
    image = desk.next("tab", "", (), 1).tasks[0].image
    assert desk.answer("tab", "", [one(image, "new one", "uses-it")]).taken
    assert desk.classes()["new one"] == 1


def test_skipped_images_cost_nothing_and_are_not_asked_again(desk):
    image = desk.next("tab", "", (), 1).tasks[0].image
    desk.answer("tab", "", [Answer("skip-it-1", "skip", image)])
    assert desk.spent() == 0
    assert image not in {t.image for t in desk.next("tab", "", (), 12).tasks}
    assert desk.state.labels[image].details["reason"] == "skipped"


def test_a_folder_that_is_skipped_to_its_end_ends(folder):
    with Campaign.open(folder.campaign(60)) as campaign:
        desk = Desk(campaign)
        while tasks := desk.next("tab", "", (), 12).tasks:
            desk.answer("tab", "", [Answer(f"s-{t.image[:30]}", "bad", t.image) for t in tasks])
        assert desk.order() is None
        assert "no image has a label" in campaign.state.ended
        assert "no image has a label" in desk.next("tab", "", (), 1).finished


def test_what_could_not_be_stored_was_not_asked(desk):
    left, sql = desk.spread.left, desk.campaign._ledger._connection
    sql.execute("PRAGMA max_page_count = 1")  # SQLite takes no page more than it has: the disk is full
    failed = 0
    for number in range(60):
        try:
            desk.next(f"tab-{number}", "", (), 5)
        except StoreError as error:
            failed += "free space on the disk" in str(error)
    assert failed > 40, "there was nothing left to ask for, or the disk was not full"
    assert desk.order() is None
    assert desk.state.ended == ""
    sql.execute("PRAGMA max_page_count = 1000000")  # room again
    asked = {i for ask in desk.state.asks if ask.purpose != "audit" for i in ask.ids}
    assert desk.spread.left == left - len(asked) > 0
    desk.now = SECONDS + 1
    labelled(desk, desk.total, session="room")
    assert desk.spent() == desk.total
    assert desk.state.problems == []


def test_choosing_unlike_images_changes_nothing_until_they_are_asked(desk):
    first = desk.spread.farthest(6)
    assert desk.spread.farthest(6) == first
    assert list(desk.spread.farthest(3)) == list(first)[:3], "each is the farthest from all before it"
    for image in first:
        desk.spread.seen(image)
    assert not set(desk.spread.farthest(6)) & set(first)


def finished(desk):
    """Labels to the end of the budget; a last round ends it."""
    labelled(desk, desk.total, session="to-the-end")
    last_round(desk)
    assert desk.state.ended == "budget"


def last_round(desk, upto=None):
    round_ = desk.generation() + 1
    measured = Event("measured", round_, metrics(sum(desk.classes().values())))
    events = [measured, Event("ended", round_, {"why": "budget"})]
    desk.trained(events, None, 1.0, desk.state.last_event if upto is None else upto)


def test_a_larger_budget_goes_on_after_the_end_and_after_a_restart(desk):
    finished(desk)
    assert desk.order() is None
    assert desk.next("tab", "", (), 1).finished == "budget"
    before = desk.total
    assert desk.extend(before + 5) == before + 5
    assert desk.order() is not None
    labelled(desk, 5, session="more")
    assert desk.spent() == before + 5
    assert desk.next("tab", "", (), 1).tasks == []
    last_round(desk)
    stored = read_campaign(desk.campaign.folder.path)
    assert (stored.budget, stored.spent, stored.ended, stored.state.problems) == (before + 5, before + 5, "budget", [])
    assert Desk(desk.campaign).total == before + 5
    with pytest.raises(InputError, match=f"at least {before + 5}"):
        desk.extend(before)


def test_what_is_corrected_after_the_end_is_learnt(desk):
    finished(desk)
    image = next(iter(desk.state.training_labels()))
    desk.answer("tab", "", [one(image, "2" if desk.truth[image] != "2" else "1", "a-correction")])
    assert not desk.state.ended
    assert desk.order() is not None
    assert desk.next("tab", "", (), 1).tasks == [], "the budget is spent all the same"
    last_round(desk)
    assert desk.state.ended == "budget"
    assert Desk(desk.campaign).state.ended == "budget", "nothing has changed since"


def test_a_round_that_does_not_know_the_last_correction_is_not_the_last(desk):
    labelled(desk, desk.total, session="to-the-end")
    snapshot = desk.state.last_event
    image = next(iter(desk.state.training_labels()))
    desk.answer("tab", "", [one(image, "2" if desk.truth[image] != "2" else "1", "a-correction")])
    last_round(desk, upto=snapshot)
    assert not desk.state.ended
    last_round(desk)
    assert desk.state.ended == "budget"
