"""Runs that are excluded from the comparison are not reported as missing or not measured."""

import pytest

from report.made_up import campaign, grid
from report.notes import all_notes
from versionspace.errors import InputError
from versionspace.report import Table, build, make

UNTRUE = ("no test set", "not measured", "no run of random", "only one method", "has been answered")


@pytest.mark.parametrize("count", [5, 1000])
def test_a_number_of_labels_that_no_run_has_is_rejected(tmp_path, count):
    runs = grid(tmp_path, methods=("random", "gvd"), seeds=(0, 1))
    with pytest.raises(InputError, match=f"a number of labels that some run has, 10 to 60, got {count:,}"):
        build(runs, at=count, images=False)


def test_a_dataset_below_the_number_of_labels_has_only_a_note(tmp_path, undrawn):
    grid(tmp_path / "far", methods=("random", "gvd"), seeds=(0, 1))
    grid(tmp_path / "near", methods=("random", "gvd"), seeds=(0, 1), data="mnist", total=40)
    document = build([tmp_path / "far", tmp_path / "near"], at=50, images=False, embed=["gvd/1"])
    notes = all_notes(document)
    assert not [words for words in UNTRUE if words in notes]
    assert "MNIST has no values here, because nothing can be compared" in notes
    _, far, near = document.chapters
    assert [section.title for section in near.sections] == ["Nothing to compare", "Maps of the version space"]
    assert "No run reached 50 labels." in near.notes
    assert "mnist-embedding-gvd-1" in {b.name for b in near.sections[1].blocks if isinstance(b, Table)}
    assert len(far.sections) == 7
    column = [row[2] for row in document.tables()[0].rows]
    assert column == [None] * len(column)


def test_runs_without_a_common_range_of_labels(tmp_path, undrawn):
    campaign(tmp_path / "random" / "0", "random", reach=10, ended=False)
    campaign(tmp_path / "gvd" / "0", "gvd", skips=(0,), reach=9, ended=False)
    document = build(tmp_path, images=False)
    notes = all_notes(document)
    assert "Nothing can be compared: the runs have no range of labels in common." in notes
    assert not [words for words in UNTRUE if words in notes]
    titles = [section.title for section in document.chapters[1].sections]
    assert titles == ["Nothing to compare", "Maps of the version space"]


@pytest.mark.parametrize("behind", ["random", "gvd"])
def test_an_excluded_method_is_not_reported_as_missing(tmp_path, undrawn, behind):
    for method in ("random", "gvd"):
        campaign(tmp_path / method / "0", method, reach=30 if method == behind else None, ended=method != behind)
    notes = all_notes(build(tmp_path, at=50, images=False))
    assert "There are no differences: only one method is compared." in notes
    assert ("Labels saved are not shown: no run of random is compared." in notes) == (behind == "random")
    assert "There is no run of random" not in notes


def test_a_test_set_that_was_not_measured_at_the_end_still_exists(tmp_path, undrawn):
    runs = grid(tmp_path, methods=("random", "gvd"), seeds=(0,), total=40, unmeasured=(4,))
    document = build(runs, images=False)
    notes = all_notes(document)
    assert "no test set" not in notes
    assert "digits has no values in the accuracy table: the accuracy was not measured at 40 labels." in notes
    assert "digits was not measured on its test set at 40 labels: its diameter is on the reference images" in notes
    assert {"digits-accuracy"} <= {figure.name for figure in document.figures()}
    assert "digits-person" not in {figure.name for figure in document.figures()}


def test_the_page_is_written(tmp_path):
    grid(tmp_path / "far", methods=("random", "gvd"), seeds=(0,), total=20)
    grid(tmp_path / "near", methods=("random", "gvd"), seeds=(0,), data="mnist", total=10)
    text = make([tmp_path / "far", tmp_path / "near"], tmp_path / "out", at=20, images=False).read_text()
    assert "Nothing to compare" in text
    assert (tmp_path / "out" / "tables" / "mnist-rounds.csv").is_file()
