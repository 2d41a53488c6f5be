"""The service behind the page, without web server and trainer: questions, answers, undo and rounds."""

import numpy as np
import pytest

from metrics import round_metrics
from versionspace.campaign.campaign import Campaign
from versionspace.campaign.round import proposal_event
from versionspace.errors import InputError
from versionspace.label import pacing
from versionspace.label.leases import LEASE_SECONDS
from versionspace.label.messages import Answer, PoolVotes
from versionspace.label.service import LabelService
from versionspace.label.trainer_messages import RoundResult
from versionspace.store import Event, StoreError, read_campaign


def reply(image, name, uid, **more):
    return Answer(uid, more.pop("kind", "class"), image, name, **more)


def images(batch):
    return [question.image for question in batch.questions]


def label(service, count, session="tab", who=""):
    """Answer the next images correctly, one by one, and return them."""
    done = []
    for number in range(count):
        question = service.next_questions(session, who, (), 1).questions[0]
        image = question.image
        service.answer(session, who, [reply(image, service.truth[image], f"{session}-{number}-{image[:20]}")])
        done.append(image)
    return done


def metrics(labels, **more):
    return round_metrics(labels=labels, classes={"0": 1, "1": 1, "2": 1}).to_body() | more


def commit_round(service, round_, ids, agreement=1.0, audit=None):
    """Commit what a trainer would send: metrics, a proposal, and votes for the true classes."""
    votes = np.array([int(service.truth[i]) for i in service.pool], np.int32)
    pool_votes = PoolVotes(("0", "1", "2"), votes, np.full(len(votes), agreement, np.float32))
    labels = sum(service.class_counts().values())
    events = [
        Event("measured", round_, metrics(labels, audit=audit)),
        proposal_event(round_, 0, "query", np.array(ids), np.ones(len(ids))),
    ]
    service.commit_round(RoundResult(events, pool_votes), 2.0)


def never_asked(service, count):
    return [i for i in service.covering.ids if i not in service.state.places][:count]


def test_no_image_is_served_twice_and_every_answer_is_in_the_ledger(service):
    shown = label(service, 25)
    assert len(set(shown)) == 25
    stored = read_campaign(service.campaign.folder.path).state
    assert {i: label.name for i, label in stored.labels.items()} == {i: service.truth[i] for i in shown}
    assert stored.problems == []


def test_views_of_a_running_service_equal_those_after_a_restart(service):
    shown = label(service, 4)
    audit = service.asks.of_audit()[0]
    service.answer("tab", "", [
        Answer("a-skip-1", "skip", shown[0]), reply(shown[1], "2", "a-change"), reply(audit, "1", "an-audit"),
        Answer("undo-change", "undo", shown[1], undoes="a-change"), Answer("undo-first", "undo", shown[2],
                                                                       undoes=f"tab-2-{shown[2][:20]}"),
    ])  # fmt: skip
    fresh = LabelService(service.campaign)
    assert (service.history, service.asks, service.counts) == (fresh.history, fresh.asks, fresh.counts)
    assert service.covering.choose(6) == fresh.covering.choose(6)
    assert service.spent() == 4 - 2 + 1


def test_the_first_model_is_trained_once_two_classes_have_two_labels_each(service):
    assert service.next_round_size() is None
    while service.in_cold_start():
        label(service, 1, session=f"s{service.spent()}")
    assert sorted(service.class_counts().values())[-2] == 2
    assert service.next_round_size() is not None
    assert (
        not service.asks.of_audit()
        or service.next_questions("t", "", (), 1).questions[0].image in service.asks.of_audit()
    )


def test_an_answer_sent_twice_counts_once(service):
    image = service.next_questions("tab", "", (), 1).questions[0].image
    for _ in range(3):
        assert service.answer("tab", "", [reply(image, "1", "the-same")]).stored == ["the-same"]
    service.answer("tab", "", [reply(image, "2", "a-correction")])
    service.answer("tab", "", [reply(image, "1", "the-same")])
    assert service.history.current[image].name == service.state.labels[image].name == "2", (
        "a late copy must not correct anything"
    )
    assert len(service.history.answers) == 2
    assert service.spent() == 1
    events = [e for e in service.campaign._ledger.events() if e.kind == "answered"]
    assert len(events) == 2


def test_two_tabs_get_different_images_until_the_lease_of_one_expires(service):
    service.now = 0.0
    mine = {question.image for question in service.next_questions("a", "", (), 4).questions}
    theirs = {question.image for question in service.next_questions("b", "", (), 4).questions}
    assert not mine & theirs
    service.now = LEASE_SECONDS + 1
    again = {question.image for question in service.next_questions("b", "", tuple(theirs), 4).questions}
    assert again == mine, "an expired tab holds no image"
    late = next(iter(mine))
    assert service.answer("a", "anna", [reply(late, "2", "late-answer")]).stored == ["late-answer"]


def test_a_closed_tab_releases_its_images_at_once(service):
    mine = [question.image for question in service.next_questions("a", "", (), 3).questions]
    service.end_session("a")
    assert [question.image for question in service.next_questions("b", "", (), 3).questions] == mine


def test_an_undone_image_is_asked_again_first(service):
    first = label(service, 2)
    service.answer("tab", "", [Answer("undo-1", "undo", first[1], undoes=f"tab-1-{first[1][:20]}")])
    assert service.spent() == 1
    assert service.next_questions("tab", "", (), 1).questions[0].image == first[1]
    service.answer("tab", "", [Answer("undo-2", "undo", first[0], undoes=f"tab-0-{first[0][:20]}")])
    assert [q.image for q in service.next_questions("tab", "", (), 2).questions] == [first[0], first[1]]


def test_an_undone_image_stays_leased_to_its_tab_until_the_lease_expires(service):
    service.now = 0.0
    first, second = images(service.next_questions("a", "", (), 2))
    service.answer(
        "a",
        "",
        [reply(first, "0", "an-answer"), reply(second, "0", "another"), reply(second, "1", "corrected")],
    )
    undos = [Answer("undo-1", "undo", first, undoes="an-answer"), Answer("undo-2", "undo", second, undoes="corrected")]
    for _ in range(2):
        service.answer("a", "", undos)  # sent twice, as after a lost reply
        assert service.leases.held() == {first}, "the other image has its earlier answer again"
    theirs = images(service.next_questions("b", "", (), 5))
    assert first not in theirs
    assert first not in images(service.next_questions("c", "eve", (), 5))
    service.now = LEASE_SECONDS + 1
    assert images(service.next_questions("b", "", theirs, 1)) == [first]
    service.answer("b", "", [reply(first, "2", "by-another")])
    service.answer("a", "", undos[:1])
    assert first not in service.leases.held(), "a late copy must not lease anything"


def test_undoing_a_correction_restores_the_earlier_answer_even_after_a_restart(service):
    image = label(service, 1)[0]
    other = "0" if service.truth[image] != "0" else "1"
    service.answer(
        "tab", "", [reply(image, other, "correction"), Answer("undo-it", "undo", image, undoes="correction")]
    )
    assert service.state.labels[image].name == service.truth[image]
    again = LabelService(service.campaign)
    assert again.history.current[image].name == service.truth[image]
    assert again.history.returned == {}
    assert again.history.latest_by("", 5)[0].image == image


def test_undo_never_restores_an_answer_that_was_undone_itself(service):
    (image,) = images(service.next_questions("tab", "", (), 1))
    first, second, third = (reply(image, name, f"answer-{name}") for name in "012")
    undos = [Answer(f"undo-{uid}", "undo", image, undoes=uid) for uid in ("answer-1", "answer-2", "answer-0")]
    service.answer("tab", "", [first, second, third, undos[0]])
    assert service.history.current[image].name == service.state.labels[image].name == "2"
    service.answer("tab", "", [undos[1]])
    assert service.history.current[image].name == service.state.labels[image].name == "0"
    service.answer("tab", "", [undos[2]])
    assert image not in service.history.current
    assert list(service.history.returned) == [image]


def test_an_undone_image_is_asked_again_after_a_restart(service):
    image = label(service, 1)[0]
    service.answer("tab", "", [Answer("undo-it", "undo", image, undoes=f"tab-0-{image[:20]}")])
    assert LabelService(service.campaign).next_questions("new", "", (), 1).questions[0].image == image


def test_invalid_answers_are_refused_one_by_one_and_valid_ones_stored(service):
    questions = service.next_questions("tab", "", (), 2).questions
    outcome = service.answer("tab", "", [
        reply("0" * 64, "1", "unknown-image"), reply(questions[0].image, "zebra", "unknown-class"),
        reply(questions[1].image, "1", "fine-one"), Answer("bad-undo", "undo", questions[1].image, undoes="nothing"),
    ])  # fmt: skip
    assert outcome.stored == ["fine-one"]
    assert [r.uid for r in outcome.refused] == ["unknown-image", "unknown-class", "bad-undo"]
    assert "never" not in str(service.state.problems)


def test_a_new_round_is_served_at_once_and_the_open_images_of_the_old_one_are_kept(service):
    label(service, 12)
    commit_round(service, 1, never_asked(service, 10))
    old = [q.image for q in service.next_questions("tab", "", (), 12).questions]
    new = never_asked(service, 10)
    commit_round(service, 2, new)
    served = [q.image for q in service.next_questions("tab", "", (), 4).questions]
    assert set(served) - set(service.asks.of_audit()) <= set(new)
    assert set(old) - set(service.asks.of_audit()) <= set(service.asks.of_older_rounds())
    assert service.state.problems == []


def test_a_round_may_ask_again_for_unanswered_images_of_the_closed_one(service):
    label(service, 12)
    ids = never_asked(service, 10)
    commit_round(service, 1, ids)
    answered = ids[0]
    service.answer("tab", "", [reply(answered, service.truth[answered], "first-of-round")])
    commit_round(service, 2, ids)
    assert service.state.asks[-1].ids == tuple(ids[1:]), "all but the image answered meanwhile"
    assert service.state.problems == []
    assert not set(service.asks.of_newest_round()) & set(service.asks.of_older_rounds())


def test_a_stale_model_no_longer_asks(service, monkeypatch):
    monkeypatch.setattr(pacing, "STALE_LABELS", 5)
    label(service, 10)
    wanted = never_asked(service, 12)
    commit_round(service, 1, wanted)
    for image in wanted[:6]:
        service.answer("tab", "", [reply(image, service.truth[image], f"uid-{image[:20]}")])
    fillers = [q.image for q in service.next_questions("tab", "", (), 12).questions]
    assert fillers
    assert not set(fillers) & set(wanted)
    audit = set(service.asks.of_audit())
    assert set(fillers[: len(audit)]) == audit, "the audit comes first"


def test_the_audit_progresses_with_the_budget(service):
    label(service, 9)
    while not service.spent() >= service.budget:
        if service.spent() % 10 == 9:
            commit_round(service, service.newest_round() + 1, never_asked(service, 10))
        label(service, 1, session=f"n{service.spent()}")
        done = 10 - len(service.asks.of_audit())
        if service.newest_round():
            assert done >= 10 * (service.spent() - 2) / 60 - 1
    assert service.spent() == 60
    assert service.next_questions("tab", "", (), 3).finished == "budget"


def test_two_tabs_together_get_no_more_images_than_the_budget_allows(service):
    while service.spent() < 58:
        label(service, 1, session=f"n{service.spent()}")
    assert len(service.next_questions("a", "", (), 12).questions) == 2
    assert service.next_questions("b", "", (), 12).questions == []
    assert service.next_questions("b", "", (), 12).finished == "", "the other tab has the last images on its screen"


def test_a_round_does_not_end_the_campaign_while_answers_are_awaited(service):
    label(service, 12)
    events = [Event("measured", 1, metrics(12)), Event("ended", 1, {"why": "budget"})]
    service.commit_round(RoundResult(events), 1.0)
    assert service.state.ended == ""
    assert 1 in service.state.metrics


@pytest.mark.parametrize(("accuracy", "times"), [(0.9, 1), (0.5, 0)])
def test_a_label_against_a_confident_guess_of_a_trusted_model_gets_one_second_look(service, accuracy, times):
    label(service, 12)
    ids = never_asked(service, 3)
    commit_round(service, 1, ids, audit={"accuracy": accuracy, "images": 20, "low": 0.5, "high": 1.0})
    wrong = "0" if service.truth[ids[0]] != "0" else "1"
    service.answer("tab", "", [reply(ids[0], wrong, "a-slip")])
    assert list(service.history.doubtful) == [ids[0]]
    seen = []
    for _ in range(30):
        question = service.next_questions("tab", "", (), 1).questions[0]
        seen.append(question)
        service.answer(
            "tab", "", [reply(question.image, service.truth[question.image], f"u{len(seen)}-{question.image[:20]}")]
        )
    again = [question for question in seen if question.second_look]
    assert [question.image for question in again] == [ids[0]] * times
    assert (service.state.labels[ids[0]].name == service.truth[ids[0]]) is bool(times)
    assert len(service.history.doubtful) == 1 - times


def test_a_grid_shows_one_class_and_no_image_asked_before(service):
    with pytest.raises(InputError, match="trained model"):
        service.grid("tab", 3, None)
    label(service, 12)
    commit_round(service, 1, never_asked(service, 5), agreement=0.8)
    before = set(service.state.places)
    grid = service.grid("tab", 3, "1")
    assert grid.name == "1"
    assert {service.truth[q.image] for q in grid.questions} == {"1"}
    assert len(grid.questions) == 9
    assert not before & {q.image for q in grid.questions}
    assert not {q.image for q in grid.questions} & {
        q.image for q in service.next_questions("other", "", (), 12).questions
    }


def test_unanswered_grids_ask_nothing_and_do_not_block_training(service):
    label(service, 12)
    commit_round(service, 1, never_asked(service, 12), agreement=0.8)
    asked, waiting = len(service.state.asks), service.asks.awaited()
    for name in (*service.state.classes, "0"):
        assert len(service.grid("tab", 5, name).questions) > 15
    assert (len(service.state.asks), service.asks.awaited()) == (asked, waiting)
    shown = images(service.grid("tab", 3, "1"))
    assert not set(shown) & set(images(service.grid("other", 5, "1"))), "they are leased to the first tab"
    service.end_session("tab")
    assert images(service.grid("other", 3, "1")) == shown, "an abandoned grid is released"
    label(service, 10)
    assert service.next_round_size() is not None


def test_images_of_a_grid_are_asked_once_answered_even_after_a_restart(service):
    label(service, 12)
    commit_round(service, 1, never_asked(service, 5), agreement=0.8)
    shown = images(service.grid("tab", 3, "1"))
    commit_round(service, 2, [shown[8], *(i for i in never_asked(service, 20) if i not in shown)], agreement=0.8)
    hidden = service.campaign.images.roles.reference[0]
    later = LabelService(service.campaign)
    answers = [reply(i, "1", f"g-{i[:20]}", grid="one") for i in (*shown, hidden)]
    assert [r.uid for r in later.answer("tab", "", answers).refused] == [f"g-{hidden[:20]}"], (
        "reference images are never asked"
    )
    assert later.spent() == 12 + 9
    ask, _ = later.state.places[shown[0]]
    assert (ask.ids, ask.purpose, ask.round) == (tuple(shown[:8]), "query", 2)
    assert ask.utilities == pytest.approx([0.2] * 8)
    assert later.covering.left == len(never_asked(later, 200))
    assert later.state.problems == []


def test_a_grid_respects_the_budget_and_the_images_of_all_tabs(service):
    label(service, 12)
    commit_round(service, 1, never_asked(service, 12), agreement=0.8)
    service.set_budget(30)
    ahead, theirs = images(service.next_questions("tab", "", (), 6)), images(service.next_questions("other", "", (), 2))
    shown = images(service.grid("tab", 5, "1", ahead))
    assert len(shown) == 30 - 12 - 6 - 2
    assert service.next_questions("other", "", theirs, 5).questions == []
    out = [*shown[:3], *ahead]  # clicked out of the grid, to be labelled one by one
    assert not set(images(service.grid("tab", 5, "1", out))) & set(out)
    assert service.leases.held() >= {*out, *theirs}


def test_diverse_images_exclude_those_shown_in_a_grid(service):
    label(service, 12)
    commit_round(service, 1, [], agreement=0.8)
    unlike = list(service.covering.choose(9))
    service.leases.acquire("tab", unlike)
    served = images(service.next_questions("other", "", service.asks.of_audit(), 5))
    assert len(served) == 5
    assert not set(served) & set(unlike)
    assert not set(unlike) & set(service.state.places), "a grid asks nothing"


def test_the_guess_is_sent_only_to_tabs_that_show_it(service):
    label(service, 12)
    commit_round(service, 1, never_asked(service, 5))
    assert service.next_questions("a", "", (), 1).questions[0].guess is None
    question = service.next_questions("a", "", (), 1, "after").questions[0]
    assert question.guess is not None
    service.answer("a", "", [reply(question.image, "1", "with-guess", guess_timing="after", guess=question.guess)])
    assert service.state.labels[question.image].details["guess"]["shown"] == "after"


def test_a_class_added_later_can_be_used(service):
    service.edit_classes(lambda campaign: campaign.add_class("new one"))
    assert service.state.classes == ["0", "1", "2", "new one"]
    image = service.next_questions("tab", "", (), 1).questions[0].image
    assert service.answer("tab", "", [reply(image, "new one", "uses-it")]).stored
    assert service.class_counts()["new one"] == 1


def test_skipped_images_cost_no_budget_and_are_not_asked_again(service):
    image = service.next_questions("tab", "", (), 1).questions[0].image
    service.answer("tab", "", [Answer("skip-it-1", "skip", image)])
    assert service.spent() == 0
    assert image not in {q.image for q in service.next_questions("tab", "", (), 12).questions}
    assert service.state.labels[image].details["reason"] == "skipped"


def test_a_campaign_ends_when_every_image_is_skipped(folder):
    with Campaign.open(folder.campaign(60)) as campaign:
        service = LabelService(campaign)
        while questions := service.next_questions("tab", "", (), 12).questions:
            service.answer("tab", "", [Answer(f"s-{q.image[:30]}", "bad", q.image) for q in questions])
        assert service.next_round_size() is None
        assert "no image has a label" in campaign.state.ended
        assert "no image has a label" in service.next_questions("tab", "", (), 1).finished


def test_an_ask_that_cannot_be_stored_changes_nothing(service):
    left, sql = service.covering.left, service.campaign._ledger._connection
    sql.execute("PRAGMA max_page_count = 1")  # SQLite cannot grow the file, as on a full disk
    failed = 0
    for number in range(60):
        try:
            service.next_questions(f"tab-{number}", "", (), 5)
        except StoreError as error:
            failed += "free space on the disk" in str(error)
    assert failed > 40, "too few requests needed a new ask, or the disk was not full"
    assert service.next_round_size() is None
    assert service.state.ended == ""
    sql.execute("PRAGMA max_page_count = 1000000")
    asked = {i for ask in service.state.asks if ask.purpose != "audit" for i in ask.ids}
    assert service.covering.left == left - len(asked) > 0
    service.now = LEASE_SECONDS + 1
    label(service, service.budget, session="room")
    assert service.spent() == service.budget
    assert service.state.problems == []


def test_choosing_diverse_images_changes_nothing_until_they_are_asked(service):
    first = service.covering.choose(6)
    assert service.covering.choose(6) == first
    assert list(service.covering.choose(3)) == list(first)[:3], "each is the farthest from all before it"
    service.campaign.commit([proposal_event(0, 1, "cold start", np.array(list(first)), np.zeros(6))])
    assert not set(service.covering.choose(6)) & set(first)


def finished(service):
    """Spend the budget and commit the last round."""
    label(service, service.budget, session="to-the-end")
    last_round(service)
    assert service.state.ended == "budget"


def last_round(service, last_event=None):
    round_ = service.newest_round() + 1
    measured = Event("measured", round_, metrics(sum(service.class_counts().values())))
    events = [measured, Event("ended", round_, {"why": "budget"})]
    last_event = service.state.last_event if last_event is None else last_event
    service.commit_round(RoundResult(events, last_event=last_event), 1.0)


def test_a_larger_budget_reopens_an_ended_campaign(service):
    finished(service)
    assert service.next_round_size() is None
    assert service.next_questions("tab", "", (), 1).finished == "budget"
    before = service.budget
    assert service.set_budget(before + 5) == before + 5
    assert service.next_round_size() is not None
    label(service, 5, session="more")
    assert service.spent() == before + 5
    assert service.next_questions("tab", "", (), 1).questions == []
    last_round(service)
    stored = read_campaign(service.campaign.folder.path)
    assert (stored.budget, stored.spent, stored.ended, stored.state.problems) == (before + 5, before + 5, "budget", [])
    assert LabelService(service.campaign).budget == before + 5
    with pytest.raises(InputError, match=f"at least {before + 5}"):
        service.set_budget(before)


def test_a_correction_after_the_end_trains_a_last_model(service):
    finished(service)
    image = next(iter(service.state.training_labels()))
    service.answer("tab", "", [reply(image, "2" if service.truth[image] != "2" else "1", "a-correction")])
    assert not service.state.ended
    assert service.next_round_size() is not None
    assert service.next_questions("tab", "", (), 1).questions == [], "the budget is still spent"
    last_round(service)
    assert service.state.ended == "budget"
    assert LabelService(service.campaign).state.ended == "budget", "nothing was answered since"


def test_a_round_trained_without_the_last_correction_does_not_end_the_campaign(service):
    label(service, service.budget, session="to-the-end")
    snapshot = service.state.last_event
    image = next(iter(service.state.training_labels()))
    service.answer("tab", "", [reply(image, "2" if service.truth[image] != "2" else "1", "a-correction")])
    last_round(service, last_event=snapshot)
    assert not service.state.ended
    last_round(service)
    assert service.state.ended == "budget"


def test_the_pace_leaves_out_grids_and_what_was_undone(service):
    ids = images(service.next_questions("tab", "", (), 8))
    for place, image in enumerate(ids[:4]):
        service.answer("tab", "", [reply(image, "0", f"single-{place}", seconds=3.0)])
    assert service.pace().seconds_per_label == 3.0
    service.answer("tab", "", [reply(i, "0", f"grid-{n:04d}", seconds=0.1, grid="one") for n, i in enumerate(ids[4:])])
    assert service.pace().seconds_per_label == 3.0
    service.answer("tab", "", [reply(ids[0], "1", "quick-slip", seconds=0.2)])
    undo = Answer("undo-slip", "undo", ids[0], undoes="quick-slip")
    service.answer("tab", "", [undo])
    assert service.history.recent_seconds() == [3.0] * 4


def test_the_list_of_last_answers_never_ends_within_a_grid(service):
    ids = images(service.next_questions("tab", "", (), 8))
    service.answer("tab", "", [reply(ids[0], "0", "single-0"), reply(ids[1], "0", "single-1")])
    service.answer("tab", "", [reply(i, "0", f"grid-{n:04d}", grid="one") for n, i in enumerate(ids[2:])])
    assert [a.image for a in service.history.latest_by("", 2)] == ids[:1:-1]
    assert [a.image for a in service.history.latest_by("", 7)] == ids[:0:-1]


def test_people_are_those_whose_tabs_are_open(service):
    for session, who in (("a", "anna"), ("b", "ben"), ("c", "ben"), ("d", ""), ("e", "")):
        service.next_questions(session, who, (), 1)
    assert service.leases.people() == ["anna", "ben", "", ""]
    service.end_session("a")
    service.now = 100.0
    service.next_questions("c", "ben", (), 1)
    service.now = 200.0
    assert service.leases.people() == ["ben"]


def test_a_class_that_only_the_audit_has_seen_is_seen(service):
    audit = service.asks.of_audit()[0]
    assert service.counts.seen() == set()
    service.answer("tab", "", [reply(audit, "2", "an-audit-image")])
    assert (service.counts.seen(), service.class_counts()["2"]) == ({"2"}, 0)
    service.answer("tab", "", [reply(audit, "1", "a-correction")])
    assert service.counts.seen() == {"1"}
