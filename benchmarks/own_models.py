"""`query` against other libraries for people who bring their own models: many classes, many members, large pools.

Each case runs in a process of its own, which measures time and peak memory on the same arrays, in float32. A peer that
needs more than `LIMIT` bytes by its own layout is not run.
"""

import contextlib
import io
import sys
import warnings
from collections.abc import Callable

import numpy as np

import versionspace as vs
from benchmarks.measure import in_fresh_process, peak_extra_bytes, report, seconds

CASES = [
    (5, 100_000, 10),
    (20, 100_000, 10),
    (100, 40_000, 10),
    (20, 1_000_000, 10),
    (5, 10_000, 1000),
    (20, 10_000, 1000),
]
"""M, N, C."""
LIMIT = 4_000_000_000


def members(M: int, N: int, C: int) -> np.ndarray:
    """Return probabilities (M, N, C) in float32 that agree about as much as members in the middle of learning do."""
    rng = np.random.default_rng(0)
    probs = np.empty((M, N, C), np.float32)
    common = rng.random((N, C), dtype=np.float32)
    common[np.arange(N), rng.integers(0, C, N)] += rng.random(N, dtype=np.float32) * 1.5
    for m in range(M):
        np.power(common + 0.3 * rng.random((N, C), dtype=np.float32), 12, out=probs[m])
        probs[m] /= probs[m].sum(axis=1, keepdims=True)
    return probs


def _numpy(method: str, probs: np.ndarray) -> Callable[[], object]:
    """Return the usual lines of NumPy for a method."""

    def run() -> object:
        if method == "ge":
            votes = probs.argmax(-1)
            counts = np.stack([(votes == c).sum(axis=0) for c in range(probs.shape[2])])
            return 1 - ((counts / len(votes)) ** 2).sum(axis=0)
        mean = probs.mean(axis=0)
        if method == "margin":
            largest = np.sort(mean, axis=1)[:, -2:]
            return largest[:, 0] - largest[:, 1]
        entropy = -(mean * np.log(mean + 1e-12)).sum(axis=1)
        return entropy if method == "entropy" else entropy + (probs * np.log(probs + 1e-12)).sum(axis=2).mean(axis=0)

    return run


def _baal(method: str, probs: np.ndarray) -> Callable[[], object]:
    from baal.active.heuristics import BALD, Entropy, Margin

    peer = {"bald": BALD, "entropy": Entropy, "margin": Margin}[method]()
    layout = np.ascontiguousarray(probs.transpose(1, 2, 0))  # images, classes, iterations: not part of the time
    return lambda: peer.get_uncertainties(layout)


def _skactiveml(method: str, probs: np.ndarray) -> Callable[[], object]:
    from skactiveml.pool import uncertainty_scores, variation_ratios

    if method == "ge":  # it has no Gibbs error; variation ratios cost the same
        votes = np.ascontiguousarray(probs.argmax(-1).T)
        return lambda: variation_ratios(votes)
    name = {"entropy": "entropy", "margin": "margin_sampling"}[method]
    return lambda: uncertainty_scores(probs.mean(axis=0), method=name)  # it scores one model: that of the mean


PEERS = {
    "numpy": (_numpy, ("ge", "entropy", "margin", "bald")),
    "baal": (_baal, ("entropy", "margin", "bald")),
    "scikit-activeml": (_skactiveml, ("ge", "entropy", "margin")),
}


def measure(who: str, method: str, M: int, N: int, C: int) -> tuple[float, int]:
    """Return seconds and peak additional bytes of one library, method and size."""
    warnings.filterwarnings("ignore")
    probs = members(M, N, C)
    work = (lambda: vs.utilities(method, pool=probs)) if who == "versionspace" else PEERS[who][0](method, probs)
    with contextlib.redirect_stderr(io.StringIO()):
        extra = peak_extra_bytes(work)
        return seconds(work, 2), extra


def run() -> None:
    for M, N, C in CASES:
        for method in ("ge", "entropy", "margin", "bald"):
            ours, memory = in_fresh_process(measure, "versionspace", method, M, N, C)
            for who, (_, methods) in PEERS.items():
                if method not in methods or (who != "numpy" and 12 * M * N * C > LIMIT):
                    continue
                try:
                    theirs, peer_memory = in_fresh_process(measure, who, method, M, N, C)
                except (ImportError, MemoryError) as error:
                    print(f"# {who}: {error}", file=sys.stderr)
                    continue
                report(
                    f"{method}, M={M}, N={N:,}, C={C}",
                    peer=who,
                    seconds=ours,
                    peer_seconds=theirs,
                    ratio=theirs / ours,
                    extra_MB=memory / 1e6,
                    peer_extra_MB=peer_memory / 1e6,
                    target="ratio ≥ 1",
                    met=theirs >= ours,
                )


if __name__ == "__main__":
    run()
