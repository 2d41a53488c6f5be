"""The oracle protocol: any object with an ``answer`` method can label a campaign's images."""

import tempfile

from versionspace.campaign.campaign import Campaign
from versionspace.config import read_config
from versionspace.data import load
from versionspace.oracle import Oracle, Simulated


class Named:
    """Answers with names of classes, from a table, and skips what is not in it."""

    def __init__(self, names):
        self.names = names

    def answer(self, ids):
        return {i: self.names.get(i) for i in ids}


def test_what_is_an_oracle():
    assert isinstance(Simulated([1], [0], classes=2), Oracle)
    assert isinstance(Named({}), Oracle)
    assert not isinstance(object(), Oracle)


def test_a_campaign_accepts_the_answers_of_any_oracle():
    digits = load("digits")
    names = {i: digits.classes[label] for i, label in enumerate(digits.train.labels.tolist()) if i % 3}
    oracle: Oracle = Named(names)
    config = read_config("demo", ["ensemble.members=2", "training.epochs=2", "budget.total=20"])
    with tempfile.TemporaryDirectory() as folder, Campaign.create(folder, config) as campaign:
        proposal = campaign.propose()
        campaign.accept(oracle.answer(proposal.ids))
        labels = {i: campaign.state.labels[i].name for i in proposal.ids}
    assert labels == {i: names.get(i) for i in proposal.ids}
    assert None in labels.values()
    assert set(labels.values()) - {None}
