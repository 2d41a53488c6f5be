"""Labels needed and saved."""

import pytest

from report.made_up import campaign
from report.said import sentences
from versionspace.report import build


def table(report, name="digits-labels-1"):
    return next(table for table in report.tables() if table.name == name)


def test_where_random_has_no_accuracy_the_target_is_that_of_all_others(tmp_path, undrawn):
    campaign(tmp_path / "random" / "0", "random", truth=False)
    campaign(tmp_path / "gvd" / "0", "gvd")
    report = build(tmp_path, images=False)
    rows = {row[0]: row[1:] for row in table(report).rows}
    assert rows["GVD"][0] == "1 of 1"
    assert rows["GVD"][1].mean == pytest.approx(60, abs=10)  # what it ended with, in whole percent
    assert rows["Random"][0] == "0 of 0"
    assert rows["GVD"][2:] == (None, None)
    assert "The runs of random have no accuracy, so there is nothing to save against." in sentences(report)


def test_where_random_lost_its_accuracy_on_the_way_it_still_counts_what_is_known(tmp_path, undrawn):
    campaign(tmp_path / "random" / "0", "random", unmeasured=(1, 6))
    campaign(tmp_path / "gvd" / "0", "gvd")
    report = build(tmp_path, images=False, targets=[0.3])
    assert "nothing to save against" not in sentences(report)
    assert table(report).rows[1][3] is not None
    assert build(tmp_path, images=False)  # nor does the target by default need the last round of random, or its first
