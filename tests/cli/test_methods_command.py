"""``versionspace methods``, its output formats and its errors."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import versionspace as vs
from versionspace.cli.main import app


def run(*arguments):
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200", "TERM": "dumb"})
    assert result.exit_code == 0, result.output
    return result.output


def process(*arguments):
    command = [sys.executable, "-m", "versionspace.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_all_methods_are_listed():
    listed = run("methods")
    for name in vs.METHODS:
        assert f" {name} " in listed


@pytest.mark.parametrize("name", vs.METHODS)
def test_one_method_is_shown_with_all_its_fields(name):
    printed = run("methods", name)
    for word in (name, "utility", "needs", "paper", "cost"):
        assert word in printed


def test_json_contains_the_table():
    rows = json.loads(run("methods", "--as", "json"))
    assert [row["name"] for row in rows] == list(vs.METHODS)
    assert {"utility", "needs", "paper", "cost", "pointwise"} <= set(rows[0])


def test_the_docs_page_is_generated_from_the_table(repository):
    assert (repository / "docs" / "methods.md").read_text() == run("methods", "--as", "markdown")


def test_an_unknown_method_prints_a_suggestion_and_exits_with_2():
    done = process("methods", "gdv")
    assert done.returncode == 2
    assert "Did you mean 'gvd'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_version_is_printed():
    assert process("--version").stdout == f"versionspace {vs.__version__}\n"


def test_help_has_an_example():
    assert "Example: versionspace methods gvd" in run("methods", "--help")
