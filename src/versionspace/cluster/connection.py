"""Start Ray on this machine, or connect to a cluster, for the duration of a block.

Ray's usage statistics are always off. Requests are authenticated by a token: a random one for a local cluster, the
user's for any other. Everything here that reads or sets an environment variable does so before Ray reads it.
"""

import contextlib
import importlib
import logging
import os
import secrets
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from versionspace.errors import InputError
from versionspace.extras import require
from versionspace.machine import cores

ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Set in every process that uses Ray."""
WORKER_ENVIRONMENT = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}
"""Set in the workers: idle OpenMP threads sleep instead of spinning."""
_LOOPBACK = "127.0.0.2"
"""Of a local cluster on Linux, where every address 127.x.y.z is this machine. Ray replaces 127.0.0.1 by the address of
the network card."""
_TOKEN = "RAY_AUTH_TOKEN"
_MODE = "RAY_AUTH_MODE"


def load_ray() -> Any:
    """Import and return Ray, with its usage statistics off. Raises `MissingPackageError` without it."""
    os.environ.update(ENVIRONMENT)
    return require("ray", "cluster")


@contextlib.contextmanager
def connected(address: str, memory: int, workers: int = 0) -> Iterator[Any]:
    """Yield Ray, connected to a cluster. A connection that this process already has is used, and left open.

    Args:
        address: as for `versionspace.cluster`.
        memory: bytes of the object store of a local cluster.
        workers: CPUs of a local cluster; 0: those that this process may use.

    Raises InputError if there is no cluster at the address, or if it rejects the token.
    """
    ray = load_ray()
    if ray.is_initialized():
        yield ray
        return
    with _kept_signal_handler(), _environment(address):
        try:
            ray.init(**_options(address, memory, workers))
        except (ConnectionError, RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
            ray.shutdown()
            raise _explained(address, error) from error
        try:
            yield ray
        finally:
            ray.shutdown()


def _options(address: str, memory: int, workers: int) -> dict[str, Any]:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address != "local":
        return {"address": address, "runtime_env": {"env_vars": WORKER_ENVIRONMENT}, **quiet}
    loopback = {"_node_ip_address": _LOOPBACK} if sys.platform.startswith("linux") else {}
    return {
        "address": "local", "num_cpus": workers or cores(), "include_dashboard": False, "object_store_memory": memory,
        **loopback, **quiet,
    }  # fmt: skip


@contextlib.contextmanager
def _environment(address: str) -> Iterator[None]:
    """Set the variables that Ray reads when it starts or connects; restore them afterwards."""
    changes = {_MODE: os.environ.get(_MODE, "token")}
    if address == "local":
        # The user's own networks and extractors are modules that workers must find, too.
        path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
        changes |= {**WORKER_ENVIRONMENT, _MODE: "token", _TOKEN: secrets.token_hex(32), "PYTHONPATH": path}
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    _forget_token()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _forget_token()


def _forget_token() -> None:
    """Make Ray read mode and token again: it keeps those of an earlier connection of this process."""
    with contextlib.suppress(ImportError, AttributeError):
        internals = importlib.import_module("ray._raylet")
        internals.Config.initialize("")
        internals.AuthenticationTokenLoader.instance().reset_cache()


@contextlib.contextmanager
def _kept_signal_handler() -> Iterator[None]:
    """Restore the handler of SIGTERM, which Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _explained(address: str, error: Exception) -> InputError:
    message = (str(error).strip().splitlines() or [type(error).__name__])[0].partition(". ")[0].rstrip(".")
    if "oken" in str(error) and "auth" in str(error).lower():
        return InputError(
            f"cluster {address}", expected="the cluster's authentication token", got=message,
            fix=f"Put it into {_TOKEN}, or its file into {_TOKEN}_PATH; `ray get-auth-token` prints it on the head. A "
            f"cluster without authentication runs code from anyone who can reach it; for one, set {_MODE}=disabled.",
        )  # fmt: skip
    return InputError(
        f"cluster {address}", expected="a running Ray cluster", got=message,
        fix=f"Start one with `ray start --head`, check host and port, and whether {_TOKEN} has its token; or use "
        "--cluster local.",
    )  # fmt: skip
