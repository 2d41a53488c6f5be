"""File names that are not text, as old cameras and archives leave them."""

import csv
import io
import json
import os
import sys

import httpx
import pytest
from typer.testing import CliRunner

import versionspace as vs
from label.conftest import Home
from versionspace.campaign.campaign import Campaign
from versionspace.cli.main import app
from versionspace.data import load
from versionspace.errors import InputError
from versionspace.label.import_labels import read_labels
from versionspace.label.service import LabelService

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all file names are text")

NAME, DAMAGED = os.fsdecode(b"caf\xe9.png"), os.fsdecode(b"d\xe9g\xe2t.png")
SHOWN = r"caf\xe9.png"


@pytest.fixture
def odd(folder):
    """A labelled image and a damaged file whose names are not UTF-8."""
    folder.kept = folder.campaign(60)
    with Campaign.open(folder.kept) as campaign:
        first = campaign.propose()
        folder.image = first.ids[0]
        campaign.accept({folder.image: "2"}, who="anna")
    (folder.photos / first.files[0]).rename(folder.photos / NAME)
    (folder.photos / DAMAGED).write_bytes(b"damaged")
    return folder


@pytest.fixture
def page(odd):
    with Campaign.open(odd.kept) as campaign:
        service = LabelService(campaign)
        service.photos = odd.photos
        with Home(service) as home, httpx.Client(base_url=home.base, timeout=10) as client:
            assert client.get("/", params={"token": home.token}).status_code == 200
            yield client


def exported(folder, form):
    out = folder.photos.with_name(f"out.{form}")
    done = CliRunner().invoke(app, ["export", str(folder.kept), "--labels", form, "--out", str(out)])
    assert done.exit_code == 0, done.exception
    return out


def test_exports_name_the_file_by_its_bytes(odd):
    (row,) = csv.DictReader(exported(odd, "csv").read_text(encoding="utf-8").splitlines())
    assert (row["id"], row["file"], row["label"]) == (odd.image, SHOWN, "2")
    line = json.loads(exported(odd, "jsonl").read_text(encoding="utf-8"))
    assert (line["id"], line["file"], line["class"]) == (odd.image, SHOWN, "2")
    (task,) = json.loads(exported(odd, "label-studio").read_text(encoding="utf-8"))
    assert task["data"]["image"] == SHOWN
    assert (exported(odd, "imagefolder") / "2" / NAME).read_bytes() == (odd.photos / NAME).read_bytes()


def test_the_page_names_what_it_cannot_show(page, odd):
    found = page.get("/api/status")
    assert found.status_code == 200
    assert any(text.startswith(r"d\xe9g\xe2t.png: ") for text in found.json()["troubles"])
    (odd.photos / NAME).unlink()
    gone = page.get(f"/image/{odd.image}")
    assert (gone.status_code, gone.json()["detail"].partition(":")[0]) == (410, SHOWN)
    assert any(text.startswith(SHOWN) for text in page.get("/api/status").json()["troubles"])


def test_the_pages_table_is_read_back(page, odd):
    found = page.get("/api/labels.csv")
    assert found.status_code == 200
    (row,) = csv.DictReader(io.StringIO(found.text))
    assert (row["file"], row["label"]) == (SHOWN, "2")
    table = odd.photos.with_name("labels.csv")
    table.write_bytes(found.content)
    assert read_labels(load(odd.photos, progress=False), odd.classes, table).names == {odd.image: "2"}


def test_a_folder_whose_own_name_is_not_text_is_refused_with_a_sentence(folder):
    photos = folder.photos.rename(folder.photos.with_name(os.fsdecode(b"\xe9t\xe9")))
    with pytest.raises(InputError, match=r"\\xe9t\\xe9: expected a folder and classes whose names are UTF-8"):
        vs.label_folder(photos, folder.classes, budget=20, net="small")
    assert sorted(p.name for p in photos.parent.iterdir()) == ["cache", photos.name]
