"""Ties: how many there are, who is told, and that the order of a pool does not matter where ids are given."""

import numpy as np
import pytest

import versionspace as vs
from committees import arguments, probabilities
from versionspace.query.methods import TABLE

TIED = np.array([[0] * 20 + [1] * 10, [1] * 20 + [1] * 10])  # 20 images on which two members differ, 10 on which not


def test_a_batch_drawn_by_lot_is_warned_about():
    with pytest.warns(vs.errors.TieWarning, match="ge: 20 images have the same utility, the highest, and 5 of them"):
        vs.query("ge", 5, pool=TIED, seed=0)


def test_the_record_counts_ties_and_does_not_warn():
    record = vs.query("ge", 5, pool=TIED, seed=0, return_record=True)
    assert (record.tied, record.by_lot) == (20, 5)
    record = vs.query("ge", 20, pool=TIED, seed=0, return_record=True)
    assert (record.tied, record.by_lot) == (1, 0)
    record = vs.query("ge", 23, pool=TIED, seed=0, return_record=True)
    assert (record.tied, record.by_lot) == (10, 3)
    record = vs.query("ge", 30, pool=TIED, seed=0, return_record=True)
    assert (record.tied, record.by_lot) == (1, 0)


def test_no_warning_if_only_the_last_images_were_drawn():
    assert len(vs.query("ge", 23, pool=TIED, seed=0)) == 23  # warnings are errors here
    assert len(vs.query("ge", 20, pool=TIED, seed=0)) == 20


@pytest.mark.parametrize("name", ["gvd-batch", "coreset", "maxherding"])
def test_methods_that_choose_a_set_count_ties_at_each_step(name):
    same = {"features": np.ones((30, 4))}
    if name == "gvd-batch":
        same = {"pool": np.zeros((3, 30), int), "reference": np.zeros((3, 8), int), "vote": "hard"}
    record = vs.query(name, 4, **same, seed=0, return_record=True)
    assert record.by_lot == 4
    assert record.tied == 27
    with pytest.warns(vs.errors.TieWarning):
        vs.query(name, 4, **same, seed=0)


POINTWISE = [m.name for m in TABLE.values() if m.pointwise]


@pytest.mark.parametrize("name", POINTWISE)
@pytest.mark.parametrize("kind", [str, int])
def test_reordering_a_pool_with_ids_changes_nothing(name, kind):
    given = arguments(TABLE[name], images=200, members=3)
    if "pool" in given:
        given["pool"] = given["pool"][:, np.arange(200) % 20]  # each image ten times
    ids = np.array([kind(7 * i) for i in range(200)])
    order = np.random.default_rng(0).permutation(200)
    axes = {"pool": 1, "perturbations": 0}
    shuffled = {k: v.take(order, axes[k]) if k in axes else v for k, v in given.items()}
    chosen = vs.query(name, 13, **given, ids=ids, seed=0)
    assert vs.query(name, 13, **shuffled, ids=ids[order], seed=0).tolist() == chosen.tolist()


def test_an_id_has_the_same_hash_in_any_type():
    chosen = {
        vs.query("ge", 3, pool=np.zeros((2, 9), int), ids=ids, seed=1, return_record=True).positions.tobytes()
        for ids in (np.arange(9), np.arange(9, dtype=np.uint8), np.array(list(range(9)), object))
    }
    assert len(chosen) == 1


def test_a_stream_with_ids_orders_ties_like_a_query():
    ids = [f"{i}.png" for i in range(40)]
    pool = np.zeros((3, 40), int)
    stream = vs.Stream("vr", 6, seed=5)
    for i in range(0, 40, 7):
        stream.add(pool[:, i : i + 7], ids=ids[i : i + 7])
    record = vs.query("vr", 6, pool=pool, ids=ids, seed=5, return_record=True)
    assert stream.result().tolist() == record.ids.tolist()


def test_a_generator_is_a_seed():
    pool = probabilities(3, 50, 4)
    first = vs.query("random", 5, pool=pool, seed=np.random.default_rng(3))
    generator = np.random.default_rng(3)
    assert vs.query("random", 5, pool=pool, seed=generator).tolist() == first.tolist()
    assert vs.query("random", 5, pool=pool, seed=generator).tolist() != first.tolist()  # it was drawn from
    assert len(vs.query("random", 5, pool=pool, seed=np.random.RandomState(0))) == 5


def test_modules_of_the_package_are_importable_although_query_is_a_function():
    import importlib
    import pkgutil

    import versionspace.query.methods as methods  # noqa: PLR0402 — the form that must work

    assert methods.TABLE is TABLE
    package = importlib.import_module("versionspace.query.api").__spec__.parent
    import sys

    for module in pkgutil.iter_modules(sys.modules[package].__path__):
        assert getattr(vs.query, module.name) is sys.modules[f"{package}.{module.name}"]
    assert vs.query.register is methods.register
