"""What the web takes: no answer that can be stored is refused."""

import httpx
import pytest

from label.conftest import Home
from versionspace.campaign.campaign import Campaign
from versionspace.label.api import LONGEST
from versionspace.label.desk import Desk

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
    assert desk.state.labels[image].shown["seconds"] == kept
