"""From campaign folders to a page, end to end."""

import csv
import io
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from report.made_up import campaign, grid
from report.notes import all_notes
from versionspace.errors import InputError, MissingPackageError
from versionspace.report import PAPER, ReportError, build, make, save
from versionspace.report.sections.pairwise import pairs_needed, significance
from versionspace.report.sections.savings import default_targets
from versionspace.report.statistics import SampleMean, compare_pairs
from versionspace.store import StoreError

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Collects tags, ids, links and text, and checks that tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.targets, self.loads, self.words = [], [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"])
        self.targets += [v for k, v in attrs if k in ("href", "src", "xlink:href", "data", "action")]
        self.loads += re.findall(r"url\(([^)]*)\)", found.get("style") or "")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return grid(tmp_path_factory.mktemp("runs"), total=40)


@pytest.fixture(scope="module")
def made(runs, tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / "report"
    make(runs, out, embed=["gvd/1"])
    return out


@pytest.fixture(scope="module")
def page(made):
    return Page((made / "index.html").read_text())


def rows(made, name):
    return list(csv.DictReader(io.StringIO((made / "tables" / f"{name}.csv").read_text())))


def test_the_page_is_well_formed_and_loads_nothing(page, made):
    assert page.open == []
    text = (made / "index.html").read_text()
    assert "http:" not in text
    assert "https:" not in text
    assert "@import" not in text
    assert not {"script", "link", "iframe", "object", "img"} & set(page.tags)
    assert all(load.startswith("#") for load in page.loads)
    assert len(set(page.ids)) == len(page.ids)
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_every_link_of_the_page_has_a_target(page, made):
    for target in page.targets:
        if target.startswith("#"):
            assert target[1:] in page.ids
        elif not target.startswith("data:image/png;base64,"):
            assert (made / target).is_file()


def test_every_section_exists_and_says_how_to_read_it(page):
    for title in (
        "Final accuracy and diameter", "Learning curves", "Final metrics and error",
        "Labels needed and saved", "Pairwise comparison", "Maps of the version space", "Queried images",
        "Time per stage",
    ):  # fmt: skip
        assert title in page.text
    assert page.text.count("How to read this.") == 8


def test_figures_are_written_as_svg_and_png(made):
    names = {path.stem for path in (made / "figures").glob("*.svg")}
    assert names == {path.stem for path in (made / "figures").glob("*.png")}
    wanted = {"accuracy", "test", "pool", "projection", "random", "error", "classes", "images", "time",
              "embedding-random-0", "embedding-gvd-1", "accuracy-differences"}  # fmt: skip
    assert {f"digits-{name}" for name in wanted} <= names
    for path in (made / "figures").glob("*.svg"):
        ElementTree.fromstring(path.read_text())
        assert "<dc:date>" not in path.read_text()
    for path in (made / "figures").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_tables_are_written_in_three_formats(made):
    found = {path.name for path in (made / "tables").iterdir()}
    for name in ("accuracy", "diameter", "digits-end", "digits-accuracy-wins", "digits-labels-1", "digits-time"):
        assert {f"{name}.csv", f"{name}.md", f"{name}.tex"} <= found


def test_the_accuracy_table_is_mean_and_deviation_of_the_last_round(made, runs):
    from versionspace.store import read_campaign

    for row in rows(made, "accuracy")[2:]:
        method = {"Random": "random", "GE": "ge", "GVD": "gvd"}[row[""]]
        last = [
            read_campaign(runs / method / str(s)).measured_rounds()[-1].metrics.sets["test"].accuracy for s in range(3)
        ]
        assert float(row["digits mean"]) == pytest.approx(100 * np.mean(last))
        assert float(row["digits deviation"]) == pytest.approx(100 * np.std(last, ddof=1))
        assert row["digits n"] == "3"
    assert rows(made, "accuracy")[0]["digits mean"] == "40"  # labels


def test_the_error_is_the_sum_of_its_parts(made):
    for row in rows(made, "digits-end"):
        split = float(row["wrong agreement mean"]) + float(row["Gibbs distance mean"])
        assert 100 - float(row["accuracy mean"]) == pytest.approx(split)
        vote = float(row["wrong agreement mean"]) + float(row["vote distance mean"])
        assert 100 - float(row["vote accuracy mean"]) == pytest.approx(vote)


def test_the_best_is_bold_and_groups_are_ruled(made):
    text = (made / "tables" / "accuracy.tex").read_text()
    assert re.search(r"^GVD & \\textbf\{", text, re.MULTILINE)
    assert text.count("\\hdashline\n") == 3
    assert "**" not in next(line for line in (made / "tables/accuracy.md").read_text().splitlines() if "Random" in line)


def test_the_page_says_what_few_seeds_cannot_show(page):
    assert "with at most 3 differing pairs, the smallest possible p is 0.25" in page.text
    assert "0.75 after Holm's correction for 3 comparisons" in page.text
    assert (
        "No difference could be significant at 5%, however large; that requires at least 7 differing pairs" in page.text
    )
    assert "Bootstrap intervals require at least 8 seeds" in page.text


def test_every_pair_has_its_smallest_possible_p(made):
    found = rows(made, "digits-accuracy-pairs")
    assert len(found) == 3
    assert {row["smallest possible p"] for row in found} == {"0.25"}
    assert all(float(row["p, Wilcoxon"]) >= 0.25 for row in found)


def test_significance_is_claimed_only_if_the_test_shows_it():
    draw = np.random.default_rng(0)
    base = draw.random(12)
    far = np.stack([base, base + 1 + draw.random(12) * 0.1], axis=1)
    assert "Significantly different at 5%: Random and GVD" in significance(
        compare_pairs(far, ("random", "gvd")), "Accuracy"
    )
    near = np.stack([base, base + draw.normal(size=12) * 0.1], axis=1)
    assert "No difference is significant" in significance(compare_pairs(near, ("random", "gvd")), "Accuracy")
    for comparisons in (1, 3, 36):
        n = pairs_needed(comparisons)
        assert comparisons * 2 / 2**n <= 0.05 < comparisons * 2 / 2 ** (n - 1)


def test_tied_seeds_do_not_count_as_differing_pairs():
    values = np.tile(np.linspace(0.5, 0.9, 10)[:, None], (1, 2))
    values[3, 1] += 0.01
    text = significance(compare_pairs(values, ("random", "gvd")), "Accuracy")
    assert "with at most 1 differing pair," in text
    assert text.endswith("that requires at least 6 differing pairs.")


def test_labels_saved_are_against_random_with_the_same_seed(made):
    found = {row["method"]: row for row in rows(made, "digits-labels-1")}
    assert found["Random"]["seeds reaching it"] == "3 of 3"
    assert found["Random"]["labels saved mean"] == ""
    saved = float(found["Random"]["labels needed mean"]) - float(found["GVD"]["labels needed mean"])
    assert float(found["GVD"]["labels saved mean"]) == pytest.approx(saved)
    assert saved > 0


def test_a_target_that_some_seeds_never_reach_has_no_mean(runs, undrawn):
    document = build(runs, targets=[0.999], images=False)
    (table,) = [table for table in document.tables() if table.name == "digits-labels-1"]
    assert {row[1] for row in table.rows} == {"0 of 3"}
    assert {row[2] for row in table.rows} == {None}


def test_the_default_target_is_reached_by_every_run_of_random(runs):
    from versionspace.report.compare import compare
    from versionspace.report.groups import group_runs
    from versionspace.report.runs import load_runs

    (group,) = group_runs(load_runs([runs]).runs)
    comparison = compare(group)
    (target,) = default_targets(comparison)
    last = comparison.final_values("test", "accuracy")[:, comparison.methods.index("random")]
    assert last.min() - 0.01 < target <= last.min()


def test_the_metrics_of_every_round_are_written(made):
    found = rows(made, "digits-rounds")
    assert len(found) == 3 * 3 * 4
    assert {"method", "seed", "labels", "fit", "test accuracy", "pool pwd", "reference pwd"} <= set(found[0])


def test_the_output_is_reproducible(runs, made, tmp_path):
    code = f"from versionspace.report import make; make({str(runs)!r}, {str(tmp_path / 'again')!r}, embed=['gvd/1'])"
    subprocess.run([sys.executable, "-c", code], check=True)
    for path in sorted(made.rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "again" / path.relative_to(made)).read_bytes(), path.name


def test_the_papers_results_are_shown_next_to_its_presets(tmp_path, undrawn):
    runs = tmp_path / "runs"
    changes = ["budget.total=20", "ensemble.members=4"]
    campaign(runs / "gvd" / "0", preset="paper/mnist", changes=changes)
    campaign(runs / "random" / "0", "random", preset="paper/mnist", changes=changes)
    campaign(runs / "entropy" / "0", "entropy", preset="paper/mnist", changes=changes)
    document = build(runs, images=False)
    table = document.tables()[0]
    assert [column.title for column in table.columns] == ["", "MNIST", "MNIST, paper"]
    by_name = {row[0]: row for row in table.rows}
    assert by_name["GVD"][2] == SampleMean(97.02, 0.06, 4)
    assert by_name["Entropy"][2] is None
    assert by_name["labels"][1:] == (20, 400)
    assert by_name["GVD"][1].deviation is None
    assert "budget.total: 20 instead of 400" in all_notes(document)


def test_the_papers_results():
    assert {name: (p.labels, p.runs) for name, p in PAPER.items()} == {
        "mnist": (400, 4), "fashion-mnist": (1000, 4), "svhn": (3000, 4), "stl10": (2580, 3),
    }  # fmt: skip
    best = {name: max(p.accuracy, key=lambda m, p=p: p.accuracy[m][0]) for name, p in PAPER.items()}
    assert best == {"mnist": "gvd", "fashion-mnist": "gvd", "svhn": "gvd", "stl10": "pwd"}
    assert {min(p.diameter, key=lambda m, p=p: p.diameter[m][0]) for p in PAPER.values()} == {"pwd"}


def test_every_dataset_has_a_chapter(tmp_path, runs, undrawn):
    grid(tmp_path / "two", methods=("random",), seeds=(0,), data="mnist", total=30)
    document = build([runs, tmp_path / "two"], images=False)
    assert [chapter.title for chapter in document.chapters] == ["Results", "digits", "MNIST"]
    assert [column.title for column in document.tables()[0].columns] == ["", "digits", "MNIST"]
    assert "random-across-datasets" in {figure.name for figure in document.figures()}
    assert "There are no differences: only one method is compared." in all_notes(document)
    assert {column for _, column in document.tables()[0].bold} == {1}  # a single method is not marked as the best


def test_one_seed_has_no_deviation_and_no_interval(tmp_path, undrawn):
    grid(tmp_path, seeds=(0,), total=20)
    document = build(tmp_path, images=False)
    assert all(
        cell.deviation is None for row in document.tables()[0].rows for cell in row if isinstance(cell, SampleMean)
    )
    (table,) = [table for table in document.tables() if table.name == "digits-accuracy-pairs"]
    assert {row[4] for row in table.rows} == {None}
    assert "with at most 1 differing pair," in all_notes(document)


def test_without_random_missing_parts_are_explained(tmp_path, undrawn):
    grid(tmp_path, methods=("ge", "gvd"), seeds=(0, 1), total=20, pool=False)
    notes = all_notes(build(tmp_path, images=False))
    assert "There is no run of random to map" in notes
    assert "Labels saved are not shown: no run of random is compared." in notes
    assert "There are no curves on the pool: it was not measured" in notes


def test_a_campaign_labelled_by_a_person(tmp_path):
    ids = [f"{i * 2654435761 % 2**32:08x}" + "0" * 56 for i in range(200)]
    campaign(
        tmp_path / "photos", data=str(tmp_path / "gone"), classes=("<script>alert(1)</script>", "dog & $cat$"),
        test=False, person=True, ids=ids, total=20, initial=4, size=4, audit=0,
    )  # fmt: skip
    path = make(tmp_path / "photos", tmp_path / "out")
    page = Page(path.read_text())
    assert "script" not in page.tags
    assert "<script>alert(1)</script>" in page.text
    assert "gone has no values in the accuracy table: there is no test set with known classes" in page.text
    assert "gone has no test set: its diameter is on the reference images" in page.text
    assert "cannot be mapped" not in page.text  # there is no run of random to map
    assert "gone does not exist" in page.text  # the folder of images
    assert (tmp_path / "out" / "figures" / "gone-person.svg").is_file()


def test_an_audit_is_drawn_if_the_truth_is_unknown(tmp_path):
    campaign(tmp_path / "a", test=True, truth=False, audit=10, total=40, initial=10)
    document = build(tmp_path / "a", images=False, embed=["gvd"])
    note = "The map does not show the true labels: the classes of the test images are unknown."
    assert note in all_notes(document)
    (figure,) = [figure for figure in document.figures() if figure.name.endswith("person")]
    assert figure.inline.count("<g ") > 10


def test_runs_that_cannot_be_mapped_are_noted(tmp_path, undrawn):
    campaign(tmp_path / "a", total=20, test=False)
    notes = all_notes(build(tmp_path / "a", images=False, embed=["gvd", "random/3"]))
    assert "GVD, seed 0 cannot be mapped: distances require a test set." in notes
    assert "There is no run random/3 to map." in notes


def test_members_that_do_not_fit_their_labels_are_noted(tmp_path, undrawn):
    campaign(tmp_path / "a", total=20, fit=0.97)
    note = "reproduce on average less than 99% of their labels (minimum: 97.0%, gvd/0)"
    assert note in all_notes(build(tmp_path / "a"))


def test_a_folder_that_is_no_report_is_not_changed(runs, tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(ReportError, match="a folder with other files in it"):
        make(runs, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]
    with pytest.raises(ReportError, match="a folder"):
        make(runs, tmp_path / "precious.txt")


def test_a_report_is_replaced_and_other_files_are_kept(runs, tmp_path, undrawn):
    first = build(runs, images=False)
    out = tmp_path / "report"
    save(first, out)
    (out / "notes.txt").write_text("mine")
    (out / "tables" / "old.csv").write_text("stale")
    manifest = json.loads((out / "report.json").read_text())
    manifest["files"] += ["tables/old.csv", "../outside.txt"]
    (out / "report.json").write_text(json.dumps(manifest))
    (tmp_path / "outside.txt").write_text("mine")
    save(first, out)
    assert (out / "notes.txt").read_text() == "mine"
    assert (tmp_path / "outside.txt").exists()
    assert not (out / "tables" / "old.csv").exists()
    assert not list(out.rglob(".*.new"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"targets": [95.0]}, "an accuracy above 0%"),
        ({"at": 0}, "a number of labels"),
        ({"embed": ["gdv"]}, "METHOD or METHOD/SEED"),
        ({"embed": ["gvd/first"]}, "METHOD or METHOD/SEED"),
    ],
)
def test_unusable_options_are_rejected(runs, options, words):
    with pytest.raises(InputError, match=words):
        build(runs, **options)


def test_a_folder_without_campaigns_is_rejected(tmp_path):
    with pytest.raises(StoreError, match="the folder of a campaign or of a grid"):
        build(tmp_path)


def test_a_missing_package_is_named(runs, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'versionspace\[report\]'"):
        build(runs)
