"""Tables, numbers and figures of the studies match the measurements in studies/*.json."""

import json
import re

import numpy as np
import pytest

from campaign.tiny import config
from studies import curves, first_queries, measurements, pages, tables, values
from versionspace.campaign import Campaign
from versionspace.campaign.grid import run
from versionspace.data import load
from versionspace.ensemble import Ensemble

STUDIES = sorted(path.stem for path in values.HERE.glob("*.json"))


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_pages_match_the_measurements(page):
    text = page.read_text(encoding="utf-8")
    assert pages.render(text, page) == text, "run: python -m studies render"
    assert "\n<!-- n " not in text, "a line that begins with a comment ends its paragraph"


def test_figures_match_the_measurements(tmp_path, monkeypatch):
    names = [name for page in pages.PAGES for name in curves.figures_in(page.read_text(encoding="utf-8"))]
    assert {path.stem for path in (values.HERE / "figures").glob("*.svg")} == set(names) != set()
    for name in set(names):
        study = json.loads((values.HERE / f"{name}.json").read_text(encoding="utf-8"))
        drawn = (values.HERE / "figures" / f"{name}.svg").read_text(encoding="utf-8")
        assert curves.digest(study) in drawn, "run: python -m studies render"
    monkeypatch.setattr(values, "HERE", tmp_path)
    monkeypatch.setattr(curves, "HERE", tmp_path)
    (tmp_path / "again.json").write_text(json.dumps(study), encoding="utf-8")
    again = curves.draw("again").read_text(encoding="utf-8")
    assert len(re.findall(r"<path|<use", again)) == len(re.findall(r"<path|<use", drawn))


def test_curves_of_methods_with_different_seeds_start_at_one_point():
    study = study_of("digits", random=[0.5, 0.7], gvd=[0.5])
    (random, gvd) = curves._curves(study, "accuracy")
    assert random.middle.tolist() == gvd.middle.tolist() == [50.0]


def test_every_study_is_shown_and_every_marker_known():
    text = "".join(page.read_text(encoding="utf-8") for page in pages.PAGES)
    markers = re.findall(r"<!-- study (\S+) (\S+) -->", text)
    assert {name for names, _ in markers for name in names.split(",")} == set(STUDIES)
    assert text.count("<!-- study") == text.count("<!-- end -->") == len(markers)
    assert {table for _, table in markers} <= set(tables.OF_ONE) | set(tables.OF_MANY)


@pytest.mark.parametrize("name", STUDIES)
def test_measurements_are_complete_and_consistent(name):
    study = json.loads((values.HERE / f"{name}.json").read_text(encoding="utf-8"))
    if "runs" not in study:
        return
    assert re.fullmatch(r"[0-9a-f]{10}", study["commit"])
    assert study["columns"] == list(measurements.COLUMNS)
    assert len({(r.get("variant"), r["method"], r["seed"]) for r in study["runs"]}) == len(study["runs"])
    at = {column: i for i, column in enumerate(study["columns"])}
    for one in study["runs"]:
        labels = [row[at["labels"]] for row in one["rounds"]]
        assert labels == sorted(labels)
        assert labels[-1] == study["config"]["budget"]["total"]
        for row in one["rounds"]:
            error = row[at["wrong_agreement"]] + row[at["gibbs_distance"]]
            assert 1 - row[at["accuracy"]] == pytest.approx(error, abs=3e-6)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two methods with two seeds."""
    out = tmp_path_factory.mktemp("studies") / "runs"
    return run(config(), methods=["gvd", "random"], seeds=[0, 1], out=out, progress=False)


def test_collecting_real_campaigns(made, tmp_path, monkeypatch):
    monkeypatch.setattr(measurements, "HERE", tmp_path)
    monkeypatch.setattr(values, "HERE", tmp_path)
    measurements.collect("tiny", [made.folder], "versionspace run tiny", "0123456789")
    study = json.loads((tmp_path / "tiny.json").read_text())
    accuracy = values.values(study, "accuracy")
    for record in made.campaigns():
        wanted = [r.metrics.sets["test"].accuracy for r in record.measured_rounds()]
        assert accuracy[record.method][record.seed] == pytest.approx(wanted, abs=1e-6)
    shown = [table for table in tables.OF_ONE if table not in ("variants", "gains", "changes", "asked", "full-size")]
    page = "".join(f"<!-- study tiny {table} -->\nold\n<!-- end -->\n" for table in shown)
    text = pages.render(page)
    assert "old" not in text
    mean = 100 * sum(accuracy["gvd"][seed][-1] for seed in (0, 1)) / 2
    assert f"| GVD | 2 | 25 | {mean:.2f} ± " in text
    gain = mean - 100 * sum(accuracy["random"][seed][-1] for seed in (0, 1)) / 2
    said = pages.render("It is <!-- n tiny accuracy gvd~random end -->0<!-- / --> points, up from "
                              "<!-- n tiny accuracy gvd 10 --><!-- / -->%.")  # fmt: skip
    start = 100 * sum(accuracy["gvd"][seed][0] for seed in (0, 1)) / 2
    assert f"-->{gain:+.1f}<!--" in said
    assert f"-->{start:.1f}<!--" in said
    assert pages.render(text) == text
    Campaign.create(tmp_path / "begun", config()).close()
    with pytest.raises(SystemExit, match="no campaign has finished in"):
        measurements.collect("none", [tmp_path / "begun"], "", "")


def test_campaigns_are_added_to_those_of_another_machine(made, tmp_path, monkeypatch):
    """Campaigns in the file stay unchanged, missing ones are added with their commit and machine."""
    monkeypatch.setattr(measurements, "HERE", tmp_path)
    monkeypatch.setattr(values, "HERE", tmp_path)
    three = [made.folder / which for which in ("random/0", "random/1", "gvd/0")]
    path = measurements.collect("tiny", three, "three", "0123456789")
    before = json.loads(path.read_text())
    before["machine"] = "an abacus"
    before["runs"][0]["rounds"][0][1] = 0.125
    path.write_text(json.dumps(before))
    measurements.collect("tiny", [made.folder], "all", "abcdef0123", add=True)
    after = json.loads(path.read_text())
    assert after["runs"][:1] + after["runs"][2:] == before["runs"], "unchanged, and ordered by method and seed"
    here = {"commit": "abcdef0123", "machine": measurements.machine()["machine"]}
    assert after["runs"][1] == {"method": "gvd", "seed": 1, **here, "rounds": after["runs"][1]["rounds"]}
    said = pages.render("<!-- study tiny about -->\n<!-- end -->")
    assert "at commit 0123456789 on an abacus (" in said
    assert f"`all`.\nGVD with seed 1: at commit abcdef0123 on {here['machine']}.\n" in said
    path.write_text(json.dumps(after | {"config": {}}))
    with pytest.raises(SystemExit, match=r"tiny.json has a different config"):
        measurements.collect("tiny", [made.folder], "all", "abcdef0123", add=True)
    monkeypatch.setattr(measurements, "arithmetic", lambda _: "another")
    with pytest.raises(SystemExit, match=r"was run on .*, not here \(another\): collect it there"):
        measurements.collect("tiny", [made.folder], "all", "abcdef0123")


def test_first_queries_match_the_ledger(made, tmp_path, monkeypatch):
    """Compare with the campaign's own events and with the votes of its saved members."""
    monkeypatch.setattr(first_queries, "HERE", tmp_path)
    monkeypatch.setattr(values, "HERE", tmp_path)
    first_queries.collect("tiny-asked", [made.folder], "versionspace run tiny", "0123456789")
    found = {(row["method"], row["seed"]): row for row in values.load("tiny-asked")["asked"]}
    assert set(found) == {(method, seed) for method in ("pool", "gvd", "random") for seed in (0, 1)}
    for record in made.campaigns():
        first = record.rounds[1]
        dataset = load(record.config.data.name)
        votes = Ensemble.load(record.folder.weights(1)).votes(dataset.train.take(np.array(first.asked)).images)
        answers = np.array([record.classes.index(first.answers[image]) for image in first.asked])
        row = found[record.method, record.seed]
        assert row["ruled_out"] == pytest.approx((votes != answers).mean(), abs=1e-6)
        assert row["classes"] == len(set(answers.tolist()))
        assert row["together"] == pytest.approx(
            np.mean([np.unique(column, return_counts=True)[1].max() for column in votes.T]) / len(votes), abs=1e-6
        )
    table = pages.render("<!-- study tiny-asked asked -->\n<!-- end -->")
    assert "| the whole pool | 2 |" in table
    assert "| GVD | 2 |" in table


def test_variants_are_compared_seed_by_seed(made, tmp_path, monkeypatch):
    monkeypatch.setattr(measurements, "HERE", tmp_path)
    monkeypatch.setattr(values, "HERE", tmp_path)
    more = run(config("ensemble.members=5"), methods=["gvd"], seeds=[0, 1, 2], out=tmp_path / "more", progress=False)
    measurements.collect("members", {"3 members": made.folder, "5 members": more.folder}, "…", "0123456789")
    study = json.loads((tmp_path / "members.json").read_text())
    assert {(r["variant"], r["method"], r["seed"]) for r in study["runs"]} == {
        (variant, "gvd", seed) for variant in ("3 members", "5 members") for seed in (0, 1)
    }
    ends = {
        each.folder.name: [c.measured_rounds()[-1].metrics.sets["test"].accuracy for c in each.campaigns()
                           if c.method == "gvd" and c.seed < 2]
        for each in (made, more)
    }  # fmt: skip
    gain = 100 * (sum(ends["more"]) - sum(ends["runs"])) / 2
    text = pages.render("<!-- study members variants -->\n<!-- end -->")
    line = next(line for line in text.splitlines() if line.startswith("| GVD | 5 members | 2 |"))
    assert f"| {gain:+.2f} (" in line
    said = pages.render("<!-- n members accuracy gvd end 5_members~3_members -->0<!-- / -->")
    assert f"-->{gain:+.1f}<!--" in said


def study_of(name, **accuracy):
    """Return a study of one round with these accuracies by method, in the order of seeds."""
    runs = [
        {"method": method, "seed": seed, "rounds": [[10, value, 1 - value]]}
        for method, found in accuracy.items()
        for seed, value in enumerate(found)
    ]
    config = {"preset": f"small/{name}", "budget": {"total": 10}}
    return {"name": name, "columns": ["labels", "accuracy", "pwd"], "config": config, "runs": runs}


def test_claims_are_paired_by_seed_beside_the_papers_own():
    """Computed by hand: GVD − random is .1 and .3, two seeds, which are shown singly; for three seeds, .1, .1 and .103,
    the mean is .101 ± 4.303·.001. The paper's MNIST has 97.02 − 93.47."""
    study = study_of("mnist", random=[0.5, 0.6, 0.9], gvd=[0.6, 0.9], ge=[0.5])
    lines = tables.claims([study], "accuracy").splitlines()
    assert lines[0].endswith("| GVD − Random | GVD − GE | GVD − VR |")
    assert lines[2] == "| mnist | 10 | 1–2 |  |  |  | +20.00 (+10.00, +30.00) | +10.00 |  |"
    assert lines[3].split(" | ")[1:3] == ["400", "4"]
    assert lines[3].split(" | ")[6] == "+3.55"
    sure = tables.claims([study_of("digits", random=[0.5, 0.6, 0.7], gvd=[0.6, 0.7, 0.803])], "pwd").splitlines()
    assert "| **-10.10** (-10.53 to -9.67) |" in sure[2]
    assert len(sure) == 3


def test_changes_are_differences_of_one_method_between_variants():
    first = study_of("heads", random=[0.5, 0.6, 0.6], gvd=[0.6, 0.7, 0.8])["runs"]
    other = study_of("heads", random=[0.5, 0.7, 0.65], gvd=[0.7, 0.8, 0.9])["runs"]
    runs = [
        *({**r, "variant": "first", "rounds": [[5, 0.2, 0.8], *r["rounds"]]} for r in first),
        *({**r, "variant": "other", "rounds": [[5, 0.2, 0.8], *r["rounds"]]} for r in other),
    ]
    assert tables.changes({**study_of("heads"), "runs": runs}).splitlines() == [
        "| variant, minus first | method | 10 labels |",
        "|---|---|---|",
        "| other | Random | +5.0 |",
        "| other | GVD | **+10.0** |",
    ]


def test_gains_are_listed_by_number_of_labels():
    """A variant that starts later has no gain before its first round; two seeds have no interval, so no bold."""
    early = study_of("heads", random=[0.5, 0.6, 0.7], gvd=[0.6, 0.7, 0.8])["runs"]
    late = study_of("heads", random=[0.5, 0.6], gvd=[0.4, 0.5])["runs"]
    runs = [
        *(
            {**r, "variant": "early", "rounds": [[5, 0.2, 0.8], [8, 0.1 * (r["method"] == "gvd"), 0], *r["rounds"]]}
            for r in early
        ),
        *({**r, "variant": "late", "rounds": [[9, 0.3, 0], *r["rounds"]]} for r in late),
    ]
    lines = tables.gains({**study_of("heads"), "runs": runs}).splitlines()
    assert lines == [
        "| variant | method, minus random | 8 labels | 10 labels |",
        "|---|---|---|---|",
        "| early | GVD | **+10.0** | **+10.0** |",
        "| late | GVD |  | -10.0 |",
    ]


def test_six_seeds_are_tested_and_fewer_are_not():
    """Six gains of the same sign have p = 2/2⁶; with two methods, Holm doubles the smaller p."""
    study = study_of("digits", random=[0.5] * 6, gvd=[0.6, 0.61, 0.62, 0.63, 0.64, 0.65], pwd=[0.6, 0.4] * 3)
    monotone = {**study, "runs": [{**r, "rounds": [[5, 0.1, 0.9], *r["rounds"]]} for r in study["runs"]]}
    table = tables.against_random(monotone)
    assert table.splitlines()[0].endswith("| p of accuracy |")
    assert next(line for line in table.splitlines() if "GVD" in line).endswith("| 0.062 |")
    fewer = {**monotone, "runs": [r for r in monotone["runs"] if r["seed"] < 5 or r["method"] != "pwd"]}
    lines = tables.against_random(fewer).splitlines()
    assert next(line for line in lines if "GVD" in line).endswith("| 0.031 |"), "one test, nothing to correct"
    assert next(line for line in lines if line.startswith("| PWD")).endswith("| – |")
    few = {**monotone, "runs": [r for r in monotone["runs"] if r["seed"] < 5]}
    assert "p of accuracy" not in tables.against_random(few)
