"""Campaigns, features and pools on several machines, with Ray. Importing this package imports neither Ray nor torch.

connection       start Ray on this machine, or connect to a cluster
executor         the campaigns of a grid, see `versionspace.campaign.Executor`
campaign_worker  the process that runs them
tasks            a function on many items, as tasks
members          the groups of members of a round
features         features of a folder of images
pool             the best images of a pool of any size, from its `pool_shards`
"""

from typing import TYPE_CHECKING, Any

from versionspace.extras import require

if TYPE_CHECKING:
    from versionspace.cluster.executor import Cluster
    from versionspace.cluster.features import extract_folder_on
    from versionspace.cluster.pool import PoolChoice, query_pool
    from versionspace.cluster.pool_shards import Chunk, PoolShard, feature_shards, image_shards

__all__ = [
    "Chunk",
    "Cluster",
    "PoolChoice",
    "PoolShard",
    "cluster",
    "extract_folder_on",
    "feature_shards",
    "image_shards",
    "query_pool",
]

_EXPORTS = {
    "Cluster": "executor", "extract_folder_on": "features", "PoolChoice": "pool", "query_pool": "pool",
    "Chunk": "pool_shards", "PoolShard": "pool_shards", "feature_shards": "pool_shards", "image_shards": "pool_shards",
}  # fmt: skip
"""The module that defines each name; imported on first use, since it requires Ray."""


def cluster(address: str = "local", **settings: Any) -> "Cluster":
    """Return a cluster for ``versionspace.run(..., executor=...)`` and the functions of `versionspace.cluster`.

    Args:
        address: "local" starts Ray on this machine for as long as it is needed; "auto" connects to the cluster that
            this machine is part of; "ray://HOST:PORT" connects to a cluster from outside, through the head's client
            port.
        settings: see `Cluster`.

    Raises InputError for an unknown address or setting, `MissingPackageError` without the extra ``cluster``.

    >>> cluster("local", cpus=2).cpus
    2
    """
    make = require("versionspace.cluster.executor", "cluster", attribute="make_cluster")
    made: Cluster = make(address, settings)
    return made


def __getattr__(name: str) -> Any:
    """Import a name on first use. Raises `MissingPackageError` without the extra ``cluster``."""
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return require(f"{__name__}.{_EXPORTS[name]}", "cluster", attribute=name)
