"""The loop: what is proposed, accepted, trained on, measured; and how it ends."""

import json
import logging
import shutil

import numpy as np
import pytest
from PIL import Image

import versionspace as vs
from campaign.tiny import class_folders, config, of_folder
from versionspace import data
from versionspace.campaign import Campaign
from versionspace.campaign.round import proposed
from versionspace.config import parse_config
from versionspace.ensemble import Ensemble
from versionspace.errors import InputError
from versionspace.query import METHODS
from versionspace.store import Ledger, LockedError, StoreError, read_campaign, verify


def done(folder, *changes):
    with Campaign.create(folder, config(*changes)) as campaign:
        campaign.run()
    return read_campaign(folder)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return done(tmp_path_factory.mktemp("c"))


def test_it_is_the_papers_algorithm(finished):
    assert finished.ended == "budget"
    assert [r.labels for r in finished.measured_rounds()] == [10, 15, 20, 25]
    assert [len(r.asked) for r in finished.rounds] == [10, 5, 5, 5, 0]
    assert finished.rounds[0].purpose == "initial"
    assert {r.purpose for r in finished.rounds[1:-1]} == {"query"}
    asked = [i for r in finished.rounds for i in r.asked]
    assert len(set(asked)) == 25
    digits = data.load("digits")
    truth = dict(zip(digits.train.ids.tolist(), digits.train.labels.tolist(), strict=True))
    for r in finished.rounds:
        assert r.answers == {i: str(truth[i]) for i in r.asked}
    first = [truth[i] for i in finished.rounds[0].asked]
    assert sorted(first) == list(range(10))  # a balanced start
    pool = finished.split()["pool"]
    assert set(asked) <= set(pool.tolist())
    assert verify(finished.folder.path) == {finished.folder.path: []}


def test_a_round_is_what_the_library_gives_by_hand(finished):
    """Round 2 again, from the public functions alone."""
    digits, split = data.load("digits"), finished.split()
    given = [i for r in finished.rounds[:2] for i in r.asked]
    start, held = digits.train.take(given), digits.train.take(split["validation"])
    from versionspace.ensemble import Normalisation

    ensemble = Ensemble(
        "small", members=3, classes=10, seed=0, training=config().training_for(True), progress=False,
        normalisation=Normalisation.of(digits.train.take(split["pool"]).images),
    ).fit(start.images, start.labels, (held.images, held.labels), round=2)  # fmt: skip
    metrics = finished.rounds[2].metrics
    for name in ("test", "pool", "validation"):
        part = digits.train.take(split[name])
        probs, found = ensemble.predict_proba(part.images), metrics.sets[name]
        votes = probs.argmax(-1)
        right = votes == part.labels
        distance = vs.projection_distance(probs, part.labels)
        assert found.accuracy == right.mean()
        assert found.accuracy_deviation == pytest.approx(right.mean(axis=1).std(ddof=1), abs=1e-15)
        assert found.vote_accuracy == (vs.majority_vote(probs) == part.labels).mean()
        assert found.pwd == vs.pairwise_disagreement(votes)
        assert found.gvd == vs.gibbs_vote_disagreement(probs)
        assert found.gvd_hard == vs.gibbs_vote_disagreement(votes, vote="hard")
        assert found.agreement == vs.agreement_region(votes).mean()
        assert found.wrong_agreement == vs.wrong_agreement(votes, part.labels)
        assert found.gibbs_distance == distance.gibbs
        assert found.vote_distance == distance.vote
        assert 1 - found.accuracy == pytest.approx(found.wrong_agreement + found.gibbs_distance, abs=1e-12)
    assert metrics.diameter == metrics.sets["validation"].pwd
    assert metrics.fit == np.mean([h.fit for h in ensemble.history_])
    assert metrics.consistent == np.mean([h.fit == 1 for h in ensemble.history_])
    assert sum(metrics.classes.values()) == 15
    assert (finished.votes(2) == ensemble.votes(digits.train.take(split["test"]).images)).all()
    left = np.setdiff1d(split["pool"], given)
    scores = vs.utilities(
        "gvd", pool=ensemble.votes(digits.train.take(left).images), reference=ensemble.predict_proba(held.images)
    )
    assert finished.rounds[2].utilities == tuple(sorted(scores, reverse=True)[:5])
    assert {scores[np.flatnonzero(left == i)[0]] for i in finished.rounds[2].asked} == set(finished.rounds[2].utilities)


def test_again_is_the_same_and_another_seed_is_not(finished, tmp_path):
    again = done(tmp_path / "again")
    assert [(r.asked, r.utilities, r.metrics) for r in again.rounds] == [
        (r.asked, r.utilities, r.metrics) for r in finished.rounds
    ]
    assert done(tmp_path / "other", "seed=1").rounds[0].asked != finished.rounds[0].asked


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_and_starts_alike(method, finished, tmp_path):
    found = done(tmp_path, f"query.method={method}", "budget.total=15", "query.passes=3")
    assert found.ended == "budget"
    assert found.rounds[0].asked == finished.rounds[0].asked
    assert found.rounds[1].metrics.sets == finished.rounds[1].metrics.sets  # the same first ensemble
    assert len(set(found.rounds[1].asked)) == 5
    assert all(np.isfinite(found.rounds[1].utilities))


@pytest.mark.parametrize("method", ["bald", "coreset", "dfal", "batchbald"])
def test_single_network_methods_may_look_at_all_members(method, tmp_path):
    one = done(tmp_path / "one", f"query.method={method}", "budget.total=15", "query.passes=3")
    every = done(tmp_path / "all", f"query.method={method}", "budget.total=15", "query.passes=3", "query.member=all")
    assert one.rounds[1].utilities != every.rounds[1].utilities


def test_only_what_the_method_needs_is_computed(tmp_path, monkeypatch):
    called = []
    for name in ("features", "mc_dropout_proba", "perturbations", "predict_proba"):
        real = getattr(Ensemble, name)
        monkeypatch.setattr(
            Ensemble, name, lambda self, *a, _n=name, _r=real, **k: (called.append(_n), _r(self, *a, **k))[1]
        )
    for method, wanted in [
        ("gvd", set()),
        ("random", set()),
        ("coreset", {"features"}),
        ("bald", {"mc_dropout_proba"}),
    ]:
        called.clear()
        done(tmp_path / method, f"query.method={method}", "budget.total=15")
        assert set(called) - {"predict_proba"} == wanted
        assert called.count("predict_proba") == 2  # the reference, in each of the two rounds


def test_answers_may_be_few_late_corrected_and_skipped(tmp_path):
    with Campaign.create(tmp_path, config()) as campaign:
        first = campaign.propose()
        assert campaign.propose() == first  # committed, so it does not change
        a, b, c, *rest = first.ids
        campaign.accept({a: "3", b: None}, who="anna")
        assert campaign.propose().ids == (c, *rest)
        campaign.accept({a: 4}, who="ben")
        assert campaign.state.labels[a].name == "4"
        assert campaign.state.labels[a].who == "ben"
        campaign.close_round()
        second = campaign.propose()
        assert second.round == 1
        assert campaign.state.metrics[1].labels == 1
        assert b not in second.ids
        campaign.accept({c: 1})  # late: still taken
        assert campaign.state.training_labels() == {a: "4", c: "1"}


def test_ids_and_classes_may_be_numpys(tmp_path):
    with Campaign.create(tmp_path, config()) as campaign:
        ids = np.asarray(campaign.propose().ids)
        campaign.accept({i: np.int64(3) for i in ids})
        assert campaign.state.training_labels() == dict.fromkeys(ids.tolist(), "3")


def test_late_answers_may_exceed_the_budget_and_the_folder_is_whole(tmp_path):
    with Campaign.create(tmp_path, config("budget.total=15")) as campaign:
        first = campaign.propose().ids
        campaign.accept(dict.fromkeys(first[:5], 0))
        campaign.close_round()
        for proposal in campaign:
            campaign.accept(dict.fromkeys(proposal.ids, 1))
        late = [i for i in first if i not in campaign.state.labels]
        campaign.accept(dict.fromkeys(late, 2))
        assert campaign.state.spent() == 15 + len(late) > 15
        campaign.accept({first[0]: None})  # and one is taken back
        campaign.reopen()
        assert campaign.propose() is None
    assert verify(tmp_path) == {tmp_path: []}


def test_an_ask_beyond_the_budget_is_a_problem(tmp_path):
    with Campaign.create(tmp_path, config()) as campaign:
        ids = campaign.pictures.cut.askable()[:26]
        campaign.commit([proposed(0, 0, "initial", ids, np.zeros(26))])
    assert verify(tmp_path)[tmp_path] == ["event 3: asks for label 26 of a budget of 25"]


def test_bad_answers_are_refused_whole(tmp_path):
    with Campaign.create(tmp_path, config()) as campaign:
        a, b, *_ = campaign.propose().ids
        for wrong, said in [
            ({a: 3, b: 10}, "0 to 9"), ({a: 3, b: "ten"}, "one of 0, 1"), ({a: 3, -5: 1}, "-5"), ({a: True}, "True"),
            ({a: 1.5}, "1.5"), ({str(a): 1}, "asked for"),
        ]:  # fmt: skip
            with pytest.raises(InputError, match=said):
                campaign.accept(wrong)
        assert campaign.state.labels == {}


def test_a_loop_that_never_answers_is_told_so(tmp_path):
    with Campaign.create(tmp_path, config()) as campaign, pytest.raises(InputError, match="between proposals"):
        for _ in campaign:
            pass


def test_the_audit_cannot_be_closed(tmp_path):
    with Campaign.create(tmp_path, config("budget.audit=3")) as campaign:
        audit = campaign.propose()
        with pytest.raises(InputError, match="close_round: expected a round that may be closed, got the audit"):
            campaign.close_round()
        campaign.accept(dict.fromkeys(audit.ids))  # skipped: it goes on
        assert campaign.propose().purpose == "initial"
        campaign.close_round()
        assert campaign.propose().purpose == "cold start"


def test_images_of_closed_rounds_are_asked_again_once_there_are_no_others(tmp_path):
    changes = ("data.initial=0", "data.pool=20", "data.balanced=false", "cold_start.size=8", "budget.total=12")
    with Campaign.create(tmp_path, config(*changes)) as campaign:
        asked = []
        for _ in range(3):
            asked.append(campaign.propose().ids)
            campaign.close_round()
        assert [len(ids) for ids in asked] == [8, 8, 4]
        assert len({i for ids in asked for i in ids}) == 20  # all of the pool, once
        again = campaign.propose()
        assert (again.purpose, len(again.ids)) == ("cold start", 8)
        campaign.run()
        assert campaign.state.spent() == 12
    assert verify(tmp_path) == {tmp_path: []}


def test_skipped_images_are_not_asked_again_and_cost_nothing(tmp_path):
    found = done(tmp_path, "oracle.abstain=0.4")
    answers = [a for r in found.rounds for a in r.answers.values()]
    assert answers.count(None) > 3
    assert len(answers) - answers.count(None) == found.spent == 25
    asked = [i for r in found.rounds for i in r.asked]
    assert len(asked) == len(set(asked))


def test_noise_is_a_function_of_seed_and_image(tmp_path):
    noisy = done(tmp_path, "oracle.noise=0.5", "budget.total=15")
    digits = data.load("digits")
    wrong = [i for i, name in noisy.state.training_labels().items() if int(name) != digits.train.labels[i]]
    assert 1 <= len(wrong) <= 14


def test_the_pool_may_be_exhausted(tmp_path):
    found = done(tmp_path, "data.pool=17", "data.balanced=false", "budget.total=60")
    assert found.ended == "the pool is exhausted"
    assert found.spent == 17
    assert found.measured_rounds()[-1].labels == 17


def test_a_pool_of_one_image(tmp_path):
    toml = "[data]\nname='digits'\npool=1\nvalidation=20\ntest=0\ninitial=0\nbalanced=false\n[budget]\ntotal=5\n"
    with Campaign.create(tmp_path, parse_config(toml, "one", ["ensemble.members=2", "training.epochs=1"])) as campaign:
        campaign.run()
        assert campaign.state.ended == "the pool is exhausted"
        assert campaign.state.spent() == 1


def test_stop_rules_end_it(tmp_path):
    found = done(tmp_path / "a", "stop.when=budget(15) & flat(1, 1.0)")
    assert found.spent == 15
    assert found.ended.startswith("15 labels were given and the diameter changed by")
    with pytest.raises(InputError, match="flat"):
        done(tmp_path / "b", "stop.when=flit(3, 0.1)")


def test_the_audits_labels_do_not_count_for_a_rule_about_labels(tmp_path):
    found = done(tmp_path, "stop.when=budget(15)", "budget.audit=5")
    assert (found.measured_rounds()[-1].labels, found.spent) == (15, 20)


def test_a_rule_that_ended_it_no_longer_counts_when_it_is_reopened_with_a_budget(tmp_path):
    before = done(tmp_path, "stop.when=budget(15)")
    assert (before.ended, before.spent) == ("15 labels were given", 15)
    with Campaign.open(tmp_path) as campaign:
        campaign.reopen()
        assert campaign.propose() is None
        assert campaign.state.ended == "15 labels were given"  # trained once more, and the rule still holds
        campaign.reopen(20)
        campaign.run()
        assert (campaign.state.ended, campaign.state.spent()) == ("budget", 20)
        campaign.reopen(22)
    with Campaign.open(tmp_path) as campaign:
        campaign.run()
        assert (campaign.state.ended, campaign.state.spent()) == ("budget", 22)
    assert verify(tmp_path) == {tmp_path: []}


def test_a_rule_that_has_not_ended_it_still_counts_with_another_budget(tmp_path):
    done(tmp_path, "stop.when=budget(30)")
    with Campaign.open(tmp_path) as campaign:
        campaign.reopen(40)
        campaign.run()
        assert (campaign.state.ended, campaign.state.spent()) == ("30 labels were given", 30)


def test_the_audit_is_uniform_never_trained_on_and_paid_for(tmp_path):
    found = done(tmp_path, "budget.total=40", "budget.audit=15", "query.method=random")
    split = found.split()
    assert len(found.audit) == 15
    assert set(found.audit) == set(split["audit"].tolist())
    assert set(split["audit"].tolist()) <= set(split["pool"].tolist())
    asked = {i for r in found.rounds for i in r.asked}
    assert not asked & set(found.audit)
    assert found.spent == 40
    assert found.measured_rounds()[-1].labels == 25
    last = found.measured_rounds()[-1].metrics.audit
    assert last.images == 15
    assert 0 <= last.low <= last.accuracy <= last.high <= 1
    assert last.low < last.accuracy


def test_without_validation_distances_are_measured_on_images_that_are_never_asked(tmp_path):
    found = done(tmp_path, "data.validation=0", "budget.total=130", "query.size=60", "training.watch=training loss")
    split = found.split()
    assert len(split["reference"]) == 30  # a fifth of 150
    asked = {i for r in found.rounds for i in r.asked}
    assert not asked & set(split["reference"].tolist())
    assert found.ended == "the pool is exhausted"
    assert len(asked) == 120
    assert "validation" not in found.measured_rounds()[0].metrics.sets
    assert found.measured_rounds()[0].metrics.diameter == found.measured_rounds()[0].metrics.sets["reference"].pwd


def test_cold_start_asks_for_unlike_images_until_each_class_has_a_label(tmp_path):
    found = done(tmp_path, "data.initial=0", "budget.total=80")
    assert found.rounds[0].purpose == "cold start"
    first = found.measured_rounds()[0].metrics
    assert min(first.classes.values()) >= 1
    assert 10 <= first.labels <= 70


def test_cold_start_is_capped_with_a_warning(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        found = done(tmp_path, "data.initial=0", "cold_start.cap=4", "budget.total=20")
    assert found.measured_rounds()[0].labels == 4
    assert "no image of" in caplog.text


def test_nobody_can_say_anything_about_any_image(tmp_path):
    found = done(tmp_path, "oracle.abstain=1.0")
    assert found.spent == 0
    assert found.ended == "the pool is exhausted and no image has a label"


def test_weights_are_of_the_first_and_last_round_unless_all_are_wanted(tmp_path):
    def kept(folder):
        return sorted(p.name for p in folder.glob("weights/*"))

    done(tmp_path / "ends")
    done(tmp_path / "all", "keep=all")
    done(tmp_path / "none", "keep=none")
    assert kept(tmp_path / "ends") == ["round-0001", "round-0004"]
    assert len(kept(tmp_path / "all")) == 4
    assert kept(tmp_path / "none") == []
    for name in ("ends", "all", "none"):
        assert verify(tmp_path / name) == {tmp_path / name: []}
    last = Ensemble.load(tmp_path / "ends" / "weights" / "round-0004")
    images = data.load("digits").train.take(read_campaign(tmp_path / "ends").split()["test"]).images
    assert (last.votes(images) == read_campaign(tmp_path / "ends").votes(4)).all()


def test_a_second_process_and_another_config_are_refused(tmp_path):
    with Campaign.create(tmp_path, config()):
        with pytest.raises(LockedError):
            Campaign.open(tmp_path)
        with pytest.raises(InputError, match="budget.total: 25 before, 30 now"):
            Campaign.create(tmp_path, config("budget.total=30"))
    with Campaign.open(tmp_path) as campaign:
        assert campaign.propose().round == 0


def test_other_versions_are_refused_unless_accepted(tmp_path, monkeypatch):
    from versionspace.campaign import environment as module

    with Campaign.create(tmp_path, config()) as campaign:
        campaign.propose()
    real = module._version
    monkeypatch.setattr(module, "_version", lambda name: "9.9" if name == "torch" else real(name))
    with pytest.raises(StoreError, match="torch .* before, 9.9 now"):
        Campaign.open(tmp_path)
    Campaign.open(tmp_path, accept_different=True).close()


def test_other_group_sizes_are_refused(tmp_path, monkeypatch):
    from versionspace.ensemble import settings as sizes

    Campaign.create(tmp_path, config()).close()
    monkeypatch.setitem(sizes.SIZES, "small", sizes.Sizes(group=1, images=7))
    with pytest.raises(StoreError, match="group.*--accept-different"):
        Campaign.open(tmp_path)
    Campaign.open(tmp_path, accept_different=True).close()
    with Ledger.view(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.events()[-1].environment["sizes"] == {"group": 1, "images": 7}


def test_a_campaign_killed_before_its_ledger_was_created_begins_again(tmp_path):
    Campaign.create(tmp_path, config()).close()
    for file in (*tmp_path.glob("ledger.sqlite*"), tmp_path / "split.npz"):
        file.unlink()
    (tmp_path / ".ledger.sqlite.0123.new").touch()
    with Campaign.create(tmp_path, config()) as campaign:
        assert campaign.propose() is not None


def test_a_person_may_label_a_named_dataset_by_classes_of_her_own(tmp_path):
    wanted = config("oracle.kind=person", 'data.classes=["even", "odd"]')
    with Campaign.create(tmp_path, wanted) as campaign:
        assert campaign.dataset.classes == ("even", "odd")


def test_the_sizes_that_are_written_down_are_those_of_the_images(tmp_path):
    """Images larger than the table's go in fewer at once: that moves bits, and is held on resume."""
    from PIL import Image

    (tmp_path / "photos").mkdir()
    for i in range(30):
        Image.new("RGB", (8, 8), (i, 0, 0)).save(tmp_path / "photos" / f"{i:02}.png")
    for size, images in ((32, 512), (64, 128)):
        toml = f"""
[data]
name = "{tmp_path / "photos"}"
classes = ["a", "b"]
size = {size}
[ensemble]
net = "small"
[budget]
total = 10
[oracle]
kind = "person"
"""
        with Campaign.create(tmp_path / str(size), config(toml=toml)) as campaign:
            assert campaign.state.begun["sizes"] == {"group": 10, "images": images}


def test_a_network_of_ones_own(tmp_path):
    found = done(tmp_path, "ensemble.net=nets.test_stacks:Viewing", "budget.total=15")
    assert found.ended == "budget"
    for wrong in ("nets.test_stacks:Nothing", "no_such_module:x"):
        with pytest.raises(InputError, match="can be imported"):
            done(tmp_path / wrong, f"ensemble.net={wrong}")


def test_kappa_compares_with_the_round_before(finished):
    from versionspace.campaign.metrics import kappa
    from versionspace.store import read_arrays

    votes = [read_arrays(finished.folder.votes(r))["reference_vote"] for r in (1, 2)]
    assert finished.rounds[1].metrics.kappa is None
    assert finished.rounds[2].metrics.kappa == kappa(*votes)


def test_a_folder_with_a_person(tmp_path):
    """Sub-folders that are not among her classes are only folders; the images are asked by their content's hash."""
    digits = data.load("digits").train
    for i in range(60):
        place = tmp_path / "photos" / ("2021" if i % 2 else "2022")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(digits.images[i, ..., 0]).save(place / f"{i}.png")
    toml = f"""
[data]
name = "{tmp_path / "photos"}"
classes = ["even", "odd"]
size = 8
channels = 1
[ensemble]
members = 3
[training]
epochs = 3
[query]
size = 4
[budget]
total = 20
audit = 5
[oracle]
kind = "person"
"""
    with Campaign.create(tmp_path / "c", parse_config(toml, "photos")) as campaign:
        purposes = []
        for proposal in campaign:
            purposes.append(proposal.purpose)
            truth = [int(digits.labels[int(file.split("/")[1][:-4])]) for file in proposal.files]
            campaign.accept({i: ("even", "odd")[t % 2] for i, t in zip(proposal.ids, truth, strict=True)}, who="anna")
        with pytest.raises(InputError, match="versionspace label"):
            campaign.oracle()
    found = read_campaign(tmp_path / "c")
    assert purposes[:2] == ["audit", "cold start"]
    assert purposes[-1] == "query"
    assert found.spent == 20
    assert found.measured_rounds()[-1].metrics.sets["pool"].accuracy is None
    assert found.measured_rounds()[-1].metrics.audit.images == 5
    assert verify(tmp_path / "c") == {tmp_path / "c": []}
    from typer.testing import CliRunner

    from versionspace.campaign.export import export_labels, exported_labels
    from versionspace.cli.main import app
    from versionspace.label.label_studio import choices

    words = ["export", str(tmp_path / "c"), "--labels", "label-studio", "--out", str(tmp_path / "ls.json")]
    assert CliRunner().invoke(app, words).exit_code == 0
    exported = choices(json.loads((tmp_path / "ls.json").read_text()))
    assert {one.files[0]: one.name for one in exported} == {one.file: one.name for one in exported_labels(found)}
    first = next(iter(found.state.training_labels()))
    with Campaign.open(tmp_path / "c") as campaign:
        campaign.accept({first: None}, shown={"reason": "undone"})
    assert len(exported_labels(read_campaign(tmp_path / "c"))) == 19  # what was undone is not an answer
    export_labels(found, "imagefolder", tmp_path / "out")
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"even", "odd"}
    assert len(list((tmp_path / "out").rglob("*.png"))) == 20


@pytest.mark.parametrize("kind", ["labels", "person"])
@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("change", ["renamed", "added"])
def test_a_folder_whose_classes_are_others_than_at_the_start_is_refused(kind, ended, change, tmp_path):
    """Truth is numbers of today's classes, in their order: they would mean others."""
    photos = class_folders(tmp_path / "photos")
    wanted = of_folder(photos, f"oracle.kind={kind}", f"budget.total={3 if ended else 9}")
    with Campaign.create(tmp_path / "c", wanted) as campaign:
        while not campaign.state.metrics:
            ids = campaign.propose().ids
            campaign.accept(campaign.oracle().answer(ids))
            campaign.propose()
        assert bool(campaign.state.ended) == ended
    if change == "renamed":
        (photos / "class1").rename(photos / "zebra")
    else:
        (photos / "apples").mkdir()
        shutil.copyfile(next((photos / "class1").iterdir()), photos / "apples" / "1.png")
    with pytest.raises(StoreError, match="classes: expected class1, class2, class3, as when the campaign began"):
        Campaign.open(tmp_path / "c")
    if change == "renamed":
        (photos / "zebra").rename(photos / "class1")
        with Campaign.open(tmp_path / "c") as campaign:
            campaign.run()


@pytest.mark.parametrize("method", ["gvd", "bald", "coreset", "dfal"])
def test_heads_on_a_pretrained_backbone(method, tmp_path):
    found = done(tmp_path, "ensemble.net=heads", "training={}", f"query.method={method}", "budget.total=15")
    assert found.ended == "budget"
    assert found.measured_rounds()[-1].metrics.fit > 0.99
    assert found.measured_rounds()[-1].metrics.sets["test"].accuracy > 0.3
    again = done(tmp_path / "again", "ensemble.net=heads", "training={}", f"query.method={method}", "budget.total=15")
    assert [r.metrics for r in again.rounds] == [r.metrics for r in found.rounds]


def test_a_finished_campaign_goes_on_with_a_larger_budget(tmp_path):
    before = done(tmp_path / "c")
    with Campaign.open(tmp_path / "c") as campaign:
        assert campaign.propose() is None
        with pytest.raises(InputError, match="at least 25"):
            campaign.reopen(24)
        campaign.reopen(32)
        campaign.run()
    after = read_campaign(tmp_path / "c")
    assert (after.budget, after.spent, after.ended) == (32, 32, "budget")
    assert after.rounds[: len(before.rounds) - 1] == before.rounds[:-1], "what was done stays"
    assert [r.labels for r in after.measured_rounds()] == [10, 15, 20, 25, 25, 30, 32]
    assert verify(tmp_path / "c") == {tmp_path / "c": []}


def test_labels_corrected_after_the_end_are_learnt_when_it_is_reopened(tmp_path):
    image = done(tmp_path / "c").rounds[0].asked[0]
    with Campaign.open(tmp_path / "c") as campaign:
        campaign.accept({image: "3" if campaign.state.labels[image].name != "3" else "4"})
        assert campaign.propose() is None
        campaign.reopen()
        assert campaign.propose() is None
    after = read_campaign(tmp_path / "c")
    assert [r.labels for r in after.measured_rounds()] == [10, 15, 20, 25, 25]
    assert after.measured_rounds()[-1].metrics.classes != after.measured_rounds()[-2].metrics.classes
    assert after.ended == "budget"


def test_an_answer_counts_in_the_round_in_which_it_was_given(tmp_path):
    """Images of a round that was closed come back: they are asked twice and answered once."""
    with Campaign.create(tmp_path, config("data.pool=20", "query.size=10", "data.initial=10", "budget.total=30")) as c:
        oracle = c.oracle()
        c.accept(oracle.answer(c.propose().ids))
        c.accept(oracle.answer(c.propose().ids[:3]))
        c.close_round()
        c.run()
    found = read_campaign(tmp_path)
    assert sum(len(r.asked) for r in found.rounds) > found.spent == 20
    assert sum(len(r.answers) for r in found.rounds) == found.spent
    assert len(found.rounds[1].answers) == 3
    for r in found.rounds:
        assert all(found.state.labels[i].round == r.number for i in r.answers)
