"""The benchmarks themselves run only by hand; here each module is imported and the measuring tools are tested."""

import importlib
import json
import time

import numpy as np
import pytest

from benchmarks import committees, measure


@pytest.mark.parametrize(
    "name",
    [
        "cluster",
        "coverage",
        "features_on_disk",
        "heads",
        "label_page",
        "own_models",
        "peers",
        "simulated_person",
        "training",
        "worst_case",
    ],
)
def test_every_benchmark_can_be_imported_and_has_an_entry(name):
    assert callable(importlib.import_module(f"benchmarks.{name}").run)


def test_alternating_runs_keep_the_order_of_ours_and_theirs():
    ours, theirs = measure.side_by_side(lambda: None, lambda: time.sleep(0.05), 3)
    assert ours < 0.05 <= theirs


def test_a_case_is_one_json_line_with_rounded_numbers(capsys):
    measure.report("case", seconds=0.123456, target="ratio ≥ 1", met=np.bool_(True))
    assert json.loads(capsys.readouterr().out) == {
        "case": "case", "seconds": 0.1235, "target": "ratio ≥ 1", "met": True,
    }  # fmt: skip


def test_synthetic_committees_reach_the_stage_that_they_are_named_after():
    probs = committees.committee(2000, committees.noise_for("middle"), seed=3)
    assert probs.shape == (committees.M, 2000, committees.C)
    assert committees.differing(probs) == pytest.approx(committees.STAGES["middle"], abs=0.05)
