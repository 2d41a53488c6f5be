"""A real Ray cluster on loopback for the tests of each file: while it is connected, it changes the environment."""

import contextlib
import os
import time
import warnings
from pathlib import Path

import pytest

import versionspace as vs

pytest.importorskip("ray", reason="RAY IS NOT INSTALLED: nothing of versionspace.cluster is tested. pip install ray")


@pytest.fixture(scope="module")
def ray():
    """Yield Ray, connected to a local cluster with two CPUs; the tests of a file share it and leave no task behind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Ray's own modules, at their first import
        import ray as module  # noqa: F401
    with vs.cluster("local", workers=2, memory=200_000_000).connected() as connected:
        yield connected
    deadline = time.monotonic() + 20
    while (left := {pid for pid in descendants(os.getpid()) if is_of_ray(pid)}) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left, "Ray left processes behind"


@pytest.fixture
def local(ray):
    """Return a function that makes a local cluster, which shares the connection of the file."""
    return lambda **settings: vs.cluster("local", **{"workers": 2, **settings})


def is_of_ray(pid):
    """Return whether a process was started by Ray; other tests of the session may run a browser."""
    with contextlib.suppress(OSError):
        return b"ray" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def descendants(pid):
    """Return the ids of all running processes below a process. Processes and threads may end meanwhile."""
    found, threads = set(), []
    with contextlib.suppress(OSError):
        threads = list(Path(f"/proc/{pid}/task").glob("*/children"))
    for children in threads:
        with contextlib.suppress(OSError):
            for child in map(int, children.read_text().split()):
                found |= {child} | descendants(child)
    return found
