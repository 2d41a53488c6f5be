"""What the studies say is what they measured: tables are rendered again and compared."""

import json
import re

import pytest

from campaign.tiny import config
from studies import collecting, rendering
from versionspace.campaign import Campaign
from versionspace.campaign.grid import run

STUDIES = sorted(path.stem for path in rendering.HERE.glob("*.json"))


@pytest.mark.parametrize("page", rendering.PAGES, ids=lambda page: page.name)
def test_pages_hold_what_the_numbers_say(page):
    text = page.read_text(encoding="utf-8")
    assert rendering.rendered(text) == text, "run: python -m studies render"


def test_every_study_is_shown_and_every_marker_known():
    text = "".join(page.read_text(encoding="utf-8") for page in rendering.PAGES)
    markers = re.findall(r"<!-- study (\S+) (\S+) -->", text)
    assert {name for name, _ in markers} == set(STUDIES)
    assert text.count("<!-- study") == text.count("<!-- end -->") == len(markers)
    assert {table for _, table in markers} <= set(rendering.TABLES)


@pytest.mark.parametrize("name", STUDIES)
def test_numbers_are_whole(name):
    study = json.loads((rendering.HERE / f"{name}.json").read_text(encoding="utf-8"))
    assert re.fullmatch(r"[0-9a-f]{10}", study["commit"])
    assert study["columns"] == list(collecting.COLUMNS)
    assert len({(r["method"], r["seed"]) for r in study["runs"]}) == len(study["runs"])
    at = {column: i for i, column in enumerate(study["columns"])}
    for one in study["runs"]:
        labels = [row[at["labels"]] for row in one["rounds"]]
        assert labels == sorted(labels)
        assert labels[-1] == study["config"]["budget"]["total"]
        for row in one["rounds"]:
            error = row[at["wrong_agreement"]] + row[at["gibbs_distance"]]
            assert 1 - row[at["accuracy"]] == pytest.approx(error, abs=3e-6)


def test_collecting_real_campaigns(tmp_path, monkeypatch):
    made = run(config(), methods=["gvd", "random"], seeds=[0, 1], out=tmp_path / "runs", progress=False)
    monkeypatch.setattr(collecting, "HERE", tmp_path)
    monkeypatch.setattr(rendering, "HERE", tmp_path)
    collecting.collect("tiny", [made.folder], "versionspace run tiny", "0123456789")
    study = json.loads((tmp_path / "tiny.json").read_text())
    accuracy = rendering.values(study, "accuracy")
    for record in made.campaigns():
        wanted = [r.metrics["sets"]["test"]["accuracy"] for r in record.measured()]
        assert accuracy[record.method][record.seed] == pytest.approx(wanted, abs=1e-6)
    page = "".join(f"<!-- study tiny {table} -->\nold\n<!-- end -->\n" for table in rendering.TABLES)
    text = rendering.rendered(page)
    assert "old" not in text
    mean = 100 * sum(accuracy["gvd"][seed][-1] for seed in (0, 1)) / 2
    assert f"| GVD | 2 | 25 | {mean:.2f} ± " in text
    assert rendering.rendered(text) == text
    Campaign.create(tmp_path / "begun", config()).close()
    with pytest.raises(SystemExit, match="ended yet"):
        collecting.collect("none", [tmp_path / "begun"], "", "")
