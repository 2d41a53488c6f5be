"""A query method that is only a row in the table of methods appears in every part of a report."""

import csv
import io

import pytest

from report.made_up import grid
from versionspace.query.methods import TABLE, Method
from versionspace.report import build, make
from versionspace.report.plots.style import METHOD_STYLES, method_style


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Return campaigns of a new method and of two built-in ones."""
    row = Method("middle", "Middle first", "example", "−|n − N/2|", "none", "N", TABLE["random"].score, pool="any")
    monkeypatch.setitem(TABLE, "middle", row)
    return grid(tmp_path / "runs", methods=("random", "middle", "gvd"), seeds=(0, 1), total=30)


def test_a_new_method_has_a_curve_and_table_rows_with_its_label(runs, panels, undrawn):
    document = build(runs, images=False, embed=["middle/1"])
    (curve,) = [curve for curve in panels["digits-accuracy"][0].curves if curve.label == "Middle first"]
    assert curve.style == method_style("middle")
    assert curve.style not in METHOD_STYLES.values()
    assert len(curve.middle) == 3
    tables = {table.name: [row[0] for row in table.rows] for table in document.tables()}
    for name in ("accuracy", "digits-end", "digits-labels-1", "digits-accuracy-wins", "digits-classes", "digits-time"):
        assert tables[name][-3:] == ["Random", "GVD", "Middle first"], name
    assert "digits-embedding-middle-1" in tables
    assert ("Methods", "Random, GVD, Middle first") in document.facts


def test_the_legend_has_the_label_of_a_new_method(runs, monkeypatch):
    from matplotlib.figure import Figure

    legends = []
    legend = Figure.legend

    def record(self, *arguments, **options):
        legends.append([handle.get_label() for handle in options.get("handles", ())])
        return legend(self, *arguments, **options)

    monkeypatch.setattr(Figure, "legend", record)
    build(runs, images=False)
    assert ["Random", "GVD", "Middle first"] in legends


def test_the_page_of_a_new_method_is_written(runs, tmp_path):
    page = make(runs, tmp_path / "out", images=False)
    assert "Middle first" in page.read_text()
    rows = csv.DictReader(io.StringIO((tmp_path / "out" / "tables" / "digits-rounds.csv").read_text()))
    assert [row["method"] for row in rows].count("middle") == 6
