"""``versionspace label`` as it is typed."""

import json
import subprocess
import sys
from hashlib import sha256

import pytest

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
            assert "no other process" in typed(campaign=place)
            assert "no change for the campaign" in typed(folder.photos, campaign=place, classes="0,1")
        finally:
            process.kill()
    assert sorted(p.name for p in folder.photos.iterdir() if not p.name.endswith(".png")) == []


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
