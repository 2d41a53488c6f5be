"""versionspace against other packages: the same quantity from the same array, timed alternately."""

import contextlib
import importlib.metadata
import io
import subprocess
import sys
import warnings

import numpy as np

import versionspace as vs
from benchmarks.committees import C, M, N, case, committee, noise_for
from benchmarks.coverage import features as clustered
from benchmarks.measure import report, side_by_side
from versionspace import rng
from versionspace.query.kmeans import fit_centres, nearest_centres
from versionspace.query.probcover import purity_radius
from versionspace.query.unit_rows import unit_rows


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


def epig() -> None:
    from baal.active.heuristics import EPIG

    noise = noise_for("middle")
    pool, targets = committee(4_000, noise, seed=0), committee(100, noise, seed=1)
    layout = [np.ascontiguousarray(probs.transpose(1, 2, 0)) for probs in (pool, targets)]
    peer = EPIG()
    ours, theirs = side_by_side(
        lambda: vs.utilities("epig", pool=pool, reference=targets), lambda: peer.compute_score(*layout), 3
    )
    same = np.abs(vs.utilities("epig", pool=pool, reference=targets) - np.asarray(peer.compute_score(*layout))).max()
    report(
        "epig, 4,000 images, 100 targets",
        peer=_version("baal"),
        seconds=ours,
        peer_seconds=theirs,
        ratio=theirs / ours,
        largest_difference=float(same),
        target="ratio ≥ 1",
        met=theirs >= ours and same < 1e-5,
    )


def power_bald() -> None:
    """The probabilities with which the first image is drawn; the draws themselves come from different generators."""
    from baal.active.heuristics.aliases import PowerBALD

    pool = committee(4_000, noise_for("middle"), seed=0)
    peer = PowerBALD(query_size=10)
    theirs = peer._make_distribution(peer.get_scores(np.ascontiguousarray(pool.transpose(1, 2, 0))))
    ours = vs.utilities("bald", pool=pool)
    same = float(np.abs(ours / ours.sum() - theirs).max() / theirs.max())
    report("power-bald", peer=_version("baal"), largest_difference=same, target="difference < 1e-4", met=same < 1e-4)


def _covering_case() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features of labelled and unlabelled images in one array, their labels (NaN if unknown), and the pool."""
    both = unit_rows(clustered("clusters", 3_000, 128), slice(None))
    labels = np.where(np.arange(len(both)) < 5, 0.0, np.nan)
    return both, labels, both[5:]


def typiclust() -> None:
    """The peer takes any clusters; with those of versionspace and 20 neighbours, it should choose the same images."""
    from skactiveml.pool import TypiClust

    both, labels, pool = _covering_case()

    class OurClusters:
        def __init__(self, n_clusters: int = 2) -> None:
            self.clusters = n_clusters

        def fit_predict(self, points: np.ndarray) -> np.ndarray:
            points = np.asarray(points, np.float32)
            centres = fit_centres(np.concatenate([points[5:], points[:5]]), self.clusters, rng.key(0, "typiclust"))
            return nearest_centres(points, centres)

    def peer() -> np.ndarray:
        strategy = TypiClust(cluster_algo=OurClusters, k=20, random_state=0)
        return strategy.query(both, labels, batch_size=10) - 5

    def chosen() -> np.ndarray:
        return vs.query("typiclust", 10, features=pool, labelled_features=both[:5], seed=0)

    ours, theirs = side_by_side(chosen, peer, 3)
    same = int((chosen() == peer()).sum())
    report(
        "typiclust, N=3,000, 128 features, k=10, the same clusters",
        peer=_version("scikit-activeml"),
        seconds=ours,
        peer_seconds=theirs,
        ratio=theirs / ours,
        same_choices=same,
        target="the same 10 choices",
        met=same == 10,
    )


def probcover() -> None:
    """Ties are many and broken at random by both, so the numbers of covered images are compared, not the images."""
    from skactiveml.pool import ProbCover

    both, labels, pool = _covering_case()
    centres = fit_centres(pool, 10, rng.key(0, "coverage"))
    radius = purity_radius(pool, nearest_centres(pool, centres))

    def peer() -> np.ndarray:
        strategy = ProbCover(n_classes=10, deltas=[radius], random_state=0)
        return np.nanmax(strategy.query(both, labels, batch_size=10, return_utilities=True)[1], axis=1)

    def covered() -> np.ndarray:
        given = {"features": pool, "labelled_features": both[:5], "classes": 10, "seed": 0}
        return vs.query("probcover", 10, return_utilities=True, **given)[1] * len(pool)

    ours, theirs = side_by_side(covered, peer, 3)
    same = int((np.rint(covered()) == peer()).sum())
    report(
        "probcover, N=3,000, 128 features, k=10, the same radius",
        peer=_version("scikit-activeml"),
        seconds=ours,
        peer_seconds=theirs,
        ratio=theirs / ours,
        steps_that_cover_as_many=same,
        target="as many images at each of 10 steps",
        met=same == 10,
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
    epig()
    power_bald()
    typiclust()
    probcover()
