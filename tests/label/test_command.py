"""``versionspace label`` as it is typed."""

import json
import socket
import subprocess
import sys
from hashlib import sha256

import pytest

import versionspace as vs
from label.serving import COMMAND, Client, Server
from versionspace.cli.label import label
from versionspace.errors import VersionspaceError
from versionspace.store import read_campaign


def typed(photos=None, **options):
    """What the command says where it does not start."""
    with pytest.raises(VersionspaceError) as said:
        label(photos, browser=False, **options)
    return str(said.value)


def test_what_is_missing_is_said(folder):
    assert "a folder of images, or --campaign" in typed()
    assert "--classes" in typed(folder.photos)
    assert "outside the images" in typed(folder.photos, classes="0,1", campaign=folder.photos / "inside")


def test_a_new_campaign_begins_in_its_own_folder_and_is_locked_to_it(folder):
    place = folder.photos.with_name("elsewhere")
    place.mkdir()
    options = ["--classes", "0,1,2", "--budget", "40", "--net", "small", "--campaign", str(place), "--no-browser"]
    command = [sys.executable, "-c", COMMAND, str(folder.photos), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("Label at http://127.0.0.1:")
            key = json.loads((place / ".label.json").read_text())
            assert key["token"] in line
            assert (place / ".label.json").stat().st_mode & 0o077 == 0, "the key is for its owner alone"
            assert read_campaign(place).config.budget.total == 40
            assert f"one whose page is open at {line.split()[-1]}. Label there" in typed(campaign=place)
            with vs.label_folder(folder.photos, "0,1", net="small", campaign=place.with_name("other")) as other:
                assert "in use by process" in typed(campaign=other.folder.path), "it has no page"
            assert "no change for the campaign" in typed(folder.photos, campaign=place, classes="0,1")
        finally:
            process.kill()
    assert sorted(p.name for p in folder.photos.iterdir() if not p.name.endswith(".png")) == []


def test_what_is_not_read_is_listed_when_labelling_begins(folder):
    (folder.photos / "broken.jpg").write_text("no image")
    (folder.photos / "old.jxl").write_text("another")
    (folder.photos / "away.png").symlink_to(__file__)
    for number in range(30):
        (folder.photos / f"z{number:02}.svg").write_text("x")
    with Server(folder.campaign(40, data={"follow_links": False})) as server:
        said = (server.folder / ".server.log").read_text().splitlines()
    start = said.index("33 files are not read:")
    assert said[start + 1] == "  away.png: a link that leads out of the folder"
    assert said[start + 2].startswith("  broken.jpg: not a JPEG, PNG")
    assert said[start + 3].startswith("  old.jxl: .jxl files are not supported")
    assert said[start + 21 : start + 23] == ["  and 13 more", "--follow-links follows such links, in a new campaign."]


def test_a_port_that_was_chosen_must_be_free(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = typed(campaign=folder.campaign(40), port=port)
        assert said.startswith(f"--port: expected a free port, got {port} (")
    with Server(folder.photos.with_name("photos.versionspace"), "--port", str(port)) as server:
        assert f":{port}/" in server.address


def test_the_port_of_the_last_start_is_left_to_others(folder):
    with Server(folder.campaign(40)) as server:
        before = server.address
        server.stop()
        port = int(before.split(":")[2].partition("/")[0])
        with socket.create_server(("127.0.0.1", port)):
            server.start()
            assert server.address != before


def test_the_same_address_and_key_serve_again_after_a_restart(folder):
    with Server(folder.campaign(40)) as server:
        before = server.address
        client = Client(server)
        assert server.stop() == 130
        server.start()
        assert server.address == before
        assert client.status()["done"] == 0
        client.close()


def test_an_image_that_vanishes_while_labelling_is_named_and_the_rest_goes_on(folder):
    with Server(folder.campaign(40)) as server:
        client = Client(server)
        image = client.next()["tasks"][0]["image"]
        file = next(f for f in folder.photos.iterdir() if sha256(f.read_bytes()).hexdigest() == image)
        file.unlink()
        response = client.http.get(f"/image/{image}")
        assert response.status_code == 410
        assert file.name in response.json()["detail"]
        assert any(file.name in text for text in client.status()["troubles"])
        assert client.answer(image, kind="bad", uid="bad-image-1")["taken"] == ["bad-image-1"]
        assert client.next()["tasks"][0]["image"] != image
        client.close()
