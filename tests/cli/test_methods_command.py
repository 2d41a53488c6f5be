"""``versionspace methods`` and what the command line says when it cannot."""

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
def test_one_method_says_what_it_needs_and_where_it_comes_from(name):
    shown = run("methods", name)
    for word in (name, "utility", "needs", "paper", "cost"):
        assert word in shown


def test_json_is_the_table():
    rows = json.loads(run("methods", "--as", "json"))
    assert [row["name"] for row in rows] == list(vs.METHODS)
    assert {"utility", "needs", "paper", "cost", "pointwise"} <= set(rows[0])


def test_the_docs_page_is_made_from_the_table(repository):
    assert (repository / "docs" / "methods.md").read_text() == run("methods", "--as", "markdown")


def test_an_unknown_method_gets_a_sentence_and_exit_code_2():
    done = process("methods", "gdv")
    assert done.returncode == 2
    assert "Did you mean 'gvd'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_version():
    assert process("--version").stdout == f"versionspace {vs.__version__}\n"


def test_help_of_every_command_has_an_example():
    assert "Example: versionspace methods gvd" in run("methods", "--help")
