"""Cluster: the overhead of Ray for a campaign, a pool of two million items, and the loss of choosing in two stages."""

import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import versionspace as vs
from benchmarks.measure import report
from versionspace import data
from versionspace.cluster import Chunk, feature_shards, query_pool
from versionspace.query import coverage_kernel

M, C, T = 20, 10, 2_000
REPEATS = 3
ITEMS, SHARD, CHUNK = 2_000_000, 100_000, 20_000


@dataclass(frozen=True)
class SyntheticVotes:
    """Votes of M members on items of which most are easy; they are drawn where they are scored."""

    position: int
    count: int

    def chunks(self) -> Iterator[Chunk]:
        for start in range(self.position, self.position + self.count, CHUNK):
            yield Chunk(start, None, beliefs=votes(start, CHUNK))


def votes(start: int, count: int) -> np.ndarray:
    draw = np.random.default_rng(start)
    common = draw.integers(0, C, count, dtype=np.uint8)
    differs = draw.random((M, count), dtype=np.float32) < 0.3 * draw.random(count, dtype=np.float32) ** 8
    return np.where(differs, draw.integers(0, C, (M, count), dtype=np.uint8), common)


def campaign() -> None:
    changes = ["ensemble.members=20", "budget.total=60"]
    seconds = dict.fromkeys(("local", "campaigns", "members"), float("inf"))
    with vs.cluster("local", workers=1).connected():
        for name in [*seconds] * REPEATS:  # alternating, so that all see the same load
            executor = None if name == "local" else vs.cluster("local", workers=1, spread=name)
            heard: list[tuple[str, float]] = []
            with tempfile.TemporaryDirectory() as folder:
                vs.run("demo", methods=["gvd"], seeds=[0], out=folder, changes=[*changes, "machine.threads=1"],
                       progress=lambda news, to=heard: to.append((news.kind, time.perf_counter())),
                       executor=executor)  # fmt: skip
            seconds[name] = min(
                seconds[name], heard[-1][1] - heard[0][1]
            )  # from the first news to the last: without start-up
    report("a campaign on Ray, one worker, beyond start-up", **seconds,
           ratio=seconds["campaigns"] / seconds["local"], target="ratio ≤ 1.1",
           met=seconds["campaigns"] / seconds["local"] <= 1.1)  # fmt: skip


def pool() -> None:
    reference = np.random.default_rng(0).dirichlet(np.full(C, 0.3), (M, T)).astype(np.float32)
    shards = [SyntheticVotes(start, SHARD) for start in range(0, ITEMS, SHARD)]
    for workers in (1, 2):
        cluster = vs.cluster("local", workers=workers)
        with cluster.connected():
            query_pool("gvd", 10, shards[:workers], reference=reference, cluster=cluster)  # starts the workers
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            began = time.perf_counter()
            found = query_pool("gvd", 10, shards, reference=reference, cluster=cluster)
            seconds = time.perf_counter() - began
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        report(f"gvd over {found.items:,} items, {workers} workers", seconds=seconds,
               items_per_second=found.items / seconds, driver_megabytes=grown,
            target="driver grows by ≤ 50 MB", met=grown <= 50)  # fmt: skip


def two_stages() -> None:
    digits = data.load("digits").train
    vectors = digits.images.reshape(len(digits), -1).astype(np.float32)
    kernel = coverage_kernel(vectors)

    def covered(chosen: np.ndarray) -> float:
        return float(kernel[:, chosen].max(axis=1).mean())

    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, vectors)
        file.flush()
        for k in (10, 50):
            exact = covered(vs.query("maxherding", k, features=vectors, seed=0))
            draws = [np.random.default_rng(s).choice(len(vectors), k, replace=False) for s in range(20)]
            for rows, sample in ((300, 0.5), (100, 0.5), (100, 0.1), (100, 0.0)):
                shards = feature_shards([file.name], shard_rows=rows)
                found = covered(query_pool("maxherding", k, shards, seed=0, sample=sample).ids)
                chance = np.mean([covered(one) for one in draws])
                loss = (exact - found) / (exact - chance)
                report(f"maxherding in two stages, k = {k}, {len(shards)} shards, sample {sample}",
                       exact=exact, two_stages=found, random=chance,
                       loss=loss, target="loss ≤ 0.1 with a sample", met=loss <= 0.1 or sample == 0)  # fmt: skip


def run() -> None:
    two_stages()
    pool()
    campaign()


if __name__ == "__main__":
    run()
