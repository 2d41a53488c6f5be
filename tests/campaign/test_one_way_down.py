"""Nothing is done twice on the way from a command to a round: datasets, roles, ledgers and first ensembles."""

import io

import numpy as np
import pytest
from rich.console import Console

import versionspace as vs
from campaign.tiny import class_folders, config, of_folder
from versionspace.campaign import Campaign, Job, News, Outcome, resume
from versionspace.campaign import datasets as datasets_module
from versionspace.campaign import images as images_module
from versionspace.campaign import progress as progress_module
from versionspace.campaign import round as round_module
from versionspace.campaign.datasets import Datasets
from versionspace.campaign.round import RoundRunner
from versionspace.campaign.worker import run_job
from versionspace.ensemble import Ensemble
from versionspace.store import Ledger, read_campaign

SMALL = config("budget.total=15")


@pytest.fixture
def count(monkeypatch):
    """Count the calls of a function or method that is looked up where it is used; returns their arguments."""

    def counted(owner, name):
        real, calls = getattr(owner, name), []

        def wrapped(*given, **options):
            calls.append((*given, options))
            return real(*given, **options)

        monkeypatch.setattr(owner, name, wrapped)
        return calls

    return counted


def test_a_grid_in_this_process_opens_its_dataset_once_and_draws_roles_once_a_seed(count, tmp_path):
    opened, drawn = count(datasets_module, "load"), count(images_module, "split")
    vs.run(SMALL, methods=["gvd", "random"], seeds=[0, 1], out=tmp_path, progress=False)
    assert len(opened) == 1
    assert [options["seed"] for *_, options in drawn] == [0, 1]


@pytest.mark.parametrize("path", ["absolute", "relative"])
def test_a_grid_of_a_folder_of_images_reads_it_once(path, count, tmp_path, monkeypatch):
    photos, opened = class_folders(tmp_path / "photos"), count(datasets_module, "load")
    monkeypatch.chdir(tmp_path)
    vs.run(
        of_folder(photos if path == "absolute" else "photos"),
        methods=["gvd", "random"],
        seeds=[0],
        out=tmp_path / "grid",
        progress=False,
    )
    assert len(opened) == 1
    moved = photos.rename(tmp_path / "moved")
    resume(tmp_path / "grid", images=moved, progress=False)
    assert len(opened) == 2


def test_resuming_opens_the_dataset_once_and_draws_nothing(count, tmp_path):
    class Interrupted:
        def execute(self, jobs, tell):
            for job in jobs:
                Campaign.open(job.folder, shared=job.shared).close()
            return Outcome(stopped=True)

    vs.run(SMALL, methods=["gvd", "random"], seeds=[0], out=tmp_path, progress=False, executor=Interrupted())
    opened, drawn = count(datasets_module, "load"), count(images_module, "split")
    resume(tmp_path, progress=False)
    assert (len(opened), len(drawn)) == (1, 0)


def test_jobs_of_one_process_share_its_datasets(count, tmp_path):
    vs.run(SMALL, methods=["gvd", "random"], seeds=[0], out=tmp_path, progress=False, executor=Nothing())
    opened, datasets = count(datasets_module, "load"), Datasets()
    for method in ("gvd", "random"):
        run_job(Job(tmp_path / method / "0", tmp_path / "shared" / "0"), lambda news: None, datasets=datasets)
    assert len(opened) == 1
    assert read_campaign(tmp_path / "random" / "0").ended == "budget"


def test_settings_that_roles_depend_on_are_not_shared():
    datasets = Datasets()
    base = datasets.draw(SMALL).roles
    assert datasets.draw(config("query.method=random")).roles is base
    for change in ("seed=1", "data.pool=140", "budget.audit=5", "oracle.kind=person"):
        other = datasets.draw(config("budget.total=15", change)).roles
        assert any(
            not np.array_equal(a, b) for a, b in zip(base.arrays().values(), other.arrays().values(), strict=True)
        )


def test_a_new_campaign_opens_its_dataset_and_draws_its_roles_once(count, tmp_path):
    opened, drawn = count(datasets_module, "load"), count(images_module, "split")
    Campaign.create(tmp_path, SMALL).close()
    assert (len(opened), len(drawn)) == (1, 1)


def test_a_campaign_replays_its_ledger_once(count, tmp_path):
    calls = count(Ledger, "events")

    def from_the_start():
        return sum("after" not in options for _, options in calls)

    with Campaign.create(tmp_path, SMALL) as campaign:
        campaign.accept(campaign.oracle().answer(campaign.propose().ids))
        campaign.propose()
    assert from_the_start() == 1
    calls.clear()
    with Campaign.open(tmp_path) as campaign:
        campaign.run()
    assert from_the_start() == 1
    assert campaign.state == read_campaign(tmp_path).state


def test_whoever_trains_the_first_ensemble_does_not_read_it_back(count, tmp_path):
    loads = count(round_module, "load_learner")
    vs.run(SMALL, methods=["gvd"], seeds=[0], out=tmp_path, progress=False)
    assert loads == []
    vs.run(SMALL, methods=["gvd", "random"], seeds=[0], out=tmp_path, progress=False)
    assert len(loads) == 1


def test_the_first_ensemble_in_memory_is_the_one_on_disk(tmp_path, monkeypatch):
    trained, real = [], RoundRunner.train
    monkeypatch.setattr(RoundRunner, "train", lambda *given: trained.append(real(*given)) or trained[-1])
    vs.run(SMALL, methods=["gvd"], seeds=[0], out=tmp_path, progress=False)
    stored = Ensemble.load(tmp_path / "shared" / "0" / "ensemble")
    pool = vs.Campaign.open(tmp_path / "gvd" / "0").images.of("pool")
    np.testing.assert_array_equal(
        trained[0].predict_proba(pool, members=True), stored.predict_proba(pool, members=True)
    )
    assert trained[0].history_ == stored.history_


def test_progress_reads_no_ledger_while_campaigns_run(tmp_path, monkeypatch):
    told = io.StringIO()
    monkeypatch.setattr(progress_module, "Console", lambda **_: Console(file=told, width=200, highlight=False))

    class Telling:
        def execute(self, jobs, tell):
            monkeypatch.setattr(Ledger, "view", None)
            monkeypatch.setattr(Ledger, "open", None)
            for job in jobs:
                tell(News(job.folder, "step", 1, "fit", 0.5))
                tell(News(job.folder, "round", 1, labels=10, budget=15, accuracy=0.25, diameter=0.5))
                tell(News(job.folder, "done", 2, labels=15, budget=15, accuracy=0.75, diameter=0.125))
            return Outcome()

    vs.run(SMALL, methods=["gvd"], seeds=[0], out=tmp_path, executor=Telling())
    assert told.getvalue().startswith("gvd/0: 15 labels, accuracy 75.0%, diameter 12.5%, ")


class Nothing:
    """An executor that runs no job."""

    def execute(self, jobs, tell):
        return Outcome()
