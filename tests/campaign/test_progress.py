"""Progress of a grid: what is shown of it, with names and errors printed literally."""

import io

import pytest
from rich.console import Console

from campaign.tiny import config
from versionspace.campaign import progress
from versionspace.campaign.jobs import News
from versionspace.campaign.setup import create_folder

BRACKETS = ["photos [old]", "versionspace[report]", "[bold]"]


@pytest.mark.parametrize("name", BRACKETS)
def test_brackets_are_not_markup(name, tmp_path, monkeypatch):
    folder = tmp_path / name / "0"
    create_folder(folder, config())
    told = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda **_: Console(file=told, width=200, highlight=False))
    with progress.display({folder: None}, None) as tell:
        tell(News(folder, "failed", text=f"{name} in [/photos]: expected images"))
        tell(News(folder, "done"))
    failed, done = told.getvalue().splitlines()
    assert failed == f"{name}/0 failed: {name} in [/photos]: expected images"
    assert done.startswith(f"{name}/0: ")


@pytest.mark.parametrize("name", BRACKETS)
def test_brackets_are_not_markup_on_a_terminal(name, tmp_path):
    told = io.StringIO()
    Console(file=told, width=200).print(progress.Board([progress.Line(tmp_path / name / "0")]))
    assert name in told.getvalue()
