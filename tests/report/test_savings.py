"""Labels needed and saved."""

import pytest

from report.made_up import campaign
from report.notes import all_notes
from versionspace.report import build


def table(document, name="digits-labels-1"):
    return next(table for table in document.tables() if table.name == name)


def test_if_random_has_no_accuracy_the_default_target_is_from_all_runs(tmp_path, undrawn):
    campaign(tmp_path / "random" / "0", "random", truth=False)
    campaign(tmp_path / "gvd" / "0", "gvd")
    document = build(tmp_path, images=False)
    rows = {row[0]: row[1:] for row in table(document).rows}
    assert rows["GVD"][0] == "1 of 1"
    assert rows["GVD"][1].mean == pytest.approx(60, abs=10)  # its final accuracy, in whole percent
    assert rows["Random"][0] == "0 of 0"
    assert rows["GVD"][2:] == (None, None)
    assert "Labels saved are not shown: the runs of random have no accuracy." in all_notes(document)


def test_rounds_of_random_without_accuracy_are_interpolated_or_left_out(tmp_path, undrawn):
    campaign(tmp_path / "random" / "0", "random", unmeasured=(1, 6))
    campaign(tmp_path / "gvd" / "0", "gvd")
    document = build(tmp_path, images=False, targets=[0.3])
    assert "Labels saved are not shown" not in all_notes(document)
    assert table(document).rows[1][3] is not None
    assert build(tmp_path, images=False)  # the default target needs neither the first nor the last round of random
