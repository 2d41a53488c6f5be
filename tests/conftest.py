"""Fixtures that many tests share."""

import signal
from pathlib import Path

import pytest

from versionspace.space import kernels

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a suite in the background: children would not hear Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=["compiled", "numpy"])
def either_kernel(request, monkeypatch):
    """Runs the test twice: with the compiled kernels, which the set-up here must have built, and with NumPy's."""
    assert kernels._kernels is not None, "the compiled kernels are missing: is there a C compiler?"
    monkeypatch.setattr(kernels, "COMPILED", request.param == "compiled")
    return request.param


@pytest.fixture(scope="session")
def repository():
    """The root of the repository."""
    return Path(__file__).parent.parent
