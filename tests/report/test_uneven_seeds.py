"""Where methods have different seeds: means over those that all have, differences over those that two have."""

import numpy as np
import pytest

from report.made_up import grid
from report.said import sentences
from versionspace.report import build
from versionspace.report.plots.lines import lines
from versionspace.report.runs import find
from versionspace.report.sections.savings import reached


@pytest.fixture
def uneven(tmp_path):
    """All have seed 2; random and GVD have seed 1 too, and random alone seed 0."""
    grid(tmp_path / "runs", methods=("random",), seeds=(0, 1, 2), total=40)
    grid(tmp_path / "runs", methods=("gvd",), seeds=(1, 2), total=40)
    grid(tmp_path / "runs", methods=("ge",), seeds=(2,), total=40)
    return tmp_path / "runs"


@pytest.fixture
def panels(monkeypatch):
    """Panels by the name of their figure, as they are drawn."""
    found = {}

    def seen(name, panels, **options):
        found[name] = panels
        return lines(name, panels, **options)

    for module in ("curves", "datasets"):
        monkeypatch.setattr(f"versionspace.report.sections.{module}.lines", seen)
    return found


def series(folder, method, what="accuracy"):
    """By seed, in percent."""
    return {run.seed: 100 * run.series("test", what) for run in find([folder]).runs if run.method == method}


def test_means_and_curves_are_over_the_seeds_that_all_have(uneven, panels, undrawn):
    report = build(uneven, images=False)
    assert "means and curves are over seed 2, which all have" in sentences(report)
    wrong = series(uneven, "random", "wrong_agreement")[2]
    assert panels["digits-random"][0].curves[0].middle == pytest.approx(wrong)
    tables = {table.name: table for table in report.tables()}
    assert [row[1].count for row in tables["digits-time"].rows] == [1, 1, 1]
    assert {row[1].count for row in tables["digits-classes"].rows} == {1}
    assert [row[2] for row in tables["digits-classes"].rows] == [30, 30, 30]
    assert {row[1] for row in tables["digits-labels-1"].rows if row[0] != "GE"} == {"1 of 1"}


def test_so_are_those_of_all_datasets_together(uneven, panels, undrawn, tmp_path):
    grid(tmp_path / "mnist", methods=("random",), seeds=(0,), data="mnist", total=40)
    build([uneven, tmp_path / "mnist"], images=False)
    first = panels["random-across-datasets"][0].curves[0]
    assert first.label == "digits"
    assert first.middle == pytest.approx(series(uneven, "random", "wrong_agreement")[2])


def test_differences_to_random_are_over_every_seed_that_two_methods_have(uneven, panels, undrawn):
    report = build(uneven, images=False, targets=[0.3])
    assert "Differences, and labels saved, are over every seed that two methods have" in sentences(report)
    random, gvd = series(uneven, "random"), series(uneven, "gvd")
    minus = next(curve for curve in panels["digits-accuracy"][1].curves if curve.label == "GVD")
    assert minus.middle == pytest.approx(np.mean([gvd[seed] - random[seed] for seed in (1, 2)], axis=0))
    rows = {row[0]: row for table in report.tables() if table.name == "digits-labels-1" for row in table.rows}
    assert rows["GVD"][3].count == 2
    assert rows["GE"][3].count == 1
    assert rows["GVD"][3].mean == pytest.approx(_saved(uneven, "gvd", (1, 2)))
    assert rows["GVD"][2].count == 1


def _saved(folder, method, seeds):
    from versionspace.report.compare import compare
    from versionspace.report.groups import grouped

    (group,) = grouped(find([folder]).runs)
    compared = compare(group)
    needed = reached(compared, 0.3)
    return np.mean(
        [
            needed[seed, compared.methods.index("random")] - needed[seed, compared.methods.index(method)]
            for seed in seeds
        ]
    )
