"""Fixtures of the data layer's tests."""

import pytest
from serving import host


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    """No test reads or writes the user's cache."""
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def web():
    with host() as server:
        yield server
