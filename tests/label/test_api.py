"""What the web takes: no answer that can be stored is refused."""

import json

import httpx
import numpy as np
import pytest

from label.conftest import Home
from versionspace.campaign.campaign import Campaign
from versionspace.label.api import LONGEST
from versionspace.label.messages import Guesses
from versionspace.label.service import Desk

WRITE = {"X-Versionspace": "1"}
NAMES = ("x" * 200, "with\ttab", "two\nlines", "\u4e2d" * 100)


def an_image(client):
    return client.post("/api/next", json={"session": "tab", "want": 1}, headers=WRITE).json()["tasks"][0]["image"]


def sent(client, image, uid, **more):
    answer = {"uid": uid, "kind": "class", "image": image} | more
    return client.post("/api/answers", json={"session": "tab", "answers": [answer]}, headers=WRITE)


@pytest.mark.parametrize("name", NAMES, ids=["long", "tab", "lines", "wide"])
def test_a_class_of_the_campaign_is_taken_whatever_it_is_called(folder, name):
    folder.classes = (name, "other")
    with Campaign.open(folder.campaign(60)) as campaign:
        desk = Desk(campaign)
        desk.truth, desk.photos = folder.truth, folder.photos
        with Home(desk) as home, httpx.Client(base_url=home.base, timeout=10) as client:
            client.get("/", params={"token": home.token})
            assert client.get("/api/status").json()["classes"][0]["name"] == name
            image = an_image(client)
            assert sent(client, image, "by-name-1", name=name).json()["taken"] == ["by-name-1"]
            assert sent(client, image, "by-name-2", name=name + "?").json()["refused"][0]["uid"] == "by-name-2"
            asked = client.post("/api/grid", json={"session": "tab", "name": name}, headers=WRITE)
            assert asked.status_code == 409, "there is no model yet; the name is fine"
        assert campaign.state.labels[image].name == name


@pytest.mark.parametrize(("seconds", "kept"), [(3.25, 3.25), (90_000.0, LONGEST), (1e300, LONGEST), (-5.0, 0.0)])
def test_seconds_are_brought_into_range_and_never_cost_an_answer(client, desk, seconds, kept):
    image = an_image(client)
    assert sent(client, image, "a-weekend", name="1", seconds=seconds).json()["taken"] == ["a-weekend"]
    assert desk.state.labels[image].details["seconds"] == kept


@pytest.fixture
def newest(desk):
    """A model that takes all images for class 2."""
    size = len(desk.pool)
    votes = {"majority": np.full(size, 2, np.int32), "agreement": np.full(size, 0.75, np.float32)}
    desk.guesses = Guesses.of(3, ("0", "1", "2"), ids=desk.pool, **votes)
    return {"class": "2", "agreement": 0.75}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("agreement", [0, 0.667, 1])
def test_the_guess_that_was_seen_is_stored_though_there_is_a_newer_one(client, desk, newest, when, agreement):
    image, seen = an_image(client), {"name": "1", "agreement": agreement}
    assert sent(client, image, "it-was-seen", name="1", when=when, guess=seen).json()["taken"] == ["it-was-seen"]
    stored = {"class": "1", "agreement": agreement, "shown": when}
    assert desk.state.labels[image].details["guess"] == stored
    assert Desk(desk.campaign).history.standing[image].shown["guess"] == stored, "on the disk, too"


@pytest.mark.parametrize(("more", "shown"), [
    ({}, "hidden"), ({"when": "hidden", "guess": None}, "hidden"), ({"when": "before"}, "before"),
    ({"when": "after"}, "after"), ({"when": "hidden", "guess": {"name": "1", "agreement": 0.9}}, "hidden"),
])  # fmt: skip
def test_without_a_guess_that_was_seen_the_newest_is_stored(client, desk, newest, more, shown):
    """Tabs of earlier versions say when, and not what."""
    image = an_image(client)
    assert sent(client, image, "not-seen", name="1", **more).json()["taken"] == ["not-seen"]
    assert desk.state.labels[image].details["guess"] == newest | {"shown": shown}


@pytest.mark.parametrize("name", ["3", "0 ", "\u4e2d"])
def test_a_guess_of_no_class_is_refused(client, desk, newest, name):
    image = an_image(client)
    found = sent(client, image, "a-wrong-guess", name="1", when="before", guess={"name": name, "agreement": 0.5}).json()
    assert found["taken"] == []
    assert f"guess: expected one of the classes, got {name!r}. Reload the page." in found["refused"][0]["why"]
    assert image not in desk.state.labels


@pytest.mark.parametrize("agreement", ["-0.01", "1.01", "1e999", "-1e999", "NaN", "Infinity", '"x"', "null", "[]"])
def test_an_agreement_that_is_no_share_is_refused(client, desk, newest, agreement):
    image = an_image(client)
    one = {"uid": "a-wrong-share", "kind": "class", "image": image, "name": "1", "when": "before"}
    whole = json.dumps({"session": "tab", "answers": [one | {"guess": {"name": "1", "agreement": "HERE"}}]})
    body, headers = whole.replace('"HERE"', agreement), WRITE | {"Content-Type": "application/json"}
    found = client.post("/api/answers", content=body, headers=headers)
    assert found.status_code == 422
    assert found.json()["detail"].startswith("answers.0.guess.agreement: ")
    assert image not in desk.state.labels


@pytest.mark.parametrize("more", [
    {"when": "later"}, {"guess": "1"}, {"guess": {"name": "1"}}, {"guess": {"agreement": 1}},
    {"guess": {"name": "", "agreement": 1}}, {"guess": {"name": None, "agreement": 1}},
    {"guess": {"name": 1, "agreement": 1}}, {"guess": {"name": "1", "agreement": 1, "round": 3}},
])  # fmt: skip
def test_a_mode_or_a_guess_that_is_not_as_described_is_refused(client, desk, newest, more):
    image = an_image(client)
    assert sent(client, image, "not-described", name="1", **more).status_code == 422
    assert image not in desk.state.labels
