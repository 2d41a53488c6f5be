"""versionspace against other packages: the same quantity from the same array, timed alternately."""

import contextlib
import importlib.metadata
import io
import subprocess
import sys
import warnings

import numpy as np

import versionspace as vs
from benchmarks.committees import C, M, N, case
from benchmarks.measure import report, side_by_side


def _version(name: str) -> str:
    return f"{name} {importlib.metadata.version(name)}"


def bald() -> None:
    from baal.active.heuristics import BALD

    pool, _ = case("middle")
    theirs_layout = np.ascontiguousarray(pool.transpose(1, 2, 0))  # images, classes, iterations
    peer = BALD()
    ours, theirs = side_by_side(
        lambda: vs.utilities("bald", pool=pool), lambda: peer.get_uncertainties(theirs_layout), 3
    )
    same = np.abs(vs.utilities("bald", pool=pool) - peer.get_uncertainties(theirs_layout)).max()
    report(
        "bald",
        peer=_version("baal"),
        seconds=ours,
        peer_seconds=theirs,
        ratio=theirs / ours,
        largest_difference=float(same),
        target="ratio ≥ 1",
        met=theirs >= ours and same < 1e-4,
    )


def vote_entropy() -> None:
    from skactiveml.pool import vote_entropy as peer

    pool, _ = case("middle")
    votes = pool.argmax(-1)
    theirs_layout = np.ascontiguousarray(votes.T)
    classes = np.arange(C)
    ours, theirs = side_by_side(
        lambda: vs.utilities("vote-entropy", pool=votes), lambda: peer(theirs_layout, classes), 3
    )
    same = np.abs(vs.utilities("vote-entropy", pool=votes) - peer(theirs_layout, classes)).max()
    report(
        "vote-entropy",
        peer=_version("scikit-activeml"),
        seconds=ours,
        peer_seconds=theirs,
        ratio=theirs / ours,
        largest_difference=float(same),
        target="ratio ≥ 1",
        met=theirs >= ours and same < 1e-6,
    )


def _recomputing_k_centre(features: np.ndarray, labelled: np.ndarray, k: int) -> np.ndarray:
    """Greedy k-centre that computes all distances to all centres at every step, by matrix products in chunks."""
    centres, chosen = labelled, []
    norms = (features**2).sum(1)
    for _ in range(k):
        nearest = np.empty(len(features), features.dtype)
        for i in range(0, len(features), 5000):
            some = slice(i, i + 5000)
            products = features[some] @ centres.T
            nearest[some] = (norms[some, None] - 2 * products + (centres**2).sum(1)).min(1)
        nearest[chosen] = -1
        chosen.append(int(nearest.argmax()))
        centres = np.concatenate([centres, features[chosen[-1:]]])
    return np.array(chosen)


def coreset() -> None:
    rng = np.random.default_rng(0)
    features = np.maximum(rng.normal(size=(N, 128)), 0).astype(np.float32)
    labelled = np.maximum(rng.normal(size=(200, 128)), 0).astype(np.float32)
    ours, theirs = side_by_side(
        lambda: vs.query("coreset", 40, features=features, labelled_features=labelled, seed=0),
        lambda: _recomputing_k_centre(features, labelled, 40),
        3,
    )
    chosen = vs.query("coreset", 40, features=features, labelled_features=labelled, seed=0)
    same = int((chosen == _recomputing_k_centre(features, labelled, 40)).sum())
    report(
        "coreset, 128 features, 200 labelled, k=40",
        peer="all distances at each step, by matrix products",
        seconds=ours,
        peer_seconds=theirs,
        ratio=theirs / ours,
        same_choices=same,
        target="ratio ≥ 5",
        met=theirs >= 5 * ours,
    )


def batchbald() -> None:
    import torch
    from batchbald_redux.batchbald import get_batchbald_batch

    pool, _ = case("middle")
    some = np.ascontiguousarray(pool[:, :2000])
    log_probs = torch.log(torch.tensor(some.transpose(1, 0, 2)).double().clamp(min=1e-30))

    def peer() -> list[int]:
        torch.manual_seed(0)
        with contextlib.redirect_stderr(io.StringIO()):  # its progress bars
            return get_batchbald_batch(log_probs, 5, 10_000, dtype=torch.double).indices

    ours, theirs = side_by_side(lambda: vs.query("batchbald", 5, pool=some, seed=0), peer, 1)
    chosen = vs.query("batchbald", 5, pool=some, seed=0).tolist()
    report(
        f"batchbald, 2,000 images, M={M}, k=5, 10,000 outcomes",
        peer=_version("batchbald_redux"),
        seconds=ours,
        peer_seconds=theirs,
        ratio=theirs / ours,
        same_choices=len(set(chosen) & set(peer())),
        target="ratio ≥ 1",
        met=theirs >= ours,
    )


def import_time() -> None:
    def once(statement: str) -> float:
        code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)

    once("import versionspace")
    ours = min(once("import versionspace") for _ in range(5))
    numpy = min(once("import numpy") for _ in range(5))
    code = "import sys, versionspace; print(sorted({'torch', 'sklearn', 'scipy', 'typer', 'rich'} & set(sys.modules)))"
    heavy = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    report(
        "import versionspace",
        seconds=ours,
        of_which_numpy=numpy,
        heavy_imports=heavy,
        target="< 0.3 s, no heavy import",
        met=ours < 0.3 and heavy == "[]",
    )


def run() -> None:
    warnings.filterwarnings("ignore")  # raised by the peers
    import_time()
    bald()
    vote_entropy()
    coreset()
    batchbald()
