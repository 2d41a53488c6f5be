"""Progress of a grid: what is shown of it, with names and errors printed literally."""

import io

import pytest
from rich.console import Console

from campaign.tiny import config, run_campaign
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


def test_the_table_follows_the_news(tmp_path):
    folder = tmp_path / "gvd" / "0"
    board = progress.Board([progress.Line(folder, budget=40)])
    for news, expected in [
        (News(folder, "round", labels=10, budget=40), "10/40 – – running"),
        (News(folder, "step", 1, "fit", 0.25), "10/40 – – fit 25%"),
        (News(folder, "step", 1, "measure"), "10/40 – – measure"),
        (News(folder, "round", 1, labels=20, budget=50, accuracy=0.5, diameter=0.25), "20/50 50.0% 25.0% measure"),
        (News(folder, "failed", text="no room"), "20/50 50.0% 25.0% failed"),
        (News(folder, "done", 2, labels=50, budget=50, accuracy=0.75, diameter=0.125), "50/50 75.0% 12.5% done"),
    ]:
        board.hear(news)
        assert shown(board).split()[-len(expected.split()) :] == expected.split(), news


def shown(board):
    """Return the line of the first campaign as it is drawn."""
    drawn = io.StringIO()
    Console(file=drawn, width=200).print(board)
    return drawn.getvalue().splitlines()[1]


def test_campaigns_that_ended_before_are_shown_as_done(tmp_path):
    ended = run_campaign(tmp_path / "gvd" / "0", "budget.total=10")
    create_folder(tmp_path / "gvd" / "1", config("seed=1"))
    old, new = progress.line_of(ended.folder.path, ended), progress.line_of(tmp_path / "gvd" / "1", None)
    assert (old.state, old.labels, old.budget) == ("done", 10, 10)
    assert old.accuracy == ended.measured_rounds()[-1].metrics.sets["test"].accuracy
    assert (new.state, new.labels, new.budget) == ("waiting", 0, 25)
