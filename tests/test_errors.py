"""Errors that explain themselves do so in other processes, too."""

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


def kinds(of=ExplainedError):
    return [of, *(found for below in of.__subclasses__() for found in kinds(below))]


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_errors_survive_being_sent(kind):
    error = kind.__new__(kind)
    ExplainedError.__init__(error, "k", expected="1", got="2", fix="Ask for fewer.")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert str(again) == "k: expected 1, got 2. Ask for fewer."
        assert (again.name, again.expected, again.got, again.fix) == ("k", "1", "2", "Ask for fewer.")


def ask():
    return vs.query("gvdd", 1, pool=[[0], [1]])


def test_a_pool_of_processes_hears_what_is_wrong():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        asked = pool.submit(ask)
        with pytest.raises(InputError, match="Did you mean 'gvd'"):
            asked.result(timeout=60)
