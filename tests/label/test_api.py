"""The HTTP API: every answer that can be stored is accepted, and malformed ones are refused."""

import json

import httpx
import numpy as np
import pytest

from label.conftest import Home
from versionspace.campaign.campaign import Campaign
from versionspace.label.messages import Guesses
from versionspace.label.schemas import LONGEST_ANSWER
from versionspace.label.service import LabelService

WRITE = {"X-Versionspace": "1"}
NAMES = ("x" * 200, "with\ttab", "two\nlines", "\u4e2d" * 100)


def next_image(client):
    return client.post("/api/next", json={"session": "tab", "want": 1}, headers=WRITE).json()["tasks"][0]["image"]


def send(client, image, uid, **more):
    answer = {"uid": uid, "kind": "class", "image": image} | more
    return client.post("/api/answers", json={"session": "tab", "answers": [answer]}, headers=WRITE)


@pytest.mark.parametrize("name", NAMES, ids=["long", "tab", "lines", "wide"])
def test_any_class_of_the_campaign_is_accepted_whatever_its_name(folder, name):
    folder.classes = (name, "other")
    with Campaign.open(folder.campaign(60)) as campaign:
        service = LabelService(campaign)
        service.truth, service.photos = folder.truth, folder.photos
        with Home(service) as home, httpx.Client(base_url=home.base, timeout=10) as client:
            client.get("/", params={"token": home.token})
            assert client.get("/api/status").json()["classes"][0]["name"] == name
            image = next_image(client)
            assert send(client, image, "by-name-1", name=name).json()["taken"] == ["by-name-1"]
            assert send(client, image, "by-name-2", name=name + "?").json()["refused"][0]["uid"] == "by-name-2"
            asked = client.post("/api/grid", json={"session": "tab", "name": name}, headers=WRITE)
            assert asked.status_code == 409, "the name is fine; there is no model yet"
        assert campaign.state.labels[image].name == name


@pytest.mark.parametrize(
    ("seconds", "kept"), [(3.25, 3.25), (90_000.0, LONGEST_ANSWER), (1e300, LONGEST_ANSWER), (-5.0, 0.0)]
)
def test_seconds_are_clipped_and_never_cause_a_refusal(client, service, seconds, kept):
    image = next_image(client)
    assert send(client, image, "a-weekend", name="1", seconds=seconds).json()["taken"] == ["a-weekend"]
    assert service.state.labels[image].details["seconds"] == kept


@pytest.fixture
def newest(service):
    """Give the service a model that predicts class 2 for every image."""
    size = len(service.pool)
    votes = {"majority": np.full(size, 2, np.int32), "agreement": np.full(size, 0.75, np.float32)}
    service.guesses = Guesses.of(3, ("0", "1", "2"), ids=service.pool, **votes)
    return {"class": "2", "agreement": 0.75}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("agreement", [0, 0.667, 1])
def test_the_guess_that_was_seen_is_stored_even_if_there_is_a_newer_one(client, service, newest, when, agreement):
    image, seen = next_image(client), {"name": "1", "agreement": agreement}
    assert send(client, image, "it-was-seen", name="1", when=when, guess=seen).json()["taken"] == ["it-was-seen"]
    stored = {"class": "1", "agreement": agreement, "shown": when}
    assert service.state.labels[image].details["guess"] == stored
    assert LabelService(service.campaign).history.current[image].details["guess"] == stored, "on disk too"


@pytest.mark.parametrize("more", [
    {}, {"when": "hidden", "guess": None}, {"when": "hidden", "guess": {"name": "1", "agreement": 0.9}},
])  # fmt: skip
def test_the_newest_guess_is_stored_where_none_was_seen(client, service, newest, more):
    image = next_image(client)
    assert send(client, image, "not-seen", name="1", **more).json()["taken"] == ["not-seen"]
    assert service.state.labels[image].details["guess"] == newest | {"shown": "hidden"}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_guess_that_was_shown_is_required(client, service, newest, when):
    image = next_image(client)
    reply = send(client, image, "not-sent", name="1", when=when).json()
    assert reply["taken"] == []
    assert reply["refused"][0]["why"] == "guess: expected one of the classes, got none. Reload the page."
    assert image not in service.state.labels


@pytest.mark.parametrize("name", ["3", "0 ", "\u4e2d"])
def test_a_guess_of_an_unknown_class_is_refused(client, service, newest, name):
    image = next_image(client)
    found = send(client, image, "a-wrong-guess", name="1", when="before", guess={"name": name, "agreement": 0.5}).json()
    assert found["taken"] == []
    assert f"guess: expected one of the classes, got {name!r}. Reload the page." in found["refused"][0]["why"]
    assert image not in service.state.labels


@pytest.mark.parametrize("agreement", ["-0.01", "1.01", "1e999", "-1e999", "NaN", "Infinity", '"x"', "null", "[]"])
def test_an_agreement_outside_0_to_1_is_refused(client, service, newest, agreement):
    image = next_image(client)
    one = {"uid": "a-wrong-share", "kind": "class", "image": image, "name": "1", "when": "before"}
    whole = json.dumps({"session": "tab", "answers": [one | {"guess": {"name": "1", "agreement": "HERE"}}]})
    body, headers = whole.replace('"HERE"', agreement), WRITE | {"Content-Type": "application/json"}
    found = client.post("/api/answers", content=body, headers=headers)
    assert found.status_code == 422
    assert found.json()["detail"].startswith("answers.0.guess.agreement: ")
    assert image not in service.state.labels


@pytest.mark.parametrize("more", [
    {"when": "later"}, {"guess": "1"}, {"guess": {"name": "1"}}, {"guess": {"agreement": 1}},
    {"guess": {"name": "", "agreement": 1}}, {"guess": {"name": None, "agreement": 1}},
    {"guess": {"name": 1, "agreement": 1}}, {"guess": {"name": "1", "agreement": 1, "round": 3}},
])  # fmt: skip
def test_a_malformed_timing_or_guess_is_refused(client, service, newest, more):
    image = next_image(client)
    assert send(client, image, "not-described", name="1", **more).status_code == 422
    assert image not in service.state.labels
