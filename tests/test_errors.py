"""Errors keep their message and attributes when they are pickled and sent to another process."""

import copy
import importlib
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import versionspace as vs
from versionspace.errors import ExplainedError, InputError

for module in ("data", "store", "report"):
    importlib.import_module(f"versionspace.{module}.errors")


def subclasses(of=ExplainedError):
    return [of, *(kind for below in of.__subclasses__() for kind in subclasses(below))]


@pytest.mark.parametrize("kind", subclasses(), ids=lambda kind: kind.__name__)
def test_errors_survive_pickling_and_copying(kind):
    error = kind.__new__(kind)
    ExplainedError.__init__(error, "k", expected="1", got="2", fix="Ask for fewer.")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert str(again) == "k: expected 1, got 2. Ask for fewer."
        assert (again.name, again.expected, again.got, again.fix) == ("k", "1", "2", "Ask for fewer.")


def misspelt_query():
    return vs.query("gvdd", 1, pool=[[0], [1]])


def test_a_process_pool_raises_the_error_of_its_worker():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        future = pool.submit(misspelt_query)
        with pytest.raises(InputError, match="Did you mean 'gvd'"):
            future.result(timeout=60)
