"""A query method that is only a row in the table of methods appears in every part of a report."""

import csv

import pytest

from report.made_up import grid
from versionspace.query.methods import TABLE, Method
from versionspace.report import build, make
from versionspace.report.plots.lines import lines
from versionspace.report.plots.style import METHOD_STYLES, method_style
from versionspace.report.sections import curves


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Campaigns of a new method beside two built-in ones."""
    row = Method("middle", "Middle first", "example", "−|n − N/2|", "none", "N", TABLE["random"].score, pool="any")
    monkeypatch.setitem(TABLE, "middle", row)
    return grid(tmp_path / "runs", methods=("random", "middle", "gvd"), seeds=(0, 1), total=30)


def test_a_new_method_has_curves_table_rows_and_a_legend_label(runs, undrawn, monkeypatch):
    panels = {}

    def record(name, drawn, **options):
        panels[name] = drawn
        return lines(name, drawn, **options)

    monkeypatch.setattr(curves, "lines", record)
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


def test_the_page_of_a_new_method_is_written(runs, tmp_path):
    page = make(runs, tmp_path / "out", images=False)
    assert "Middle first" in page.read_text()
    rows = csv.DictReader((tmp_path / "out" / "tables" / "digits-rounds.csv").open())
    assert [row["method"] for row in rows].count("middle") == 6
