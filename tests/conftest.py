"""Fixtures for all tests."""

import signal
from pathlib import Path

import pytest

from versionspace.space import kernels

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background: child processes would ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=["compiled", "numpy"])
def either_kernel(request, monkeypatch):
    """Run the test twice: with the compiled kernels, which must have been built, and with those in NumPy."""
    assert kernels._kernels is not None, "the compiled kernels are missing: is there a C compiler?"
    monkeypatch.setattr(kernels, "COMPILED", request.param == "compiled")
    return request.param


@pytest.fixture(scope="session")
def repository():
    """Return the root folder of the repository."""
    return Path(__file__).parent.parent
