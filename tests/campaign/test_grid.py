"""Grids: what campaigns share, what is rejected, how they are interrupted and resumed."""

import signal
import threading

import numpy as np
import pytest

import versionspace as vs
from campaign.tiny import class_folders, config, of_folder
from versionspace.campaign import Campaign, local_executor
from versionspace.campaign.grid import resume, run
from versionspace.campaign.jobs import News
from versionspace.campaign.setup import prepare_grid
from versionspace.config import GridConfig, parse_config, to_toml
from versionspace.errors import InputError
from versionspace.store import Event, Ledger, Lock, LockedError, StoreError, campaigns, read_campaign, verify


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    return run(config(), methods=["gvd", "random"], seeds=[0, 1], out=tmp_path_factory.mktemp("grid"), progress=False)


def test_a_grid_has_a_campaign_for_each_method_and_seed(grid):
    found = grid.campaigns()
    assert [(r.method, r.seed) for r in found] == [("gvd", 0), ("gvd", 1), ("random", 0), ("random", 1)]
    assert all(r.ended == "budget" for r in found)
    assert not any(verify(grid.folder).values())
    assert [f.path for f in campaigns(grid.folder / "gvd" / "1")] == [grid.folder / "gvd" / "1"]


def test_methods_start_from_the_same_split_labels_and_ensemble(grid):
    gvd, other, random = (read_campaign(grid.folder / p) for p in ("gvd/0", "gvd/1", "random/0"))
    assert gvd.rounds[0].asked == random.rounds[0].asked != other.rounds[0].asked
    assert gvd.rounds[1].metrics == random.rounds[1].metrics
    assert gvd.rounds[1].asked != random.rounds[1].asked
    assert sorted(p.name for p in (grid.folder / "shared").iterdir()) == ["0", "1"]


def test_the_shared_first_ensemble_equals_that_of_a_single_campaign(grid, tmp_path):
    with Campaign.create(tmp_path, config("query.method=gvd")) as campaign:
        campaign.run()
    alone = [(r.asked, r.metrics) for r in read_campaign(tmp_path).rounds]
    assert alone == [(r.asked, r.metrics) for r in read_campaign(grid.folder / "gvd" / "0").rounds]


def test_a_grid_can_be_extended(grid, tmp_path):
    first = run(config(), methods=["gvd"], seeds=[0], out=tmp_path, progress=False)
    before = read_campaign(tmp_path / "gvd" / "0")
    heard = []
    run(config(), methods=["gvd", "random"], seeds=[0], out=tmp_path, progress=heard.append)
    assert {news.folder for news in heard} == {tmp_path / "random" / "0"}
    assert read_campaign(tmp_path / "gvd" / "0").state == before.state
    known = parse_config((first.folder / "grid.toml").read_text())
    assert known.grid.methods == ("gvd", "random")
    assert (
        read_campaign(tmp_path / "random" / "0").rounds[2].metrics
        == read_campaign(grid.folder / "random" / "0").rounds[2].metrics
    )


def test_a_method_that_uses_the_vote_may_be_added_with_any_vote(tmp_path):
    hard = config("query.method=random", "query.vote=hard")
    prepare_grid(config("query.method=random"), tmp_path, ["random"], [0])
    Campaign.open(tmp_path / "random" / "0").close()
    prepare_grid(hard, tmp_path, ["random", "gvd"], [0])
    Campaign.open(tmp_path / "gvd" / "0").close()
    votes = {method: read_campaign(tmp_path / method / "0").config.query.vote for method in ("random", "gvd")}
    assert votes == {"random": "soft", "gvd": "hard"}
    with pytest.raises(InputError, match="query.vote: 'hard' before, 'soft' now"):
        prepare_grid(config("query.method=random"), tmp_path, ["gvd"], [0])


def test_a_changed_config_is_rejected_by_its_difference(grid):
    with pytest.raises(InputError, match="budget.total: 25 before, 30 now"):
        run(config("budget.total=30"), methods=["gvd"], seeds=[0], out=grid.folder, progress=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"methods": ["gdv"]}, "gvd"), ({"methods": []}, "at least one method and one seed"),
        ({"seeds": []}, "at least one method and one seed"),
        ({"seeds": [-1]}, "at least 0"), ({"seeds": 3}, "at least 0"), ({"seeds": [0.5]}, "at least 0"),
        ({"seeds": [True]}, "at least 0"), ({"jobs": -1}, "0 or more"),
        ({"methods": ["gvd", "badge"], "changes": ["query.member=all"]}, "query.member: expected the number"),
        ({"changes": ["budget.totle=15"]}, "Did you mean budget.total?"),
        ({"changes": ["budget"]}, "section.key=value"),
    ],
)  # fmt: skip
def test_invalid_arguments_are_rejected_before_a_folder_is_created(options, said, tmp_path):
    with pytest.raises(InputError, match=said):
        run(config(), out=tmp_path / "out", progress=False, **{"methods": ["gvd"], "seeds": [0]} | options)
    assert not (tmp_path / "out").exists()


def test_changes_apply_to_a_config_and_numpy_seeds_are_accepted(tmp_path):
    changes = iter(["budget.total=10"])
    made = run(config(), methods=["random"], seeds=np.arange(1), changes=changes, out=tmp_path, progress=False)
    assert [(r.seed, r.spent) for r in made.campaigns()] == [(0, 10)]


def create_without_work(folder, *changes):
    """Create a grid with a config that cannot run, as a process leaves it that is killed before its split event."""
    wrong = config("data.pool=99999", *changes)
    write(
        folder / "grid.toml", to_toml(wrong.model_copy(update={"grid": GridConfig(methods=("gvd", "ge"), seeds=(0,))}))
    )
    for method in ("gvd", "ge"):
        path = folder / method / "0"
        write(path / "campaign.toml", to_toml(wrong.campaign(method, 0)))
        with Ledger.open(path / "ledger.sqlite") as ledger:
            ledger.append([Event("begun", 0, {"classes": [], "method": method, "seed": 0}), Event("resumed")])


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def contents(folder):
    """Return the content of all files, except those that SQLite creates when a ledger is read."""
    files = [p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("ledger.sqlite-")]
    return {p: p.read_bytes() for p in files}


def test_a_grid_that_recorded_no_work_may_get_another_config(tmp_path):
    create_without_work(tmp_path)
    with pytest.raises(InputError, match="too few"):
        resume(tmp_path, progress=False)
    with pytest.raises(InputError, match="too few"):
        run(config("data.pool=9999"), methods=["gvd"], seeds=[0], out=tmp_path, progress=False)
    assert parse_config((tmp_path / "gvd" / "0" / "campaign.toml").read_text()).data.pool == 99999
    made = run(config("budget.total=10"), methods=["gvd", "random"], seeds=[0], out=tmp_path, progress=False)
    assert made.failed == {}
    assert [(r.method, r.spent, r.ended) for r in made.campaigns()] == [("gvd", 10, "budget"), ("random", 10, "budget")]
    assert not (tmp_path / "ge").exists(), "a method of the replaced config"
    assert not any(verify(tmp_path).values())
    assert resume(tmp_path, progress=False).failed == {}


def test_a_campaign_that_recorded_work_keeps_its_config(tmp_path):
    create_without_work(tmp_path)
    Campaign.create(tmp_path / "gvd" / "0", config()).close()  # has its split
    before = contents(tmp_path)
    with pytest.raises(InputError, match="data.pool: 99999 before, 140 now"):
        run(config("data.pool=140"), methods=["gvd"], seeds=[0], out=tmp_path, progress=False)
    with pytest.raises(InputError, match="data.pool: 150 before, 140 now"):
        Campaign.create(tmp_path / "gvd" / "0", config("data.pool=140"))
    assert contents(tmp_path) == before


def test_a_locked_campaign_is_not_replaced(tmp_path):
    create_without_work(tmp_path)
    with Lock(tmp_path / "gvd" / "0"), pytest.raises(LockedError):
        run(config(), methods=["gvd"], seeds=[0], out=tmp_path, progress=False)
    assert (tmp_path / "gvd" / "0" / "ledger.sqlite").exists()


def test_a_grid_needs_a_folder_of_its_own_and_known_labels(grid, tmp_path):
    with pytest.raises(InputError, match="one campaign"):
        prepare_grid(config(), grid.folder / "gvd" / "0", ["gvd"], [0])
    with pytest.raises(InputError, match="versionspace label"):
        run(config("oracle.kind=person"), out=tmp_path, progress=False)


def test_a_grid_is_set_up_without_importing_torch(tmp_path):
    import subprocess
    import sys

    code = f"""
import sys
from pathlib import Path
from campaign.tiny import class_folders, config, of_folder
from versionspace.campaign.setup import prepare_grid
prepare_grid(config(), Path({str(tmp_path)!r}), ["gvd"], [0])
print("torch" in sys.modules, (Path({str(tmp_path)!r}) / "gvd/0/campaign.toml").exists())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert done.stdout == "False True\n"


def test_a_campaign_that_fails_does_not_stop_the_others(tmp_path):
    prepare_grid(config(), tmp_path, ["gvd", "random"], [0])
    (tmp_path / "gvd" / "0" / "split.npz").mkdir()
    made = run(config(), methods=["gvd", "random"], seeds=[0], out=tmp_path, progress=False)
    assert list(made.failed) == [tmp_path / "gvd" / "0"]
    assert read_campaign(tmp_path / "random" / "0").ended == "budget"
    (tmp_path / "gvd" / "0" / "split.npz").rmdir()
    assert resume(tmp_path, progress=False).failed == {}
    assert read_campaign(tmp_path / "gvd" / "0").ended == "budget"


def test_news_report_stages_and_rounds(tmp_path):
    heard: list[News] = []
    lock = threading.Lock()

    def hear(news):
        with lock:
            heard.append(news)

    run(config(), methods=["gvd"], seeds=[0], out=tmp_path, progress=hear)
    assert {n.stage for n in heard if n.kind == "step"} == {"fit", "predict", "measure", "query"}
    assert [n.labels for n in heard if n.kind == "round"] == [0, 10, 15, 20, 25]
    assert heard[-1].kind == "done"


def test_the_package_exports_run_and_campaign():
    assert vs.run is run
    assert vs.Campaign is Campaign


def test_ctrl_c_while_news_are_handled_stops_the_run(tmp_path):
    """The signal does not interrupt the handling of news, and one is enough."""
    ended = []

    def hear(news):
        if news.kind == "done":
            ended.append(news.folder)
            if len(ended) == 1:
                signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    made = run(config(), methods=["gvd", "random"], seeds=range(4), out=tmp_path, jobs=2, progress=hear)
    assert made.stopped
    assert 1 <= len(ended) <= 2, "at most one more may end before it stops"
    assert signal.getsignal(signal.SIGINT) is before
    assert not resume(tmp_path, jobs=2, progress=False).stopped
    assert all(r.ended for r in made.campaigns())


def test_ctrl_c_after_a_worker_died_stops_the_run(tmp_path, monkeypatch):
    workers = []
    start = local_executor._Workers._start
    monkeypatch.setattr(local_executor._Workers, "_start", lambda *given: workers.append(start(*given)) or workers[-1])
    failed = {}

    def hear(news):
        if news.kind == "step" and workers[0].poll() is None:
            workers[0].kill()
            workers[0].wait()
        if news.kind == "failed":
            failed[news.folder] = news.text
            signal.raise_signal(signal.SIGINT)

    made = run(config("training.epochs=50"), methods=["gvd", "random"], seeds=[0], out=tmp_path, jobs=2, progress=hear)
    assert made.stopped
    assert made.failed == failed
    assert "its process ended with exit code -9" in next(iter(failed.values()))
    assert all(worker.stdin.closed for worker in workers)
    assert not any(verify(tmp_path).values())


def test_an_unknown_device_is_rejected_before_a_folder_is_created(tmp_path):
    with pytest.raises(InputError, match="device: expected 'auto', 'cpu' or a device of this machine, got 'cuda:77'"):
        run(config("machine.device=cuda:77"), methods=["gvd"], seeds=[0], out=tmp_path / "g", progress=False)
    assert not (tmp_path / "g").exists()


def test_the_device_may_change_on_resume(tmp_path):
    prepare_grid(config("budget.total=15"), tmp_path, ["gvd"], [0])
    Campaign.open(tmp_path / "gvd" / "0").close()
    toml = tmp_path / "gvd" / "0" / "campaign.toml"
    toml.write_text(toml.read_text().replace('device = "auto"', 'device = "cuda:77"'))
    assert "cuda:77" in next(iter(resume(tmp_path, progress=False).failed.values()))
    made = run(
        config("budget.total=15", "machine.device=cpu"), methods=["gvd"], seeds=[0], out=tmp_path, progress=False
    )
    assert made.failed == {}
    assert read_campaign(tmp_path / "gvd" / "0").ended == "budget"


def test_an_empty_ledger_is_damaged_and_does_not_begin_anew(tmp_path):
    prepare_grid(config("budget.total=10"), tmp_path, ["gvd", "random"], [0])
    empty = tmp_path / "gvd" / "0"
    (empty / "ledger.sqlite").touch()
    assert "expected a ledger of format 1, got format 0" in verify(tmp_path)[empty][0]
    assert verify(tmp_path)[tmp_path / "random" / "0"] == []
    for way in (lambda: read_campaign(empty), lambda: Campaign.open(empty), lambda: resume(tmp_path, progress=False)):
        with pytest.raises(StoreError, match="got format 0"):
            way()
    assert (empty / "ledger.sqlite").stat().st_size == 0


def test_a_campaign_without_its_ledger_is_damaged_and_does_not_begin_anew(tmp_path):
    run(config("budget.total=10"), methods=["gvd", "random"], seeds=[0], out=tmp_path, progress=False)
    lost = tmp_path / "gvd" / "0"
    for file in lost.glob("ledger.sqlite*"):
        file.unlink()
    before = contents(lost)
    assert verify(tmp_path) == {lost: ["ledger.sqlite is missing"], tmp_path / "random" / "0": []}
    made = run(config("budget.total=10"), methods=["gvd"], seeds=[0], out=tmp_path, progress=False)
    assert "expected ledger.sqlite beside the results that it describes, got none" in made.failed[lost]
    with pytest.raises(InputError, match="budget.total: 10 before, 15 now"):
        run(config("budget.total=15"), methods=["gvd"], seeds=[0], out=tmp_path, progress=False)
    with pytest.raises(StoreError, match="from a backup"):
        Campaign.open(lost)
    assert contents(lost) == before


def test_resume_rejects_a_campaign_that_a_person_labels(tmp_path):
    from versionspace.campaign.setup import create_folder

    create_folder(tmp_path / "c", config("oracle.kind=person"))
    with pytest.raises(InputError, match="label --campaign"):
        resume(tmp_path / "c", progress=False)
    assert not (tmp_path / "c" / "ledger.sqlite").exists()


def rounds_of(made):
    return [[(r.asked, r.answers, r.metrics) for r in record.rounds] for record in made.campaigns()]


def test_a_folder_of_images_may_be_moved(tmp_path, monkeypatch):
    """A relative path works from any folder; the new path of a moved folder is passed once."""
    monkeypatch.chdir(tmp_path)
    class_folders(tmp_path / "photos")
    methods, grid = ["gvd", "random"], tmp_path / "grid"
    straight = run(of_folder("photos"), methods=methods, seeds=[0], out=tmp_path / "straight", progress=False)
    run(of_folder("photos"), methods=["random"], seeds=[0], out=grid, progress=False)
    prepare_grid(of_folder("photos"), grid, ["gvd"], [0])
    with Campaign.open(grid / "gvd" / "0", shared=grid / "shared" / "0") as campaign:
        campaign.accept(campaign.oracle().answer(campaign.propose().ids), who="simulated")
        campaign.propose()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    Campaign.open(grid / "gvd" / "0").close()
    (tmp_path / "photos").rename(tmp_path / "moved")
    with pytest.raises(InputError, match=r"no folder there.* --images PHOTOS"):
        Campaign.open(grid / "gvd" / "0")
    with pytest.raises(InputError, match=r"resume .*grid --images .*moved"):
        run(of_folder("../moved"), methods=methods, seeds=[0], out=grid, progress=False)
    made = resume(grid, images="../moved", jobs=2, progress=False)
    assert made.failed == {}
    assert rounds_of(made) == rounds_of(straight)
    assert {r.config.data.name for r in made.campaigns()} == {str(tmp_path / "moved")}
    more = run(of_folder("../moved"), methods=[*methods, "ge"], seeds=[0], out=grid, progress=False)
    assert more.failed == {}
    assert len(more.campaigns()) == 3


def test_only_a_folder_of_images_can_be_moved(tmp_path):
    prepare_grid(config(), tmp_path, ["gvd"], [0])
    with pytest.raises(InputError, match="none for a campaign on digits"):
        resume(tmp_path, images=tmp_path, progress=False)
