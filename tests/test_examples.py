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
    assert scripts == {"own_models.py", "label_a_folder.py", "compare_methods.py"}
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
