"""Which runs are compared, and at which numbers of labels."""

import numpy as np
import pytest

from report.made_up import campaign, grid
from versionspace.config import preset_text
from versionspace.report import PAPER, ReportError
from versionspace.report.compare import common_labels, compare
from versionspace.report.groups import group_runs
from versionspace.report.runs import load_runs
from versionspace.report.sections.final import final_table
from versionspace.report.sections.results import results_section
from versionspace.store import StoreError


def groups(*folders):
    return group_runs(load_runs(folders).runs)


def test_a_grid_is_one_group_in_the_order_of_the_paper(tmp_path):
    grid(tmp_path, methods=("gvd", "entropy", "random"), seeds=(1, 0), total=20)
    (group,) = groups(tmp_path)
    assert group.methods == ("random", "gvd", "entropy")
    assert [run.name for run in group.runs[:2]] == ["random/0", "random/1"]


def test_different_data_or_settings_are_different_groups(tmp_path):
    campaign(tmp_path / "a", total=20)
    campaign(tmp_path / "b", "random", total=20, size=5)
    campaign(tmp_path / "c", "ge", total=20, data="mnist")
    found = groups(tmp_path / "a", tmp_path / "b", tmp_path / "c")
    assert sorted(group.title for group in found) == ["MNIST", "digits (size 10)", "digits (size 5)"]
    assert len({group.name for group in found}) == 3


def test_settings_that_do_not_affect_results_do_not_split_a_group(tmp_path):
    campaign(tmp_path / "a", total=20, changes=["machine.threads=1", "keep=none"])
    campaign(tmp_path / "b", "random", total=20, changes=["measure.pool=false"])
    assert len(groups(tmp_path / "a", tmp_path / "b")) == 1


def test_a_preset_and_the_same_settings_from_a_file_are_one_group(tmp_path):
    (tmp_path / "mine.toml").write_text(preset_text("paper/mnist"))
    changes = ["budget.total=20", "ensemble.members=4"]
    campaign(tmp_path / "random" / "0", "random", preset=tmp_path / "mine.toml", changes=changes)
    campaign(tmp_path / "gvd" / "0", "gvd", preset="paper/mnist", changes=changes)
    (group,) = groups(tmp_path)
    assert group.methods == ("random", "gvd")
    assert {run.record.config.preset for run in group.runs} == {"", "paper/mnist"}
    assert group.paper is PAPER["mnist"]  # although the first run names no preset
    assert "budget.total: 20 instead of 400" in group.changes_from_paper()


def test_votes_split_a_group_only_if_a_method_has_both(tmp_path):
    campaign(tmp_path / "random", "random", total=20)
    campaign(tmp_path / "hard", "gvd", total=20, changes=["query.vote=hard"])
    assert len(groups(tmp_path / "random", tmp_path / "hard")) == 1
    campaign(tmp_path / "soft", "gvd", total=20)
    found = groups(tmp_path / "random", tmp_path / "hard", tmp_path / "soft")
    assert [group.methods for group in found] == [("random", "gvd")] * 2
    assert {group.runs[1].record.config.query.vote for group in found} == {"soft", "hard"}
    alone = groups(tmp_path / "hard", tmp_path / "soft")
    assert [group.title for group in alone] == ["digits (vote soft)", "digits (vote hard)"]


def test_a_folder_counts_once_and_a_repeated_run_is_noted(tmp_path):
    campaign(tmp_path / "a", total=40, reach=20, ended=False)
    assert len(groups(tmp_path / "a", tmp_path / "a")[0].runs) == 1
    campaign(tmp_path / "b", total=40)
    (group,) = groups(tmp_path / "a", tmp_path / "b")
    assert [int(run.labels[-1]) for run in group.runs] == [40]
    assert "gvd/0 exists twice" in group.notes[0]


def test_unfinished_runs_are_compared_at_the_common_number_of_labels(tmp_path):
    campaign(tmp_path / "a", "random", total=60)
    campaign(tmp_path / "b", "gvd", total=60, reach=30, ended=False)
    found = compare(groups(tmp_path / "a", tmp_path / "b")[0])
    assert found.labels.tolist() == [10, 20, 30]
    assert "compared at 30" in " ".join(found.notes)
    assert "Unfinished runs are included with their current rounds: gvd/0." in " ".join(found.notes)


def test_unfinished_runs_are_excluded_if_every_method_has_a_finished_one(tmp_path):
    campaign(tmp_path / "a", "random", total=60)
    campaign(tmp_path / "b", "gvd", total=60)
    campaign(tmp_path / "c", "gvd", 1, total=60, reach=20, ended=False)
    found = compare(groups(tmp_path / "a", tmp_path / "b", tmp_path / "c")[0])
    assert found.final_labels == 60
    assert found.notes == ("Excluded from the comparison (unfinished): gvd/1 (20 labels).",)


def test_runs_are_compared_at_a_given_number_of_labels(tmp_path):
    campaign(tmp_path / "a", "random", total=60)
    campaign(tmp_path / "b", "gvd", total=60, reach=30, ended=False)
    group = groups(tmp_path / "a", tmp_path / "b")[0]
    assert compare(group, 20).final_labels == 20
    far = compare(group, 50)
    assert (far.final_labels, far.methods) == (50, ("random",))
    assert "gvd/0 (30 labels)" in far.notes[0]
    nowhere = compare(group, 1000)
    assert not len(nowhere.labels)
    assert "No run reached 1,000 labels." in " ".join(nowhere.notes)


def test_values_of_runs_with_different_rounds_are_interpolated_linearly(tmp_path):
    campaign(tmp_path / "a", "random", total=40)
    campaign(tmp_path / "b", "gvd", total=40, skips=(1, 2))
    group = groups(tmp_path / "a", tmp_path / "b")[0]
    found = compare(group)
    assert found.interpolated
    assert "interpolated linearly between rounds" in " ".join(found.notes)
    assert found.labels.tolist() == [10, 19, 20, 28, 30, 38, 40]
    random, gvd = (run.set_metric("test", "accuracy") for run in group.runs)
    curves = found.values("test", "accuracy")[0]
    assert curves[0, 1] == pytest.approx(random[0] + 0.9 * (random[1] - random[0]))
    assert curves[1, 2] == pytest.approx(gvd[1] + (gvd[2] - gvd[1]) / 9)


def test_runs_without_a_common_number_of_labels():
    labels, interpolated = common_labels([np.array([10, 20]), np.array([30, 40])])
    assert not len(labels)
    assert not interpolated


def test_methods_with_the_same_queries_are_noted(tmp_path):
    for method in ("gvd", "ge", "random"):
        own = range(500, 560) if method == "random" else range(60)
        campaign(tmp_path / method / "0", method, total=40, ids=own, members=2)
    (group,) = groups(tmp_path)
    (note,) = compare(group).notes
    assert note.startswith("GE and GVD asked for the same images in every query (seed 0)")


def test_a_damaged_campaign_is_skipped_with_a_note(tmp_path):
    campaign(tmp_path / "gvd" / "0", total=20)
    campaign(tmp_path / "ge" / "0", "ge", total=20)
    (tmp_path / "ge" / "0" / "ledger.sqlite").unlink()
    found = load_runs([tmp_path])
    assert [run.name for run in found.runs] == ["gvd/0"]
    assert "ge/0 was skipped" in found.notes[0]
    with pytest.raises(StoreError, match=r"ledger\.sqlite"):
        load_runs([tmp_path / "ge" / "0"])


def test_a_campaign_without_an_ensemble_is_rejected(tmp_path):
    from versionspace.store import Event, Ledger

    campaign(tmp_path / "a", total=20)
    (tmp_path / "a" / "ledger.sqlite").unlink()
    for left in tmp_path.glob("a/ledger.sqlite-*"):
        left.unlink()
    with Ledger.open(tmp_path / "a" / "ledger.sqlite") as ledger:
        ledger.append([Event("begun", body={"classes": ["a"]})])
    with pytest.raises(ReportError, match="a campaign with at least one trained ensemble, got 1 without"):
        load_runs([tmp_path / "a"])


def test_runs_can_be_compared_between_two_rounds(tmp_path):
    grid(tmp_path, methods=("gvd", "random"), seeds=(0,), total=40)
    (group,) = groups(tmp_path)
    found = compare(group, 25)
    assert found.labels.tolist() == [10, 20, 25]
    assert found.interpolated
    assert "interpolated linearly between rounds" in " ".join(found.notes)
    values = group.runs[0].set_metric("test", "accuracy")
    assert found.final_values("test", "accuracy")[0, 0] == pytest.approx((values[1] + values[2]) / 2)
    early = compare(group, 5)
    assert not len(early.labels)
    assert early.notes == ("Nothing can be compared at 5 labels: some runs start at 10.",)


def test_means_are_over_the_seeds_that_all_methods_have(tmp_path):
    grid(tmp_path / "more", methods=("random",), seeds=(0, 1, 2), total=40)
    grid(tmp_path / "fewer", methods=("gvd",), seeds=(1, 2), total=40)
    (group,) = groups(tmp_path / "more", tmp_path / "fewer")
    found = compare(group)
    assert found.seeds == (0, 1, 2)
    assert found.balanced.seeds == (1, 2)
    assert found.balanced.is_balanced
    assert "seeds 1, 2, which all methods have" in " ".join(found.notes)
    (accuracy, *_) = results_section([found]).blocks
    random = [100 * run.set_metric("test", "accuracy")[-1] for run in group.runs_of("random")[1:]]
    assert accuracy.rows[2][1].mean == pytest.approx(np.mean(random))


def test_without_a_common_seed_no_mean_is_bold(tmp_path):
    grid(tmp_path / "one", methods=("random",), seeds=(0,), total=40)
    grid(tmp_path / "other", methods=("gvd",), seeds=(1,), total=40)
    (group,) = groups(tmp_path / "one", tmp_path / "other")
    comparison = compare(group)
    assert "No seed was run with every method" in " ".join(comparison.notes)
    for table in (*results_section([comparison]).blocks[:2], final_table(comparison)):
        assert not table.bold
