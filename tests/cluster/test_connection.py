"""Connections: Ray is imported only when it is used, its errors become sentences, and the environment is restored."""

import os
import subprocess
import sys

import pytest

import versionspace as vs
from versionspace.cluster import connection, executor
from versionspace.errors import MissingPackageError


def test_ray_is_not_imported_before_it_is_used():
    code = (
        "import sys, versionspace as vs; from versionspace.campaign import run; import versionspace.cli.main;"
        "vs.cluster('local'); import versionspace.cluster.executor; print('ray' in sys.modules, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(executor, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"pip install 'versionspace\[cluster\]'"):
        vs.cluster("local")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            RuntimeError(
                "Token authentication is enabled but Ray couldn't find an authentication token. Create a file"
            ),
            "expected the cluster's authentication token, got Token authentication is enabled but Ray couldn't find an "
            "authentication token. Put it into RAY_AUTH_TOKEN, or its file into RAY_AUTH_TOKEN_PATH",
        ),
        (
            ConnectionError("ray client connection timeout"),
            "expected a running Ray cluster, got ray client connection ",
        ),
        (OSError(), "expected a running Ray cluster, got OSError. Start one with `ray start --head`"),
    ],
)
def test_errors_of_ray_become_sentences(error, message):
    assert message in str(connection._explained("ray://head:10001", error))


def test_the_environment_is_that_of_before(monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "the user's")
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    before = dict(os.environ)
    with connection._environment("local"):
        assert os.environ["RAY_AUTH_MODE"] == "token"
        assert os.environ["RAY_AUTH_TOKEN"] not in ("", "the user's"), "a local cluster has a token of its own"
    assert dict(os.environ) == before
    with connection._environment("auto"):
        assert (os.environ["RAY_AUTH_MODE"], os.environ["RAY_AUTH_TOKEN"]) == ("token", "the user's")
    assert dict(os.environ) == before
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with connection._environment("auto"):
        assert os.environ["RAY_AUTH_MODE"] == "disabled", "where the user says so"


def test_no_usage_statistics_are_sent(ray):
    from ray._common.usage import usage_lib

    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    assert not usage_lib.usage_stats_enabled()


def test_a_local_cluster_stays_on_loopback_and_has_no_dashboard(ray):
    assert [node["NodeManagerAddress"] for node in ray.nodes()] == ["127.0.0.2"]
    assert ray.get_runtime_context().gcs_address.startswith("127.0.0.2:")
