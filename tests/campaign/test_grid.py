"""Grids: what is shared, what is refused, what Python users see."""

import signal
import threading

import numpy as np
import pytest

import versionspace as vs
from campaign.tiny import class_folders, config, of_folder
from versionspace.campaign import Campaign
from versionspace.campaign import local_executor as processes
from versionspace.campaign.grid import News, prepare, resume, run
from versionspace.config import GridConfig, parse_config, to_toml
from versionspace.errors import InputError
from versionspace.store import Event, Ledger, Lock, LockedError, StoreError, campaigns, read_campaign, verify


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    return run(config(), methods=["gvd", "random"], seeds=[0, 1], out=tmp_path_factory.mktemp("grid"), progress=False)


def test_a_campaign_for_each_method_and_seed(grid):
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


def test_the_first_ensemble_is_the_one_that_a_lone_campaign_fits(grid, tmp_path):
    with Campaign.create(tmp_path, config("query.method=gvd")) as campaign:
        campaign.run()
    alone = [(r.asked, r.metrics) for r in read_campaign(tmp_path).rounds]
    assert alone == [(r.asked, r.metrics) for r in read_campaign(grid.folder / "gvd" / "0").rounds]


def test_a_grid_grows_and_keeps_what_is_there(grid, tmp_path):
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


def test_a_grid_of_methods_without_a_vote_grows_by_one_that_takes_it(tmp_path):
    hard = config("query.method=random", "query.vote=hard")
    prepare(config("query.method=random"), tmp_path, ["random"], [0])
    Campaign.open(tmp_path / "random" / "0").close()
    prepare(hard, tmp_path, ["random", "gvd"], [0])
    Campaign.open(tmp_path / "gvd" / "0").close()
    votes = {method: read_campaign(tmp_path / method / "0").config.query.vote for method in ("random", "gvd")}
    assert votes == {"random": "soft", "gvd": "hard"}
    with pytest.raises(InputError, match="query.vote: 'hard' before, 'soft' now"):
        prepare(config("query.method=random"), tmp_path, ["gvd"], [0])


def test_another_config_is_refused_with_the_difference(grid):
    with pytest.raises(InputError, match="budget.total: 25 before, 30 now"):
        run(config("budget.total=30"), methods=["gvd"], seeds=[0], out=grid.folder, progress=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"methods": ["gdv"]}, "gvd"), ({"methods": []}, "a method and a seed"), ({"seeds": []}, "a method and a seed"),
        ({"seeds": [-1]}, "at least 0"), ({"seeds": 3}, "at least 0"), ({"seeds": [0.5]}, "at least 0"),
        ({"seeds": [True]}, "at least 0"), ({"jobs": -1}, "0 or more"),
        ({"methods": ["gvd", "badge"], "changes": ["query.member=all"]}, "query.member: expected the number"),
        ({"changes": ["budget.totle=15"]}, "Did you mean budget.total?"),
        ({"changes": ["budget"]}, "section.key=value"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_before_anything_is_made(options, said, tmp_path):
    with pytest.raises(InputError, match=said):
        run(config(), out=tmp_path / "out", progress=False, **{"methods": ["gvd"], "seeds": [0]} | options)
    assert not (tmp_path / "out").exists()


def test_changes_are_made_to_a_config_and_seeds_may_be_numpys(tmp_path):
    changes = iter(["budget.total=10"])
    made = run(config(), methods=["random"], seeds=np.arange(1), changes=changes, out=tmp_path, progress=False)
    assert [(r.seed, r.spent) for r in made.campaigns()] == [(0, 10)]


def left_before_its_split(folder, *changes):
    """As a process leaves it that was killed between its first two events, with a config that cannot be run."""
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
    """Of its files, but for those that SQLite puts beside a ledger that is read."""
    files = [p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("ledger.sqlite-")]
    return {p: p.read_bytes() for p in files}


def test_a_config_of_which_nothing_came_gives_way_to_another(tmp_path):
    left_before_its_split(tmp_path)
    with pytest.raises(InputError, match="too few"):
        resume(tmp_path, progress=False)
    with pytest.raises(InputError, match="too few"):
        run(config("data.pool=9999"), methods=["gvd"], seeds=[0], out=tmp_path, progress=False)
    assert parse_config((tmp_path / "gvd" / "0" / "campaign.toml").read_text()).data.pool == 99999
    made = run(config("budget.total=10"), methods=["gvd", "random"], seeds=[0], out=tmp_path, progress=False)
    assert made.failed == {}
    assert [(r.method, r.spent, r.ended) for r in made.campaigns()] == [("gvd", 10, "budget"), ("random", 10, "budget")]
    assert not (tmp_path / "ge").exists(), "a method of the config that came to nothing"
    assert not any(verify(tmp_path).values())
    assert resume(tmp_path, progress=False).failed == {}


def test_a_campaign_of_which_something_came_keeps_its_config(tmp_path):
    left_before_its_split(tmp_path)
    Campaign.create(tmp_path / "gvd" / "0", config()).close()  # has its split
    before = contents(tmp_path)
    with pytest.raises(InputError, match="data.pool: 99999 before, 140 now"):
        run(config("data.pool=140"), methods=["gvd"], seeds=[0], out=tmp_path, progress=False)
    with pytest.raises(InputError, match="data.pool: 150 before, 140 now"):
        Campaign.create(tmp_path / "gvd" / "0", config("data.pool=140"))
    assert contents(tmp_path) == before


def test_a_campaign_that_is_being_opened_is_left_alone(tmp_path):
    left_before_its_split(tmp_path)
    with Lock(tmp_path / "gvd" / "0"), pytest.raises(LockedError):
        run(config(), methods=["gvd"], seeds=[0], out=tmp_path, progress=False)
    assert (tmp_path / "gvd" / "0" / "ledger.sqlite").exists()


def test_a_campaign_is_no_place_for_a_grid_and_a_person_no_oracle(grid, tmp_path):
    with pytest.raises(InputError, match="one campaign"):
        prepare(config(), grid.folder / "gvd" / "0", ["gvd"], [0])
    with pytest.raises(InputError, match="versionspace label"):
        run(config("oracle.kind=person"), out=tmp_path, progress=False)


def test_data_are_checked_and_folders_are_there_before_torch_is(tmp_path):
    import subprocess
    import sys

    code = f"""
import sys
from pathlib import Path
from campaign.tiny import class_folders, config, of_folder
from versionspace.campaign.grid import prepare
prepare(config(), Path({str(tmp_path)!r}), ["gvd"], [0])
print("torch" in sys.modules, (Path({str(tmp_path)!r}) / "gvd/0/campaign.toml").exists())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert done.stdout == "False True\n"


def test_one_that_fails_does_not_stop_the_others(tmp_path):
    prepare(config(), tmp_path, ["gvd", "random"], [0])
    (tmp_path / "gvd" / "0" / "split.npz").mkdir()
    made = run(config(), methods=["gvd", "random"], seeds=[0], out=tmp_path, progress=False)
    assert list(made.failed) == [tmp_path / "gvd" / "0"]
    assert read_campaign(tmp_path / "random" / "0").ended == "budget"
    (tmp_path / "gvd" / "0" / "split.npz").rmdir()
    assert resume(tmp_path, progress=False).failed == {}
    assert read_campaign(tmp_path / "gvd" / "0").ended == "budget"


def test_news_tell_of_stages_and_rounds(tmp_path):
    heard: list[News] = []
    lock = threading.Lock()

    def hear(news):
        with lock:
            heard.append(news)

    run(config(), methods=["gvd"], seeds=[0], out=tmp_path, progress=hear)
    assert {n.stage for n in heard if n.kind == "step"} == {"fit", "predict", "measure", "query"}
    assert [n.labels for n in heard if n.kind == "round"] == [0, 10, 15, 20, 25]
    assert heard[-1].kind == "done"


def test_the_package_offers_it():
    assert vs.run is run
    assert vs.Campaign is Campaign


def test_ctrl_c_in_the_moment_in_which_one_is_done_is_heard(tmp_path):
    """News are taken in whole: the signal waits for that, and one is enough."""
    ended = []

    def hear(news):
        if news.kind == "done":
            ended.append(news.folder)
            if len(ended) == 1:
                signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    made = run(config(), methods=["gvd", "random"], seeds=range(4), out=tmp_path, jobs=2, progress=hear)
    assert made.stopped
    assert 1 <= len(ended) <= 2, "only what was all but done may still end"
    assert signal.getsignal(signal.SIGINT) is before
    assert not resume(tmp_path, jobs=2, progress=False).stopped
    assert all(r.ended for r in made.campaigns())


def test_ctrl_c_after_a_worker_has_died_is_heard(tmp_path, monkeypatch):
    workers = []
    start = processes._Crew._start
    monkeypatch.setattr(processes._Crew, "_start", lambda *given: workers.append(start(*given)) or workers[-1])
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
    assert "its process ended with -9" in next(iter(failed.values()))
    assert all(worker.stdin.closed for worker in workers)
    assert not any(verify(tmp_path).values())


def test_a_device_that_is_not_there_is_refused_before_a_folder_is_made(tmp_path):
    with pytest.raises(InputError, match="device: expected 'auto', 'cpu' or a device of this machine, got 'cuda:77'"):
        run(config("machine.device=cuda:77"), methods=["gvd"], seeds=[0], out=tmp_path / "g", progress=False)
    assert not (tmp_path / "g").exists()


def test_a_campaign_of_a_machine_with_a_device_goes_on_on_one_without(tmp_path):
    prepare(config("budget.total=15"), tmp_path, ["gvd"], [0])
    Campaign.open(tmp_path / "gvd" / "0").close()
    toml = tmp_path / "gvd" / "0" / "campaign.toml"
    toml.write_text(toml.read_text().replace('device = "auto"', 'device = "cuda:77"'))
    assert "cuda:77" in next(iter(resume(tmp_path, progress=False).failed.values()))
    made = run(
        config("budget.total=15", "machine.device=cpu"), methods=["gvd"], seeds=[0], out=tmp_path, progress=False
    )
    assert made.failed == {}
    assert read_campaign(tmp_path / "gvd" / "0").ended == "budget"


def test_an_empty_ledger_is_damaged_and_not_begun_again(tmp_path):
    prepare(config("budget.total=10"), tmp_path, ["gvd", "random"], [0])
    empty = tmp_path / "gvd" / "0"
    (empty / "ledger.sqlite").touch()
    assert "expected a ledger of format 1, got format 0" in verify(tmp_path)[empty][0]
    assert verify(tmp_path)[tmp_path / "random" / "0"] == []
    for way in (lambda: read_campaign(empty), lambda: Campaign.open(empty), lambda: resume(tmp_path, progress=False)):
        with pytest.raises(StoreError, match="got format 0"):
            way()
    assert (empty / "ledger.sqlite").stat().st_size == 0


def test_a_campaign_that_lost_its_ledger_is_damaged_and_not_begun_again(tmp_path):
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


def test_a_campaign_of_a_person_is_not_answered_by_simulation(tmp_path):
    from versionspace.campaign.setup import place

    place(tmp_path / "c", config("oracle.kind=person"))
    with pytest.raises(InputError, match="label --campaign"):
        resume(tmp_path / "c", progress=False)
    assert not (tmp_path / "c" / "ledger.sqlite").exists()


def what_happened(made):
    return [[(r.asked, r.answers, r.metrics) for r in record.rounds] for record in made.campaigns()]


def test_a_folder_of_images_may_be_moved(tmp_path, monkeypatch):
    """Named by a relative path it is found from elsewhere, too; moved, it is said once where it lies now."""
    monkeypatch.chdir(tmp_path)
    class_folders(tmp_path / "photos")
    methods, grid = ["gvd", "random"], tmp_path / "grid"
    straight = run(of_folder("photos"), methods=methods, seeds=[0], out=tmp_path / "straight", progress=False)
    run(of_folder("photos"), methods=["random"], seeds=[0], out=grid, progress=False)
    prepare(of_folder("photos"), grid, ["gvd"], [0])
    with Campaign.open(grid / "gvd" / "0", shared=grid / "shared" / "0") as campaign:
        campaign.accept(campaign.oracle().answer(campaign.propose().ids), who="simulated")
        campaign.propose()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    Campaign.open(grid / "gvd" / "0").close()
    (tmp_path / "photos").rename(tmp_path / "moved")
    with pytest.raises(InputError, match=r"no folder there.* --images FOLDER"):
        Campaign.open(grid / "gvd" / "0")
    with pytest.raises(InputError, match=r"resume .*grid --images .*moved"):
        run(of_folder("../moved"), methods=methods, seeds=[0], out=grid, progress=False)
    made = resume(grid, images="../moved", jobs=2, progress=False)
    assert made.failed == {}
    assert what_happened(made) == what_happened(straight)
    assert {r.config.data.name for r in made.campaigns()} == {str(tmp_path / "moved")}
    more = run(of_folder("../moved"), methods=[*methods, "ge"], seeds=[0], out=grid, progress=False)
    assert more.failed == {}
    assert len(more.campaigns()) == 3


def test_only_a_folder_of_images_can_be_moved(tmp_path):
    prepare(config(), tmp_path, ["gvd"], [0])
    with pytest.raises(InputError, match="none for a campaign on digits"):
        resume(tmp_path, images=tmp_path, progress=False)
