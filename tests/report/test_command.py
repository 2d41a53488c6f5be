"""``versionspace report``."""

import pytest
import typer
from typer.testing import CliRunner

from report.made_up import grid
from versionspace.cli.report import report
from versionspace.errors import InputError

app = typer.Typer()
app.command()(report)


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200", "TERM": "dumb"})


def test_the_command_prints_the_results_and_the_path_of_the_page(tmp_path):
    runs = grid(tmp_path / "runs", methods=("random", "gvd"), seeds=(0, 1), total=20)
    result = run(runs, "--out", tmp_path / "out", "--target", "50", "--no-images", "--at", "20")
    assert result.exit_code == 0, result.output
    assert str(tmp_path / "out" / "index.html") in result.output.replace("\n", "")
    assert (tmp_path / "out" / "index.html").is_file()
    assert "Random" in result.output
    assert "at 20 labels" in result.output
    again = run(runs, "--out", tmp_path / "out", "--no-images")
    assert again.exit_code == 0


@pytest.mark.parametrize("percent", ["0.95", "101", "-1"])
def test_a_target_is_a_percentage(tmp_path, percent):
    result = run(tmp_path, f"--target={percent}", "--out", tmp_path / "out")
    assert isinstance(result.exception, InputError)
    assert "a percentage above 1 and up to 100" in str(result.exception)


def test_help_has_an_example():
    assert "Example: versionspace report runs/demo" in run("--help").output
