"""Queried images and their answers."""

from report.made_up import campaign
from versionspace.report import build
from versionspace.report.runs import load_runs
from versionspace.report.sections.queries import first_queries
from versionspace.store import CampaignFolder, Event, Ledger


def test_an_image_without_an_answer_is_not_shown_as_skipped(tmp_path, undrawn):
    campaign(tmp_path / "gvd" / "0", ids=range(100), reach=10, ended=False)
    campaign(tmp_path / "random" / "0", "random", ids=range(100), reach=20, ended=False)
    body = {"part": 1, "purpose": "query", "ids": [41, 42, 43], "utilities": [0.3, 0.2, 0.1]}
    with Ledger.open(CampaignFolder(tmp_path / "gvd" / "0").ledger) as ledger:
        ledger.append([Event("proposed", 1, body)])
        assert _alt(tmp_path).count("queried") == 1  # no query of GVD is answered: it has no row
        ledger.append([Event("answered", 1, {"id": 43, "class": "3", "part": 1, "rank": 2})])
        ledger.append([Event("answered", 1, {"id": 41, "class": None, "part": 1, "rank": 0})])
    run = next(run for run in load_runs([tmp_path]).runs if run.method == "gvd")
    ids, answers = first_queries(run, 14)
    assert ids.tolist() == [41, 43]
    assert answers == ("skipped", "3")
    assert "GVD queried skipped, 3." in _alt(tmp_path)


def _alt(folder):
    return next(figure.alt for figure in build(folder).figures() if figure.name == "digits-images")
