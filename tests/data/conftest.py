"""Fixtures for the tests of datasets."""

import pytest

from data.serving import host


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    """Keep tests away from the user's cache."""
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def root(tmp_path):
    """A cache folder that does not exist yet."""
    return tmp_path / "cache"


@pytest.fixture
def web():
    """A web server on this machine."""
    with host() as server:
        yield server
