"""Every round is in the file of rounds, and the last one is the end."""

import pytest

from report.made_up import campaign, went_on
from report.said import sentences
from versionspace.report import build
from versionspace.report.runs import find
from versionspace.report.sections.map import stages


def rounds(report):
    """(round, labels) of the file of rounds."""
    (table,) = report.data
    return [row[2:4] for row in table.rows]


def test_a_round_in_which_all_images_were_skipped_is_a_round(tmp_path, undrawn):
    campaign(tmp_path / "a", reach=30, ended=False)
    went_on(tmp_path / "a", 30, 40)
    report = build(tmp_path / "a", images=False)
    assert rounds(report) == [(1, 10), (2, 20), (3, 30), (4, 30), (5, 40)]
    (run,) = find([tmp_path / "a"]).runs
    assert [r.number for r in run.rounds] == [1, 2, 4, 5]
    assert "fewer on the way" not in sentences(report)


def test_where_labels_were_taken_back_the_last_round_is_the_end(tmp_path, undrawn):
    campaign(tmp_path / "a", reach=30, ended=False)
    went_on(tmp_path / "a", 28)
    report = build(tmp_path / "a", images=False)
    assert rounds(report) == [(1, 10), (2, 20), (3, 30), (4, 28)]
    (run,) = find([tmp_path / "a"]).runs
    assert run.labels.tolist() == [10, 20, 28]
    assert stages(run)[-1].number == 4
    by_name = {row[0]: row[1] for row in report.tables()[0].rows}
    assert by_name["labels"] == 28
    last = run.record.measured_rounds()[-1].metrics.sets["test"].accuracy
    assert by_name["GVD"].mean == pytest.approx(100 * last)
    assert "In gvd/0 labels became fewer on the way" in sentences(report)


def test_members_that_did_not_fit_in_a_round_that_is_left_out_are_said(tmp_path, undrawn):
    campaign(tmp_path / "a", reach=30, ended=False)
    went_on(tmp_path / "a", 30, fit=0.9)
    went_on(tmp_path / "a", 30, fit=1.0)
    assert "(least: 90.0%, gvd/0)" in sentences(build(tmp_path / "a", images=False))
