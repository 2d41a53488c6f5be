"""Features of a folder of images, extracted on a cluster."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from versionspace.cluster.executor import Cluster
from versionspace.cluster.tasks import run_tasks
from versionspace.data import UnreadableError
from versionspace.features import DEFAULT_EXTRACTOR, FolderFeatures, Shard, ShardFeatures, extract_folder, extract_shard
from versionspace.features import read_image as read


def extract_folder_on(
    cluster: Cluster, folder: str | Path, out: str | Path, extractor: str = DEFAULT_EXTRACTOR, **options: Any
) -> FolderFeatures:
    """Like `versionspace.features.extract_folder`, with each shard as a task; the features are the same.

    Where the machines share no disk, the files' bytes are sent with the tasks. The weights of the extractor must be
    installed, or be found by its name, on every machine.
    """

    def run(shards: Sequence[Shard]) -> Iterator[tuple[int, ShardFeatures]]:
        if not shards:
            return
        with cluster.connected() as ray:
            given = (_with_contents(shard) for shard in shards) if cluster.copies else shards
            yield from run_tasks(cluster, ray, extract_shard, given, cluster.cpus)

    return extract_folder(folder, out, extractor, runner=run, **options)


def _with_contents(shard: Shard) -> Shard:
    """Return a shard with its files' bytes; those that cannot be read are empty, which is reported as unreadable."""
    return replace(shard, contents=tuple(_content(shard.folder, file) for file in shard.files))


def _content(folder: str, file: str) -> bytes:
    try:
        return read(folder, file)
    except UnreadableError:
        return b""
