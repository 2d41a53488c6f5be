"""The table of query methods can be extended from outside, and every consumer sees the new row."""

import numpy as np
import pytest

import versionspace as vs
from versionspace.config import Config
from versionspace.query import METHODS, TABLE, Method, Selection, find, names, register


def share_of_class_0(problem):
    return (problem.beliefs().votes == 0).mean(axis=0)


def head_of_the_pool(problem, k):
    return Selection(np.arange(k), np.zeros(k))


@pytest.fixture(autouse=True)
def _restored_table():
    before = dict(TABLE)
    yield
    TABLE.clear()
    TABLE.update(before)


def method(name="class-0", score=share_of_class_0, choose=None, pool="votes"):
    return Method(name, "Class 0", "example", "share of votes for class 0", "none", "M·N", score, choose, pool=pool)


POOL = [[1, 0, 0], [1, 1, 0]]


def test_a_registered_method_works_like_a_built_in_one():
    register(method())
    assert names() == (*METHODS, "class-0")
    assert find("class-0").label == "Class 0"
    assert vs.utilities("class-0", pool=POOL).tolist() == [0.0, 0.5, 1.0]
    assert vs.query("class-0", 2, pool=POOL, ids=["a", "b", "c"]).tolist() == ["c", "b"]
    stream = vs.Stream("class-0", 1)
    for column in range(3):
        stream.add([[row[column]] for row in POOL])
    assert stream.result().tolist() == [2]


def test_a_config_accepts_a_registered_method_and_suggests_it():
    values = {"data": {"name": "digits"}, "budget": {"total": 50}}
    custom = {"query": {"method": "class-0"}, "grid": {"methods": ["class-0", "gvd"]}}
    with pytest.raises(ValueError, match="one of random, vr"):
        Config.model_validate(values | custom)
    register(method())
    config = Config.model_validate(values | custom)
    assert config.campaign("class-0", 3).query.method == "class-0"
    with pytest.raises(ValueError, match="typiclust, class-0"):
        Config.model_validate(values | {"query": {"method": "class-1"}})
    with pytest.raises(vs.InputError, match="Did you mean 'class-0'?"):
        vs.query("class_0", 1, pool=POOL)


def test_a_registered_set_method_chooses():
    register(method(choose=head_of_the_pool))
    assert vs.query("class-0", 2, pool=POOL).tolist() == [0, 1]
    with pytest.raises(vs.InputError, match="which chooses a set"):
        vs.Stream("class-0", 1)


@pytest.mark.parametrize("name", ["", "Class", "class 0", "class_0", "-class", "class-", "class--0", "0class", "größe"])
def test_a_malformed_name_is_rejected(name):
    with pytest.raises(vs.InputError, match="^method.name: expected lowercase words"):
        register(method(name))
    assert names() == METHODS


def test_an_existing_name_is_rejected():
    with pytest.raises(vs.InputError, match="^method.name: expected a new name, got 'gvd'"):
        register(method("gvd"))
    assert TABLE["gvd"].label == "GVD"


def test_a_method_without_images_is_rejected():
    with pytest.raises(vs.InputError, match="expected pool, features or perturbations"):
        register(method(pool=""))
    assert names() == METHODS


@pytest.mark.parametrize(
    ("score", "got"),
    [
        (lambda problem: np.full(problem.images, np.nan), "float64 of shape (3,), not all finite"),
        (lambda problem: np.zeros(2), "float64 of shape (2,)"),
        (lambda problem: np.zeros(problem.images, np.float32), "float32 of shape (3,)"),
    ],
)
def test_scores_that_are_no_utilities_are_rejected(score, got):
    register(method(score=score))
    stream = vs.Stream("class-0", 1)
    for ask in (
        lambda: vs.query("class-0", 1, pool=POOL),
        lambda: vs.utilities("class-0", pool=POOL),
        lambda: stream.add(POOL),
    ):
        with pytest.raises(vs.InputError, match=r"^utilities of 'class-0': expected finite") as caught:
            ask()
        assert caught.value.got == got


@pytest.mark.parametrize("indices", [[0], [1, 1], [1, 3], [-1, 0]])
def test_choices_that_are_no_images_are_rejected(indices):
    register(method(choose=lambda problem, k: Selection(np.array(indices), np.zeros(len(indices)))))
    with pytest.raises(vs.InputError, match="^images chosen by 'class-0': expected 2 different positions from 0 to 2"):
        vs.query("class-0", 2, pool=POOL)
