"""Every script in examples/ runs by itself and prints results that make sense."""

import os
import re
import subprocess
import sys

import pytest


@pytest.fixture
def run_example(repository, tmp_path):
    def run(name, *arguments):
        environment = {**os.environ, "VERSIONSPACE_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
        command = [sys.executable, "-W", "error", str(repository / "examples" / name), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def percents(pattern, text):
    return [float(number) for number in re.findall(pattern + r"(\d+\.\d)%", text)]


def test_every_example_is_tested_and_described(repository):
    scripts = {path.name for path in (repository / "examples").glob("*.py")}
    assert scripts == {
        "own_models.py", "label_a_folder.py", "compare_methods.py", "label_text.py", "label_table.py", "label_sound.py"
    }  # fmt: skip
    assert set(re.findall(r"\]\((\w+\.py)\)", (repository / "examples" / "README.md").read_text())) == scripts


@pytest.mark.slow
def test_own_models_gain_over_random(run_example):
    random, chosen = percents("accuracy with 100 labels, mean of 3 seeds: ", run_example("own_models.py"))
    assert 80 < random < chosen


@pytest.mark.slow
def test_label_a_folder_classifies_new_images_and_leaves_nothing_behind(run_example, tmp_path):
    printed = run_example("label_a_folder.py")
    assert sum(map(int, re.findall(r"answered (\d+) images", printed))) == 30
    assert "labels exported: 30\n" in printed
    assert percents("accuracy on 100 new images: ", printed)[0] > 90
    assert {path.name for path in tmp_path.iterdir()} <= {"cache"}


@pytest.mark.slow
def test_compare_methods_writes_a_report(run_example, tmp_path):
    printed = run_example("compare_methods.py", tmp_path / "work")
    assert [line.split()[0] for line in printed.splitlines()] == ["random", "gvd", "gvd-batch", "report:"]
    assert min(percents("accuracy ", printed)) > 75
    assert "GVD-Batch" in (tmp_path / "work" / "report" / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_label_text_classifies_new_texts(run_example):
    printed = run_example("label_text.py")
    random, chosen = percents("accuracy ", printed)
    assert 45 < random < chosen
    assert percents("accuracy on 200 new texts: ", printed)[0] > 65


@pytest.mark.slow
def test_label_table_gains_over_random(run_example):
    random, chosen = percents("accuracy with 15 labels, mean of 2 seeds: ", run_example("label_table.py"))
    assert 75 < random < chosen


@pytest.mark.slow
def test_label_sound_stops_early_and_recognises_instruments(run_example):
    printed = run_example("label_sound.py")
    labels, bells = map(int, re.findall(r"(\d+) labels, of which (\d+) bells: kappa", printed)[0])
    assert labels < 150
    assert bells > 0.1 * labels  # a tenth of the recordings are bells: balance asks for more
    assert percents("accuracy on 200 other recordings: ", printed)[0] > 85
