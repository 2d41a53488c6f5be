"""The loop of a campaign: what it proposes and accepts, and how it ends, resumes and is reopened."""

import json

import numpy as np
import pytest
from PIL import Image

from campaign.tiny import config, run_campaign
from versionspace import data
from versionspace.campaign import Campaign
from versionspace.campaign.round import proposal_event
from versionspace.config import parse_config
from versionspace.errors import InputError
from versionspace.store import LockedError, read_campaign, verify


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run_campaign(tmp_path_factory.mktemp("c"))


def test_the_campaign_follows_the_algorithm_of_the_paper(finished):
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


def test_the_seed_determines_the_result(finished, tmp_path):
    again = run_campaign(tmp_path / "again")
    assert [(r.asked, r.utilities, r.metrics) for r in again.rounds] == [
        (r.asked, r.utilities, r.metrics) for r in finished.rounds
    ]
    assert run_campaign(tmp_path / "other", "seed=1").rounds[0].asked != finished.rounds[0].asked


def test_answers_may_be_partial_late_corrected_or_skipped(tmp_path):
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


def test_numpy_ids_and_classes_are_accepted(tmp_path):
    with Campaign.create(tmp_path, config()) as campaign:
        ids = np.asarray(campaign.propose().ids)
        campaign.accept({i: np.int64(3) for i in ids})
        assert campaign.state.training_labels() == dict.fromkeys(ids.tolist(), "3")


def test_late_answers_may_exceed_the_budget_and_the_folder_still_verifies(tmp_path):
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


def test_verify_reports_an_ask_that_exceeds_the_budget(tmp_path):
    with Campaign.create(tmp_path, config()) as campaign:
        ids = campaign.images.roles.askable()[:26]
        campaign.commit([proposal_event(0, 0, "initial", ids, np.zeros(26))])
    assert verify(tmp_path)[tmp_path] == ["event 3: asks for label 26 of a budget of 25"]


def test_invalid_answers_are_rejected_and_none_is_committed(tmp_path):
    with Campaign.create(tmp_path, config()) as campaign:
        a, b, *_ = campaign.propose().ids
        for wrong, said in [
            ({a: 3, b: 10}, "0 to 9"), ({a: 3, b: "ten"}, "one of 0, 1"), ({a: 3, -5: 1}, "-5"), ({a: True}, "True"),
            ({a: 1.5}, "1.5"), ({str(a): 1}, "asked for"),
        ]:  # fmt: skip
            with pytest.raises(InputError, match=said):
                campaign.accept(wrong)
        assert campaign.state.labels == {}


def test_iterating_without_answering_raises(tmp_path):
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


def test_images_of_closed_rounds_are_asked_again_when_no_others_are_left(tmp_path):
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
    found = run_campaign(tmp_path, "oracle.abstain=0.4")
    answers = [a for r in found.rounds for a in r.answers.values()]
    assert answers.count(None) > 3
    assert len(answers) - answers.count(None) == found.spent == 25
    asked = [i for r in found.rounds for i in r.asked]
    assert len(asked) == len(set(asked))


def test_noise_is_a_function_of_seed_and_image(tmp_path):
    noisy = run_campaign(tmp_path, "oracle.noise=0.5", "budget.total=15")
    digits = data.load("digits")
    wrong = [i for i, name in noisy.state.training_labels().items() if int(name) != digits.train.labels[i]]
    assert 1 <= len(wrong) <= 14


def test_a_campaign_ends_when_the_pool_is_exhausted(tmp_path):
    found = run_campaign(tmp_path, "data.pool=17", "data.balanced=false", "budget.total=60")
    assert found.ended == "the pool is exhausted"
    assert found.spent == 17
    assert found.measured_rounds()[-1].labels == 17


def test_a_pool_of_one_image(tmp_path):
    toml = "[data]\nname='digits'\npool=1\nvalidation=20\ntest=0\ninitial=0\nbalanced=false\n[budget]\ntotal=5\n"
    with Campaign.create(tmp_path, parse_config(toml, "one", ["ensemble.members=2", "training.epochs=1"])) as campaign:
        campaign.run()
        assert campaign.state.ended == "the pool is exhausted"
        assert campaign.state.spent() == 1


def test_a_stop_rule_ends_the_campaign(tmp_path):
    found = run_campaign(tmp_path / "a", "stop.when=budget(15) & flat(1, 1.0)")
    assert found.spent == 15
    assert found.ended.startswith("15 labels were given and the diameter changed by")
    with pytest.raises(InputError, match="flat"):
        run_campaign(tmp_path / "b", "stop.when=flit(3, 0.1)")


def test_a_budget_rule_does_not_count_the_labels_of_the_audit(tmp_path):
    found = run_campaign(tmp_path, "stop.when=budget(15)", "budget.audit=5")
    assert (found.measured_rounds()[-1].labels, found.spent) == (15, 20)


def test_reopening_with_a_budget_disables_the_rule_that_ended_the_campaign(tmp_path):
    before = run_campaign(tmp_path, "stop.when=budget(15)")
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


def test_a_rule_that_did_not_end_the_campaign_still_counts_after_reopening(tmp_path):
    run_campaign(tmp_path, "stop.when=budget(30)")
    with Campaign.open(tmp_path) as campaign:
        campaign.reopen(40)
        campaign.run()
        assert (campaign.state.ended, campaign.state.spent()) == ("30 labels were given", 30)


def test_cold_start_takes_two_labels_a_class_but_at_most_a_share_of_the_budget(tmp_path):
    found = run_campaign(tmp_path, "data.initial=0", "budget.total=80")
    assert [r.purpose for r in found.rounds[:2]] == ["cold start", "query"]
    assert found.measured_rounds()[0].metrics.labels == 12  # 15% of 80


def test_cold_start_has_the_size_and_method_of_the_config(tmp_path):
    changes = ("data.initial=0", "cold_start.size=7", "budget.total=20", "query.method=random")
    herded = run_campaign(tmp_path / "herded", *changes)
    drawn = run_campaign(tmp_path / "drawn", *changes, "cold_start.method=random")
    assert herded.measured_rounds()[0].metrics.labels == drawn.measured_rounds()[0].metrics.labels == 7
    assert set(herded.rounds[0].asked) != set(drawn.rounds[0].asked)


def test_a_herded_cold_start_sees_more_classes_than_a_random_one(tmp_path):
    def classes_seen(method, seed):
        changes = ("data.initial=0", "cold_start.size=10", "data.pool=600", f"cold_start.method={method}")
        with Campaign.create(tmp_path / f"{method}-{seed}", config(*changes, f"seed={seed}")) as campaign:
            return len(set(campaign.oracle().answer(campaign.propose().ids).values()))

    seen = {method: [classes_seen(method, seed) for seed in range(3)] for method in ("maxherding", "random")}
    assert sum(seen["maxherding"]) >= sum(seen["random"]) + 3


def test_cold_start_continues_where_images_were_skipped(tmp_path):
    found = run_campaign(tmp_path, "data.initial=0", "cold_start.size=8", "oracle.abstain=0.4", "budget.total=20")
    assert len(found.rounds[0].asked) > 8
    assert found.measured_rounds()[0].metrics.labels == 8


def test_a_campaign_ends_when_every_image_is_skipped(tmp_path):
    found = run_campaign(tmp_path, "oracle.abstain=1.0")
    assert found.spent == 0
    assert found.ended == "the pool is exhausted and no image has a label"


def test_a_second_process_and_a_changed_config_are_rejected(tmp_path):
    with Campaign.create(tmp_path, config()):
        with pytest.raises(LockedError):
            Campaign.open(tmp_path)
        with pytest.raises(InputError, match="budget.total: 25 before, 30 now"):
            Campaign.create(tmp_path, config("budget.total=30"))
    with Campaign.open(tmp_path) as campaign:
        assert campaign.propose().round == 0


def test_a_campaign_killed_before_its_ledger_was_created_begins_anew(tmp_path):
    Campaign.create(tmp_path, config()).close()
    for file in (*tmp_path.glob("ledger.sqlite*"), tmp_path / "split.npz"):
        file.unlink()
    (tmp_path / ".ledger.sqlite.0123.new").touch()
    with Campaign.create(tmp_path, config()) as campaign:
        assert campaign.propose() is not None


def test_a_person_may_label_a_published_dataset_with_other_classes(tmp_path):
    wanted = config("oracle.kind=person", 'data.classes=["even", "odd"]')
    with Campaign.create(tmp_path, wanted) as campaign:
        assert campaign.dataset.classes == ("even", "odd")


def test_a_person_labels_a_folder_of_images(tmp_path):
    """Sub-folders that are not named after classes are no labels; ids are hashes of the content."""
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
    assert len(exported_labels(read_campaign(tmp_path / "c"))) == 19  # an answer that was undone does not count
    export_labels(found, "imagefolder", tmp_path / "out")
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"even", "odd"}
    assert len(list((tmp_path / "out").rglob("*.png"))) == 20


def test_a_finished_campaign_continues_with_a_larger_budget(tmp_path):
    before = run_campaign(tmp_path / "c")
    with Campaign.open(tmp_path / "c") as campaign:
        assert campaign.propose() is None
        with pytest.raises(InputError, match="at least 25"):
            campaign.reopen(24)
        campaign.reopen(32)
        campaign.run()
    after = read_campaign(tmp_path / "c")
    assert (after.budget, after.spent, after.ended) == (32, 32, "budget")
    assert after.rounds[: len(before.rounds) - 1] == before.rounds[:-1], "recorded rounds do not change"
    assert [r.labels for r in after.measured_rounds()] == [10, 15, 20, 25, 25, 30, 32]
    assert verify(tmp_path / "c") == {tmp_path / "c": []}


def test_reopening_trains_on_labels_that_were_corrected_after_the_end(tmp_path):
    image = run_campaign(tmp_path / "c").rounds[0].asked[0]
    with Campaign.open(tmp_path / "c") as campaign:
        campaign.accept({image: "3" if campaign.state.labels[image].name != "3" else "4"})
        assert campaign.propose() is None
        campaign.reopen()
        assert campaign.propose() is None
    after = read_campaign(tmp_path / "c")
    assert [r.labels for r in after.measured_rounds()] == [10, 15, 20, 25, 25]
    assert after.measured_rounds()[-1].metrics.classes != after.measured_rounds()[-2].metrics.classes
    assert after.ended == "budget"


def test_an_answer_belongs_to_the_round_in_which_it_was_given(tmp_path):
    """Unanswered images of a closed round are asked again: asked twice, answered once."""
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
