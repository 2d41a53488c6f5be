"""The study of coverage: its pages are up to date, and the table of methods says what it found."""

import json
import re

import numpy as np
import pytest

from studies.coverage import features, report, results
from studies.coverage.results import Curves
from studies.coverage.scenarios import SCENARIOS
from versionspace.query import TABLE


def curves(gain, start="herded", name="stl10"):
    """Return curves in which every method is ahead of random by ``gain[method]`` at every number of labels."""
    labels = tuple(range(10, 201, 10))
    base = np.tile(np.linspace(0.4, 0.8, 20), (3, 1))
    accuracy = {"random": base} | {method: base + np.asarray(values) for method, values in gain.items()}
    return Curves(name, start, labels, dict.fromkeys(accuracy, (0, 1, 2)), accuracy, 7.0)


def test_the_report_is_up_to_date():
    text = report.PAGE.read_text(encoding="utf-8")
    found = results.load_curves()
    for _, name, start, body, _ in report._BETWEEN.findall(text):
        if name != "figures":
            expected = report.body(found, name, start) + "\n"
            assert body == expected, f"run `python -m studies.coverage render`: {name} {start}"
    for drawn in re.findall(r"\((figures/\S+\.svg)\)", text):
        assert (report.PAGE.parent / drawn).exists()


def test_the_table_of_methods_says_from_how_many_labels_on_a_method_pays():
    found = report.pays([c for c in results.load_curves() if c.start == "herded"])
    assert {name: TABLE[name].pays for name in found} == found


def test_a_method_pays_from_where_it_stays_ahead():
    late = np.where(np.arange(1, 21) >= 10, 0.02, -0.01)
    given = curves({"ge": np.zeros(20), "margin": late, "pwd-cover": np.full(20, 0.05)})
    assert report.pays([given])["margin"] == "from 10 a class"
    assert report.pays([given])["pwd-cover"] == "from 2 a class"
    assert report.pays([given])["ge"] == "not up to 20 a class"


def test_savings_are_the_labels_that_random_needs():
    given = curves({"pwd-cover": np.full(20, 0.4 * 5 / 19)})  # five queries ahead
    assert "| 50 (1.5×) |" not in report.savings([given])
    assert re.search(r"\| 70 \(3\.5×\) \| 100 \(2\.0×\) \| 150 \(1\.5×\) \|", report.savings([given]))


def test_results_are_read_as_they_were_collected(tmp_path):
    rows = [
        {"scenario": "stl10", "start": "herded", "method": method, "seed": seed, "labels": [10, 20],
         "accuracy": [0.5, 0.6 + 0.1 * (method == "margin")], "classes": 6 + seed}
        for method in ("random", "margin") for seed in range(3) if (method, seed) != ("margin", 2)
    ]  # fmt: skip
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"campaigns": rows}))
    (found,) = results.load_curves(path)
    assert (found.seeds, found.labels) == ({"random": (0, 1, 2), "margin": (0, 1)}, (10, 20))
    assert found.classes == 7
    np.testing.assert_allclose(found.gains("margin"), [[0, 0.1], [0, 0.1]])


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_scenario_has_a_features_file_and_a_valid_config(scenario, tmp_path):
    assert scenario.file in features.FILES
    for start in ("herded", "random"):
        config = scenario.config(tmp_path, start)
        assert config.budget.total == 20 * scenario.classes
        assert config.data.holds_vectors


def test_an_imbalanced_file_keeps_a_tenth_of_the_last_class(tmp_path):
    labels = np.repeat(np.arange(10), 100)
    np.savez(tmp_path / "a.npz", features=np.zeros((1000, 2)), labels=labels, ids=np.arange(1000))
    features.write_imbalanced(tmp_path / "b.npz", tmp_path / "a.npz")
    counts = np.bincount(np.load(tmp_path / "b.npz")["labels"])
    assert (counts[0], counts[-1]) == (100, 10)
    assert (np.diff(counts) < 0).all()
