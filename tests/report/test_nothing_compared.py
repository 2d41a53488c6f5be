"""Runs that are left out are there: a page must not say of them that they are not, or were not measured."""

import pytest

from report.made_up import campaign, grid
from report.said import sentences
from versionspace.errors import InputError
from versionspace.report import build, make
from versionspace.report.document import Table

UNTRUE = (
    "no test set", "not measured", "no run of random", "one method only", "had an answer", "did not note their time",
)  # fmt: skip


@pytest.mark.parametrize("count", [5, 1000])
def test_a_number_of_labels_that_no_run_had_is_refused(tmp_path, count):
    runs = grid(tmp_path, methods=("random", "gvd"), seeds=(0, 1))
    with pytest.raises(InputError, match=f"a number of labels that a run had, 10 to 60, got {count:,}"):
        build(runs, at=count, images=False)


def test_a_dataset_that_did_not_get_so_far_says_only_that(tmp_path, undrawn):
    grid(tmp_path / "far", methods=("random", "gvd"), seeds=(0, 1))
    grid(tmp_path / "near", methods=("random", "gvd"), seeds=(0, 1), data="mnist", total=40)
    report = build([tmp_path / "far", tmp_path / "near"], at=50, images=False, embed=["gvd/1"])
    said = sentences(report)
    assert not [words for words in UNTRUE if words in said]
    assert "MNIST has no figures here, because nothing is compared" in said
    _, far, near = report.sections
    assert [part.title for part in near.parts] == ["Nothing is compared", "Version spaces in the plane"]
    assert "No run reached so many labels." in near.notes
    assert "mnist-embedding-gvd-1" in {b.name for b in near.parts[1].blocks if isinstance(b, Table)}
    assert len(far.parts) == 7
    column = [row[2] for row in report.tables()[0].rows]
    assert column == [None] * len(column)


def test_runs_without_a_number_of_labels_in_common(tmp_path, undrawn):
    campaign(tmp_path / "random" / "0", "random", reach=10, ended=False)
    campaign(tmp_path / "gvd" / "0", "gvd", skips=(0,), reach=9, ended=False)
    report = build(tmp_path, images=False)
    said = sentences(report)
    assert "The runs have no number of labels in common: nothing can be compared." in said
    assert not [words for words in UNTRUE if words in said]
    assert [part.title for part in report.sections[1].parts] == ["Nothing is compared", "Version spaces in the plane"]


@pytest.mark.parametrize("behind", ["random", "gvd"])
def test_a_method_that_is_left_out_is_not_said_to_be_missing(tmp_path, undrawn, behind):
    for method in ("random", "gvd"):
        campaign(tmp_path / method / "0", method, reach=30 if method == behind else None, ended=method != behind)
    said = sentences(build(tmp_path, at=50, images=False))
    assert "one method only among the runs that are compared" in said
    assert ("no run of random among those compared, so there is nothing to save against" in said) == (
        behind == "random"
    )
    assert "There is no run of random," not in said


def test_a_test_set_belongs_to_the_runs_and_not_to_where_they_are_compared(tmp_path, undrawn):
    runs = grid(tmp_path, methods=("random", "gvd"), seeds=(0,), total=40, unmeasured=(4,))
    report = build(runs, images=False)
    said = sentences(report)
    assert "no test set" not in said
    assert "digits has no accuracy that was measured at 40 labels" in said
    assert "digits was not measured on its test set at 40 labels: its diameter is that on the reference images" in said
    assert {"digits-accuracy"} <= {figure.name for figure in report.figures()}
    assert "digits-person" not in {figure.name for figure in report.figures()}


def test_its_page_is_written(tmp_path):
    grid(tmp_path / "far", methods=("random", "gvd"), seeds=(0,), total=20)
    grid(tmp_path / "near", methods=("random", "gvd"), seeds=(0,), data="mnist", total=10)
    text = make([tmp_path / "far", tmp_path / "near"], tmp_path / "out", at=20, images=False).read_text()
    assert "Nothing is compared" in text
    assert (tmp_path / "out" / "tables" / "mnist-rounds.csv").is_file()
