"""Methods with different seeds: means are over the seeds that all have, differences over those that two share."""

import numpy as np
import pytest

from report.made_up import grid
from report.notes import all_notes
from versionspace.report import build
from versionspace.report.compare import compare
from versionspace.report.groups import group_runs
from versionspace.report.runs import load_runs
from versionspace.report.sections.savings import labels_needed


@pytest.fixture
def uneven(tmp_path):
    """Return runs in which all methods have seed 2, random and GVD also seed 1, and random also seed 0."""
    grid(tmp_path / "runs", methods=("random",), seeds=(0, 1, 2), total=40)
    grid(tmp_path / "runs", methods=("gvd",), seeds=(1, 2), total=40)
    grid(tmp_path / "runs", methods=("ge",), seeds=(2,), total=40)
    return tmp_path / "runs"


def series(folder, method, metric="accuracy"):
    """Return a metric by seed, in percent."""
    return {run.seed: 100 * run.set_metric("test", metric) for run in load_runs([folder]).runs if run.method == method}


def test_means_and_curves_are_over_the_seeds_that_all_methods_have(uneven, panels, undrawn):
    document = build(uneven, images=False)
    assert "means and curves are over seed 2, which all methods have" in all_notes(document)
    wrong = series(uneven, "random", "wrong_agreement")[2]
    assert panels["digits-random"][0].curves[0].middle == pytest.approx(wrong)
    tables = {table.name: table for table in document.tables()}
    assert [row[1].count for row in tables["digits-time"].rows] == [1, 1, 1]
    assert {row[1].count for row in tables["digits-classes"].rows} == {1}
    assert [row[2] for row in tables["digits-classes"].rows] == [30, 30, 30]
    assert {row[1] for row in tables["digits-labels-1"].rows if row[0] != "GE"} == {"1 of 1"}


def test_curves_across_datasets_are_over_these_seeds_too(uneven, panels, undrawn, tmp_path):
    grid(tmp_path / "mnist", methods=("random",), seeds=(0,), data="mnist", total=40)
    build([uneven, tmp_path / "mnist"], images=False)
    first = panels["random-across-datasets"][0].curves[0]
    assert first.label == "digits"
    assert first.middle == pytest.approx(series(uneven, "random", "wrong_agreement")[2])


def test_differences_to_random_are_over_every_seed_that_both_methods_have(uneven, panels, undrawn):
    document = build(uneven, images=False, targets=[0.3])
    assert "Differences and labels saved are over every seed that both methods have" in all_notes(document)
    random, gvd = series(uneven, "random"), series(uneven, "gvd")
    difference = next(curve for curve in panels["digits-accuracy"][1].curves if curve.label == "GVD")
    assert difference.middle == pytest.approx(np.mean([gvd[seed] - random[seed] for seed in (1, 2)], axis=0))
    rows = {row[0]: row for table in document.tables() if table.name == "digits-labels-1" for row in table.rows}
    assert rows["GVD"][3].count == 2
    assert rows["GE"][3].count == 1
    assert rows["GVD"][3].mean == pytest.approx(mean_savings(uneven, "gvd", (1, 2)))
    assert rows["GVD"][2].count == 1


def mean_savings(folder, method, seeds):
    """Return the labels saved to reach 30%, averaged over these seeds."""
    (group,) = group_runs(load_runs([folder]).runs)
    comparison = compare(group)
    needed = labels_needed(comparison, 0.3)
    random, own = (comparison.methods.index(name) for name in ("random", method))
    return np.mean([needed[seed, random] - needed[seed, own] for seed in seeds])
