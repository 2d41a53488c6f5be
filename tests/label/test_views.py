"""Views of the ledger: equal whether kept up to date event by event or rebuilt, and equal to a plain scan."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics import round_metrics
from versionspace.label.cold_start import CoveringImages
from versionspace.label.history import History
from versionspace.label.image_encoding import ImageEncoder
from versionspace.label.messages import Answer
from versionspace.label.queue import OpenAsks
from versionspace.label.status import page_status
from versionspace.label.views import LabelCounts, Views
from versionspace.store import TRAINING_PURPOSES, Event, State, replay

IMAGES = [f"image-{number:02d}" for number in range(12)]
CLASSES = ["cat", "dog"]
PIXELS = np.random.default_rng(0).integers(0, 255, (len(IMAGES), 8, 8, 1)).astype(np.uint8)
CAMPAIGN_IMAGES = SimpleNamespace(
    roles=SimpleNamespace(askable=lambda: np.array(IMAGES)), pixels=lambda ids: PIXELS[[IMAGES.index(i) for i in ids]]
)


class AllViews(Views):
    """One of each, empty."""

    def __init__(self):
        super().__init__((History(), OpenAsks(), LabelCounts(), CoveringImages(CAMPAIGN_IMAGES, seed=0)))

    def contents(self):
        *plain, covering = self.views
        return [*plain, covering.left, covering.choose(5), covering._coverage.gains.round(9).tolist()]


class Ledger:
    """Events that a campaign with a person could have committed, drawn one by one."""

    def __init__(self):
        self.events, self.round, self.answers, self.classes = [], 0, [], list(CLASSES)
        self.add(Event("begun", 0, {"classes": CLASSES}))

    def add(self, event):
        number = len(self.events) + 1
        self.events.append(Event(event.kind, event.round, event.body, event.who, uid=event.uid, number=number))
        return self.events[-1]

    def draw(self, data):
        kinds = [self.proposed, self.answered, self.answered, self.undone, self.closed, self.measured, self.new_class]
        kinds += [self.renamed, self.merged, self.deleted]
        return self.add(data.draw(st.sampled_from(kinds))(data))

    def proposed(self, data):
        purposes = list(TRAINING_PURPOSES)
        if not any(event.kind == "proposed" and event.body["purpose"] == "audit" for event in self.events):
            purposes.append("audit")
        purpose = data.draw(st.sampled_from(purposes))
        self.round += data.draw(st.booleans())
        ids = data.draw(st.lists(st.sampled_from(IMAGES), min_size=1, max_size=5, unique=True))
        body = {"part": 0, "purpose": purpose, "ids": ids, "utilities": [0.0] * len(ids)}
        return Event("proposed", self.round, body)

    def answered(self, data):
        image, name = data.draw(st.sampled_from(IMAGES)), data.draw(st.sampled_from([*self.classes, None]))
        body = {"id": image, "class": name, "part": 0, "rank": 0, "seconds": data.draw(st.sampled_from([0.0, 2.5]))}
        if data.draw(st.booleans()):
            guess = data.draw(st.sampled_from(self.classes))
            body["guess"] = {"class": guess, "agreement": data.draw(st.sampled_from([0.5, 0.95])), "shown": "hidden"}
        if data.draw(st.booleans()):
            body["again"] = True
        uid = f"answer-{len(self.events)}"
        self.answers.append((uid, image))
        return Event("answered", self.round, body, who=data.draw(st.sampled_from(["anna", "eve"])), uid=uid)

    def undone(self, data):
        if not self.answers:
            return self.answered(data)
        uid, image = data.draw(st.sampled_from(self.answers))
        history = History()
        for event in self.events:
            history.apply(event)
        current = history.current.get(image)
        after = history.previous(uid) if current is history.by_uid[uid] else current
        body = {"id": image, "class": after.name if after else None, "part": 0, "rank": 0, "undoes": uid}
        return Event("answered", self.round, body, who="anna", uid=f"undo-{len(self.events)}")

    def closed(self, data):
        return Event("closed", self.round)

    def measured(self, data):
        return Event("measured", len(self.events), round_metrics(labels=1, classes={"cat": 1}).to_body())

    def new_class(self, data):
        self.classes.append(f"class {len(self.events)}")
        return Event("class", self.round, {"name": self.classes[-1]})

    def renamed(self, data):
        name, to = data.draw(st.sampled_from(self.classes)), f"class {len(self.events)}"
        self.classes[self.classes.index(name)] = to
        return Event("renamed", self.round, {"class": name, "to": to})

    def merged(self, data):
        if len(self.classes) < 3:
            return self.new_class(data)
        name, into = data.draw(st.lists(st.sampled_from(self.classes), min_size=2, max_size=2, unique=True))
        self.classes.remove(name)
        return Event("merged", self.round, {"class": name, "into": into})

    def deleted(self, data):
        if len(self.classes) < 3:
            return self.new_class(data)
        name = data.draw(st.sampled_from(self.classes))
        self.classes.remove(name)
        return Event("deleted", self.round, {"class": name})


def unanswered(state: State, ask):
    """An image that was asked again belongs to the later ask."""
    return [i for i in state.unanswered(ask) if state.places[i][0] is ask]


def assert_like_a_scan(views, state, events):
    history, asks, counts, covering = views.views
    newest = state.round
    trained = [ask for ask in state.asks if ask.purpose in TRAINING_PURPOSES]
    assert asks.newest_round == newest
    assert asks.of_newest_round() == [i for ask in trained if ask.round == newest for i in unanswered(state, ask)]
    older = [ask for ask in reversed(trained) if ask.round != newest]
    assert asks.of_older_rounds() == [i for ask in older for i in unanswered(state, ask)]
    audit = [ask for ask in state.asks if ask.purpose == "audit"]
    assert asks.of_audit() == [i for ask in audit for i in unanswered(state, ask)]
    assert list(asks.audit_images) == [i for ask in audit for i in ask.ids]
    assert asks.awaited() == sum(len(unanswered(state, ask)) for ask in state.asks if not ask.closed)
    assert asks.any_left() == any(unanswered(state, ask) for ask in state.asks)
    assert asks.count_in(newest) == sum(ask.round == newest for ask in state.asks)
    assert asks.has_query(newest) == any(ask.purpose == "query" and ask.round == newest for ask in state.asks)
    assert counts.spent == state.spent()
    trained_on = Counter(state.training_labels().values())
    assert counts.per_class(state.classes) == {name: trained_on[name] for name in state.classes}
    assert trained_on.keys() <= set(state.classes)
    given = Counter(label.name for label in state.labels.values())
    assert [counts.given(name) for name in state.classes] == [given[name] for name in state.classes]
    assert counts.training() == len(state.training_labels())
    changes = [event.number for event in events if event.kind in ("answered", "merged", "deleted")]
    assert counts.last_answer == max(changes, default=0)
    current = {image: answer.name for image, answer in history.current.items()}
    assert current | dict.fromkeys(history._returned) == {i: label.name for i, label in state.labels.items()}
    assert not current.keys() & history._returned.keys()
    assert covering.left == sum(i not in state.places and i not in state.missing for i in IMAGES)


@given(st.data())
@settings(max_examples=150, deadline=None, database=None, derandomize=True)
def test_views_kept_up_to_date_equal_views_rebuilt_and_a_scan_of_the_state(data):
    ledger, views, state = Ledger(), AllViews(), State()
    for event in ledger.events:
        views.apply(event)
        replay([event], state)
    for _ in range(data.draw(st.integers(1, 25))):
        if data.draw(st.integers(0, 4)) == 0:
            state.missing = data.draw(st.frozensets(st.sampled_from(IMAGES)))
            views.set_missing(state.missing)
        event = ledger.draw(data)
        views.apply(event)
        replay([event], state)
        assert_like_a_scan(views, state, ledger.events)
    assert state.classes == ledger.classes
    assert not [problem for problem in state.problems if "class" in problem]
    for missing_first in (True, False):
        rebuilt = AllViews()
        if missing_first:
            rebuilt.set_missing(state.missing)
        for event in ledger.events:
            rebuilt.apply(event)
        if not missing_first:
            rebuilt.set_missing(state.missing)
        assert rebuilt.contents() == views.contents()


def test_a_subscriber_hears_past_and_new_events_once_each(service):
    campaign, heard = service.campaign, []
    campaign.subscribe(heard.append)
    assert [event.kind for event in heard] == ["begun", "split", "proposed"]
    campaign.add_class("new")
    image = service.next_questions("tab", "", (), 1).questions[0].image
    campaign.accept({image: "new"}, uids={image: "an-answer"})
    campaign.accept({image: "new"}, uids={image: "an-answer"})  # sent twice
    assert heard == campaign._ledger.events()
    assert [event.number for event in heard] == list(range(1, len(heard) + 1))


def test_what_a_campaign_commits_by_itself_reaches_the_views(service):
    audit = service.asks.of_audit()
    service.campaign.accept(dict.fromkeys(audit, "1"), who="a script")
    assert service.spent() == len(audit)
    assert service.asks.of_audit() == []
    assert len(service.history.latest_by("a script", 100)) == len(audit)


class Unscannable:
    """A container that may be looked into, and not gone through."""

    def __iter__(self):
        pytest.fail("a request goes through all labels or asks")

    items = values = keys = __reversed__ = __iter__


class Labels(Unscannable, dict):
    pass


class Asks(Unscannable, list):
    pass


def test_no_request_goes_through_all_labels_or_asks(service):
    state, images = service.state, []
    state.labels, state.asks = Labels(state.labels), Asks(state.asks)
    for number in range(12):
        batch = service.next_questions("tab", "anna", (), 3)
        images.append(batch.questions[0].image)
        outcome = service.answer("tab", "anna", [Answer(f"answer-{number}", "class", images[-1], str(number % 3))])
        assert outcome.refused == []
        service.next_round_size()
    service.answer("tab", "anna", [Answer("a-change", "class", images[0], "2")])
    shown = page_status(service, None, ImageEncoder(service.photos, service.campaign.dataset), "tab", "anna")
    assert (shown["done"], len(shown["rail"])) == (12, 12)
