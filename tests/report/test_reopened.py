"""Campaigns whose label budget was changed after the start."""

import pytest

from report.made_up import add_rounds, campaign, grid
from versionspace.report import build
from versionspace.store import CampaignFolder, Event, Ledger


def reopen(folder, total):
    with Ledger.open(CampaignFolder(folder).ledger) as ledger:
        ledger.append([Event("reopened", 6, {"total": total})])


def labels(document):
    return dict(document.chapters[1].facts)["Labels"]


def test_the_budget_is_the_latest_one(tmp_path, undrawn):
    grid(tmp_path, methods=("random", "gvd"), seeds=(0,))
    assert labels(build(tmp_path, images=False)) == "up to 60, 10 per round"
    reopen(tmp_path / "gvd" / "0", 1200)
    assert labels(build(tmp_path, images=False)) == "up to 60 or 1,200 depending on the run, 10 per round"
    reopen(tmp_path / "random" / "0", 1200)
    assert labels(build(tmp_path, images=False)) == "up to 1,200, 10 per round"


def test_no_curve_extends_beyond_its_budget(tmp_path, undrawn, panels):
    campaign(tmp_path / "one", "random")
    reopen(tmp_path / "one", 120)
    add_rounds(tmp_path / "one", 90)
    campaign(tmp_path / "other", "random", data="mnist")
    build([tmp_path / "one", tmp_path / "other"], images=False)
    ends = {curve.label: curve.x[-1] for curve in panels["random-across-datasets"][0].curves}
    assert ends == pytest.approx({"digits": 75.0, "MNIST": 100.0})
