"""Methods that are one where members are few are named as such."""

import dataclasses

import pytest

from campaign.tiny import config
from versionspace.campaign import run
from versionspace.campaign.metrics import alike, said
from versionspace.cli.summary import notes


@pytest.fixture(scope="module")
def two_members(tmp_path_factory):
    """Whatever divides two members ends all doubt of both kinds: methods by splits have no choice left."""
    wanted = config("ensemble.members=2", "budget.total=20")
    out = tmp_path_factory.mktemp("runs")
    return run(wanted, methods=["ge", "pwd", "random"], seeds=[0, 1], out=out, progress=False).campaigns()


def test_methods_that_asked_for_the_same_images_are_named(two_members):
    assert alike(two_members) == {("ge", "pwd"): [0, 1]}
    (sentence,) = said(two_members, str.upper)
    assert sentence.startswith("GE and PWD asked for the same images in every query (seed 0, 1):")
    assert "2 members are too few" in sentence
    assert said(two_members)[0] in notes(two_members)


def changed(record, **changes):
    return dataclasses.replace(record, rounds=tuple(dataclasses.replace(r, **changes) for r in record.rounds))


def test_the_same_images_by_merit_are_no_lot(two_members):
    """As where a query takes all that is left of a pool."""
    one, other = (r for r in two_members if r.method in ("ge", "pwd") and r.seed == 0)
    falling = tuple(float(-i) for i in range(5))
    assert alike([one, changed(other, utilities=falling)]) == {}
    assert alike([one, other]) == {("ge", "pwd"): [0]}


def test_other_images_or_none_are_not_the_same(two_members):
    one, other = (r for r in two_members if r.method in ("ge", "pwd") and r.seed == 0)
    rest = tuple(range(1000, 1005))
    assert alike([one, changed(other, asked=rest)]) == {}
    assert alike([changed(one, asked=()), changed(other, asked=())]) == {}
    assert said([]) == []
