"""The table of rounds has every round; the comparison uses the last one."""

import pytest

from report.made_up import add_rounds, campaign
from report.notes import all_notes
from versionspace.report import build
from versionspace.report.runs import load_runs
from versionspace.report.sections.map import stages


def rounds(document):
    """Return (round, labels) of the table of rounds."""
    (table,) = document.data
    return [row[2:4] for row in table.rows]


def test_a_round_after_which_all_images_were_skipped_is_listed(tmp_path, undrawn):
    campaign(tmp_path / "a", reach=30, ended=False)
    add_rounds(tmp_path / "a", 30, 40)
    document = build(tmp_path / "a", images=False)
    assert rounds(document) == [(1, 10), (2, 20), (3, 30), (4, 30), (5, 40)]
    (run,) = load_runs([tmp_path / "a"]).runs
    assert [r.number for r in run.rounds] == [1, 2, 4, 5]
    assert "labels decreased" not in all_notes(document)


def test_after_labels_were_withdrawn_the_last_round_is_the_final_one(tmp_path, undrawn):
    campaign(tmp_path / "a", reach=30, ended=False)
    add_rounds(tmp_path / "a", 28)
    document = build(tmp_path / "a", images=False)
    assert rounds(document) == [(1, 10), (2, 20), (3, 30), (4, 28)]
    (run,) = load_runs([tmp_path / "a"]).runs
    assert run.labels.tolist() == [10, 20, 28]
    assert stages(run)[-1].number == 4
    by_name = {row[0]: row[1] for row in document.tables()[0].rows}
    assert by_name["labels"] == 28
    last = run.record.measured_rounds()[-1].metrics.sets["test"].accuracy
    assert by_name["GVD"].mean == pytest.approx(100 * last)
    assert "The number of labels decreased during gvd/0" in all_notes(document)


def test_a_low_fit_is_noted_even_in_a_round_that_is_left_out(tmp_path, undrawn):
    campaign(tmp_path / "a", reach=30, ended=False)
    add_rounds(tmp_path / "a", 30, fit=0.9)
    add_rounds(tmp_path / "a", 30, fit=1.0)
    assert "(minimum: 90.0%, gvd/0)" in all_notes(build(tmp_path / "a", images=False))
