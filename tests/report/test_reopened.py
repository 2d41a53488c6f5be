"""Campaigns that were given another budget than they began with."""

import pytest

from report.made_up import campaign, grid, went_on
from versionspace.report import build
from versionspace.report.plots.lines import lines
from versionspace.store import CampaignFolder, Event, Ledger


def reopen(folder, total):
    with Ledger.open(CampaignFolder(folder).ledger) as ledger:
        ledger.append([Event("reopened", 6, {"total": total})])


def labels(report):
    return dict(report.sections[1].facts)["Labels"]


def test_the_budget_is_the_one_that_was_last_decided(tmp_path, undrawn):
    grid(tmp_path, methods=("random", "gvd"), seeds=(0,))
    assert labels(build(tmp_path, images=False)) == "up to 60, 10 a round"
    reopen(tmp_path / "gvd" / "0", 1200)
    assert labels(build(tmp_path, images=False)) == "up to 60 or 1,200 by run, 10 a round"
    reopen(tmp_path / "random" / "0", 1200)
    assert labels(build(tmp_path, images=False)) == "up to 1,200, 10 a round"


def test_no_curve_goes_beyond_its_budget(tmp_path, undrawn, monkeypatch):
    seen = {}

    def drawn(name, panels, **options):
        seen[name] = panels
        return lines(name, panels, **options)

    monkeypatch.setattr("versionspace.report.sections.datasets.lines", drawn)
    campaign(tmp_path / "one", "random")
    reopen(tmp_path / "one", 120)
    went_on(tmp_path / "one", 90)
    campaign(tmp_path / "other", "random", data="mnist")
    build([tmp_path / "one", tmp_path / "other"], images=False)
    ends = {curve.label: curve.x[-1] for curve in seen["random-across-datasets"][0].curves}
    assert ends == pytest.approx({"digits": 75.0, "MNIST": 100.0})
