"""Nobody in: each way to get past the guard is tried."""

import asyncio
import csv
import http.client
import io
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from label.conftest import Home
from versionspace.label.auth import BODY, Access, Guard

WRITE = {"X-Versionspace": "1"}
TOKEN = Home.token


def wanted(**more):
    return {"session": "tab", "want": 1} | more


def test_the_token_opens_the_page_and_leaves_a_cookie_that_scripts_cannot_read(stranger):
    response = stranger.get(f"/?token={TOKEN}")
    assert response.status_code == 200
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    assert stranger.get("/api/status").status_code == 200


@pytest.mark.parametrize("path", ["/", "/api/status", "/static/main.js", "/image/" + "0" * 64, "/api/labels.csv", "/x"])
def test_without_the_token_nothing_is_shown(home, stranger, path):
    assert stranger.get(path).status_code == 401
    assert stranger.get(path, params={"token": "wrong"}).status_code == 401
    stranger.cookies.set(f"versionspace-{home.port}", TOKEN)
    assert stranger.get(path).status_code == 401, "the token itself is not the cookie"


def test_the_token_works_in_the_opening_address_alone(stranger):
    assert stranger.get(f"/api/status?token={TOKEN}").status_code == 401


def test_a_wrong_host_is_refused(home, client):
    port = home.port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1:1", f"127.0.0.1.evil.example:{port}",
                 f"u@127.0.0.1:{port}", f"127.0.0.1:{port}x", "127.0.0.1"):  # fmt: skip
        assert client.get("/api/status", headers={"host": host}).status_code == 421, host
        assert client.get(f"/?token={TOKEN}", headers={"host": host}).status_code == 421, host


def test_our_own_names_are_known(home, client):
    for host in (f"localhost:{home.port}", f"127.0.0.1:{home.port}", f"[::1]:{home.port}"):
        assert client.get("/", params={"token": TOKEN}, headers={"host": host}).status_code == 200


def test_a_wrong_origin_is_refused_and_our_own_is_not(home, client):
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{home.port}", "http://127.0.0.1:1", "http://["):
        headers = WRITE | {"origin": origin}
        assert client.post("/api/next", json=wanted(), headers=headers).status_code == 403, origin
        assert client.get("/api/status", headers={"origin": origin}).status_code == 403, origin
    assert client.post("/api/next", json=wanted(), headers=WRITE | {"origin": home.base}).status_code == 200


def test_a_request_that_another_site_made_is_refused(client):
    assert client.get("/api/labels.csv", headers={"sec-fetch-site": "cross-site"}).status_code == 403


def test_writes_need_json_and_our_header(client):
    assert client.post("/api/next", json=wanted()).status_code == 403
    assert client.post("/api/next", data={"session": "tab"}, headers=WRITE).status_code == 415
    plain = {"content-type": "text/plain", **WRITE}
    assert client.post("/api/next", content='{"session": "tab"}', headers=plain).status_code == 415
    assert client.post("/api/next", json=wanted(), headers=WRITE).status_code == 200


def test_a_body_that_is_too_large_is_refused_also_when_it_hides_its_length(client):
    big = b'{"session": "' + b"x" * BODY + b'"}'
    headers = WRITE | {"content-type": "application/json"}
    assert client.post("/api/next", content=big, headers=headers).status_code == 413
    assert client.post("/api/next", content=iter([big[:100], big[100:]]), headers=headers).status_code == 413


@pytest.mark.parametrize("path", [
    "/image/../../../etc/passwd", "/image/..%2f..%2f..%2fetc%2fpasswd", "/static/../api.py", "/static/..%2fdesk.py",
    "/static/%2e%2e/service.py", "/image/00000.png", "/image/%00", "/static/index.html/..",
])  # fmt: skip
def test_no_path_leads_to_a_file(home, client, path):
    connection = http.client.HTTPConnection("127.0.0.1", home.port, timeout=10)
    connection.putrequest("GET", path, skip_host=False)  # as it stands: httpx would tidy it up
    connection.putheader("Cookie", f"{home.door.cookie}={home.door.key}")
    connection.endheaders()
    response = connection.getresponse()
    content = response.read()
    connection.close()
    assert response.status in (404, 422), path
    assert b"root:" not in content
    assert b"class LabelService" not in content


def test_the_policy_lets_no_script_in(client):
    for path in ("/", "/api/status", "/static/main.js", "/nothing"):
        headers = client.get(path, params={"token": TOKEN} if path == "/" else {}).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    page = client.get("/", params={"token": TOKEN}).text
    assert "onclick" not in page
    assert "<script>" not in page


def test_a_script_in_a_class_name_stays_text_and_control_characters_are_refused(client):
    name = "</script><script>alert(1)</script>"
    listed = client.post("/api/class", json={"name": name}, headers=WRITE).json()["classes"]
    assert name in [one["name"] for one in listed]
    response = client.get("/api/status")
    assert response.headers["content-type"] == "application/json"
    for bad in ("a\x00b", "line\nbreak", "", "x" * 61, "\ud800"):
        sent = client.post("/api/class", content=json.dumps({"name": bad}),
                           headers=WRITE | {"content-type": "application/json"})  # fmt: skip
        assert sent.status_code == 422, repr(bad)


def test_formulas_do_not_leave_in_the_table(client, service):
    client.post("/api/class", json={"name": "=HYPERLINK(1)"}, headers=WRITE)
    image = client.post("/api/next", json=wanted(), headers=WRITE).json()["tasks"][0]["image"]
    answer = {"uid": "formula-1", "kind": "class", "image": image, "name": "=HYPERLINK(1)"}
    sent = {"session": "tab", "who": "@me", "answers": [answer]}
    assert client.post("/api/answers", json=sent, headers=WRITE).json()["taken"] == ["formula-1"]
    (row,) = csv.DictReader(client.get("/api/labels.csv").text.splitlines())
    assert row["label"] == "'=HYPERLINK(1)"
    assert row["who"] == "'@me"


def test_images_come_by_id_encoded_anew(home, client, service):
    image = client.post("/api/next", json=wanted(), headers=WRITE).json()["tasks"][0]["image"]
    response = client.get(f"/image/{image}")
    assert response.headers["content-type"] == "image/png"
    file = service.photos / home.showing.files[image]
    assert response.content != file.read_bytes()
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(response.content))), np.asarray(Image.open(file)))


def test_a_file_that_changed_is_not_shown_in_its_place(home, client, service):
    image = client.post("/api/next", json=wanted(), headers=WRITE).json()["tasks"][0]["image"]
    Image.new("L", (8, 8), 200).save(service.photos / home.showing.files[image])
    response = client.get(f"/image/{image}")
    assert response.status_code == 410
    assert "changed" in response.json()["detail"]
    assert any("changed" in text for text in client.get("/api/status").json()["troubles"])


def test_a_door_to_all_addresses_takes_addresses_but_no_foreign_names():
    port = 8123
    door = Access(TOKEN, port, ("127.0.0.1", "myhost"), any_address=True)
    assert door.knows_host(f"192.168.1.7:{port}")
    assert door.knows_host(f"[fe80::1]:{port}")
    assert door.knows_host(f"MyHost:{port}")
    assert not door.knows_host(f"evil.example:{port}")
    assert not Access(TOKEN, port).knows_host(f"192.168.1.7:{port}")


def test_a_websocket_is_not_let_through():
    reached = []

    async def app(scope, receive, send):
        reached.append(scope)

    def connect():
        asyncio.run(Guard(app, Access(TOKEN, 1))({"type": "websocket"}, None, None))

    with ThreadPoolExecutor() as pool:  # another test may have left the event loop of its browser in this thread
        pool.submit(connect).result()
    assert reached == []
