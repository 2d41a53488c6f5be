"""One round: what it trains, measures, asks for and saves."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import versionspace as vs
from campaign.tiny import config, run_campaign
from versionspace import data
from versionspace.campaign import Campaign, choice
from versionspace.ensemble import Ensemble
from versionspace.errors import InputError
from versionspace.query import METHODS
from versionspace.store import read_campaign, verify


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run_campaign(tmp_path_factory.mktemp("c"))


def test_a_round_equals_a_computation_with_the_public_functions(finished):
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
        probs, found = ensemble.predict_proba(part.images, members=True), metrics.sets[name]
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
        "gvd",
        pool=ensemble.votes(digits.train.take(left).images),
        reference=ensemble.predict_proba(held.images, members=True),
    )
    assert finished.rounds[2].utilities == tuple(sorted(scores, reverse=True)[:5])
    assert {scores[np.flatnonzero(left == i)[0]] for i in finished.rounds[2].asked} == set(finished.rounds[2].utilities)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_from_the_same_start(method, finished, tmp_path):
    found = run_campaign(tmp_path, f"query.method={method}", "budget.total=15", "query.passes=3")
    assert found.ended == "budget"
    assert found.rounds[0].asked == finished.rounds[0].asked
    assert found.rounds[1].metrics.sets == finished.rounds[1].metrics.sets  # the same first ensemble
    assert len(set(found.rounds[1].asked)) == 5
    assert all(np.isfinite(found.rounds[1].utilities))


@pytest.mark.parametrize("method", ["bald", "coreset", "dfal", "batchbald"])
def test_single_network_methods_can_use_all_members(method, tmp_path):
    one = run_campaign(tmp_path / "one", f"query.method={method}", "budget.total=15", "query.passes=3")
    every = run_campaign(
        tmp_path / "all", f"query.method={method}", "budget.total=15", "query.passes=3", "query.member=all"
    )
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
        run_campaign(tmp_path / method, f"query.method={method}", "budget.total=15")
        assert set(called) - {"predict_proba"} == wanted
        assert called.count("predict_proba") == 2  # the reference, in each of the two rounds


def test_the_audit_is_never_trained_on_and_counts_towards_the_budget(tmp_path):
    found = run_campaign(tmp_path, "budget.total=40", "budget.audit=15", "query.method=random")
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


def test_without_validation_the_reference_is_held_out_of_the_pool(tmp_path):
    found = run_campaign(
        tmp_path, "data.validation=0", "budget.total=130", "query.size=60", "training.watch=training loss"
    )
    split = found.split()
    assert len(split["reference"]) == 30  # a fifth of 150
    asked = {i for r in found.rounds for i in r.asked}
    assert not asked & set(split["reference"].tolist())
    assert found.ended == "the pool is exhausted"
    assert len(asked) == 120
    assert "validation" not in found.measured_rounds()[0].metrics.sets
    assert found.measured_rounds()[0].metrics.diameter == found.measured_rounds()[0].metrics.sets["reference"].pwd


def test_keep_decides_whose_weights_stay(tmp_path):
    def kept(folder):
        return sorted(p.name for p in folder.glob("weights/*"))

    run_campaign(tmp_path / "ends")
    run_campaign(tmp_path / "all", "keep=all")
    run_campaign(tmp_path / "none", "keep=none")
    assert kept(tmp_path / "ends") == ["round-0001", "round-0004"]
    assert len(kept(tmp_path / "all")) == 4
    assert kept(tmp_path / "none") == []
    for name in ("ends", "all", "none"):
        assert verify(tmp_path / name) == {tmp_path / name: []}
    last = Ensemble.load(tmp_path / "ends" / "weights" / "round-0004")
    images = data.load("digits").train.take(read_campaign(tmp_path / "ends").split()["test"]).images
    assert (last.votes(images) == read_campaign(tmp_path / "ends").votes(4)).all()


def test_a_custom_network_is_imported_by_its_path(tmp_path):
    found = run_campaign(tmp_path, "ensemble.net=nets.test_stacks:Viewing", "budget.total=15")
    assert found.ended == "budget"
    for wrong in ("nets.test_stacks:Nothing", "no_such_module:x"):
        with pytest.raises(InputError, match="can be imported"):
            run_campaign(tmp_path / wrong, f"ensemble.net={wrong}")


def test_kappa_compares_with_the_round_before(finished):
    from versionspace.campaign.metrics import kappa
    from versionspace.store import read_arrays

    votes = [read_arrays(finished.folder.votes(r))["reference_vote"] for r in (1, 2)]
    assert finished.rounds[1].metrics.kappa is None
    assert finished.rounds[2].metrics.kappa == kappa(*votes)


@pytest.mark.parametrize("method", ["gvd", "bald", "coreset", "dfal"])
def test_heads_on_a_pretrained_backbone(method, tmp_path):
    changes = ("ensemble.net=heads", "training={}", f"query.method={method}", "budget.total=15")
    found = run_campaign(tmp_path, *changes)
    assert found.ended == "budget"
    assert found.measured_rounds()[-1].metrics.fit > 0.99
    assert found.measured_rounds()[-1].metrics.sets["test"].accuracy > 0.3
    again = run_campaign(
        tmp_path / "again", "ensemble.net=heads", "training={}", f"query.method={method}", "budget.total=15"
    )
    assert [r.metrics for r in again.rounds] == [r.metrics for r in found.rounds]


def test_the_number_of_threads_changes_no_choice_of_a_coverage_method():
    """In new processes: the number of BLAS threads is read when NumPy is imported."""
    code = (
        "import sys, numpy as np\n"
        "from versionspace.campaign.cold_start import choose_first\n"
        "from campaign.tiny import config\n"
        "class Given:\n"
        "    features = np.random.default_rng(0).normal(size=(2_000, 300)).astype(np.float32)\n"
        "    def of(self, ids): return self.features[ids]\n"
        "chosen, utilities = choose_first(config(), Given(), np.arange(2_000), np.arange(0), 20, seed=0)\n"
        "print(chosen.tolist(), utilities.tobytes().hex())\n"
    )
    tests, printed = Path(__file__).parents[1], set()
    paths = os.pathsep.join([str(tests), str(Path(vs.__file__).parents[1])])
    for threads in "12":
        env = os.environ | {"OPENBLAS_NUM_THREADS": threads, "PYTHONPATH": paths}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        printed.add(done.stdout)
    assert len(printed) == 1


@pytest.mark.parametrize("source", ["members", "pixels", "lite0"])
def test_networks_on_pixels_can_measure_coverage_in_any_features(source, tmp_path):
    changes = ("query.method=pwd-cover", f"query.features={source}", "budget.total=20", "ensemble.members=2")
    found = run_campaign(tmp_path, *changes)
    assert found.ended == "budget"
    with Campaign.open(tmp_path) as campaign:
        features = campaign.runner.features
        assert features.source == {"members": "pixels"}.get(source, source), "a cold start has no members"
        width = {"lite0": 1280}.get(source, 64)
        assert features.of(campaign.images.roles.pool[:3]).shape == (3, width)


def test_an_unknown_source_of_features_is_rejected():
    with pytest.raises(InputError, match=r"query.features: expected one of auto, members, pixels, lite0.*got 'lte0'"):
        config("query.features=lte0")


def test_a_coverage_method_measures_distances_in_features_of_several_members(tmp_path, monkeypatch):
    seen = []
    original = choice.query
    monkeypatch.setattr(
        choice,
        "query",
        lambda *given, **inputs: seen.append(inputs["features"].shape) or original(*given, **inputs),
    )
    run_campaign(tmp_path / "cover", "query.method=pwd-cover", "budget.total=15", "ensemble.members=3")
    run_campaign(tmp_path / "coreset", "query.method=coreset", "budget.total=15", "ensemble.members=3")
    (covered, *_), (distant, *_) = seen[:1], seen[-1:]
    assert covered[1] == 3 * distant[1]
