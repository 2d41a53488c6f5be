"""A query method from outside: one function and one row serve `query`, `run` and `report`."""

import numpy as np
import pytest

import versionspace as vs
from campaign.tiny import config
from versionspace import report
from versionspace.query import TABLE


def highest_class(problem):
    """Return the class that the first member votes for, as the utility."""
    return problem.beliefs().votes[0].astype(np.float64)


@pytest.fixture
def method():
    """The name of a method that is registered during the test."""
    row = vs.Method(
        "highest-class", "Highest class", "example", "vote of member 0", "none", "N", highest_class, pool="votes"
    )
    vs.register(row)
    yield row.name
    del TABLE[row.name]


def test_a_registered_method_is_queried_run_and_reported(method, tmp_path):
    assert vs.query(method, 1, pool=[[0, 2, 1], [0, 0, 0]], seed=0).tolist() == [1]
    settings = config("budget.total=15")
    made = vs.run(settings, methods=[method, "random"], seeds=[0], out=tmp_path / "runs", progress=False)
    assert not made.failed
    assert {(c.method, c.ended) for c in made.campaigns()} == {(method, "budget"), ("random", "budget")}
    page = report.make(tmp_path / "runs", tmp_path / "report", images=False).read_text()
    assert "Highest class" in page
