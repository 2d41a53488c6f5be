"""Estimates of time, memory and disk before a run."""

import pytest

from campaign.tiny import config
from versionspace.campaign.estimate import plan
from versionspace.errors import InputError


def test_the_pool_limits_the_number_of_rounds():
    found = plan(config("budget.total=100000", "budget.audit=20"), ["random"])
    assert (found.labels, found.rounds) == (150, 25)  # 10 first labels, then 5 a round up to 130; 20 of the audit
    assert plan(config(), ["random"]).labels == 25


def test_a_floor_above_the_rate_ends_training_on_the_first_plateau():
    found = plan(config("training.floor=0.1", "training.epochs=100"), ["random"])
    assert found.likely_epochs == 30  # three times the patience of 10
    assert 0 < found.seconds <= found.most_seconds


@pytest.mark.parametrize(
    ("changes", "methods", "said"),
    [
        ([], ["gvdd"], "Did you mean 'gvd'"), (["query.member=all"], ["gvd", "badge"], "since badge uses one"),
        (["query.member=7"], ["gvd"], "0 to 2"), (["data.pool=99999"], ["gvd"], "too few"),
        (["stop.when=audit(0.9)"], ["gvd"], "an audit"),
    ],
)  # fmt: skip
def test_a_campaign_that_cannot_run_is_rejected(changes, methods, said):
    with pytest.raises(InputError, match=said):
        plan(config(*changes), methods)
