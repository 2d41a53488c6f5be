"""Heads on a frozen backbone: images a second, seconds of a fit, accuracy and PWD against a logistic regression.

STL-10 as it is in the cache: random labels out of a pool of 2,600, tested on 800 images. The machine is shared: of
seconds the best of some runs is taken, and the processor's own seconds stand beside them.
"""

import tempfile
import time
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn import functional as F

from benchmarks.measure import report, seconds, side_by_side
from versionspace.data import Subset, load, split
from versionspace.ensemble.heads import Heads
from versionspace.features.lite import SIDE, Lite0, our_name, weights_file
from versionspace.space import majority_vote, pairwise_disagreement

MEMBERS = 20
SEEDS = (0, 1, 2)
TARGETS = {100: 0.86, 400: 0.91}
"""Mean accuracy of the members, by the number of labels."""


def processor_seconds(work: Callable[[], object]) -> float:
    """The best of three, over all threads."""
    found = []
    for _ in range(3):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def by_plain_torch(images: np.ndarray, side: int) -> None:
    """The same network as it is usually run: batch norm as it is, batches of 64, each on all threads."""
    with torch.no_grad():
        for some in torch.tensor(images).permute(0, 3, 1, 2).float().split(64):
            pixels = F.interpolate(some, (side, side), mode="bicubic", antialias=True).clamp(0, 255)
            plain()((pixels - 127) / 128)


@cache
def plain() -> Lite0:
    net = Lite0()
    net.load_state_dict({our_name(k): v for k, v in torch.load(weights_file(), weights_only=True).items()})
    return net.eval()


def embedding(pool: Subset, side: int) -> None:
    """Images that no cache holds yet."""
    images = np.array(pool.images[:256])
    compute = lambda: Heads(side=side, device="cpu", cache=False).embedding(images)  # noqa: E731
    mine, theirs = side_by_side(compute, lambda: by_plain_torch(images, side), 3)
    report(
        f"backbone: {side} pixels, {len(images)} images of {images.shape[1]}",
        images_a_second=len(images) / mine,
        processor_ms_an_image=1000 * processor_seconds(compute) / len(images),
        ratio_to_plain_torch=theirs / mine,
        target="≥ 1 × plain torch",
        met=theirs >= mine,
    )


def found_again(heads: Heads, pool: Subset) -> None:
    images = pool.images[:256]
    cached, computed = side_by_side(
        lambda: heads.embedding(images), lambda: Heads(device="cpu", cache=False).embedding(images), 3
    )
    report(
        f"features from the cache: {len(images)} images",
        microseconds_an_image=1e6 * cached / len(images),
        ratio_to_computing=computed / cached,
        target="≥ 20 × computing",
        met=computed >= 20 * cached,
    )


def fitting(heads: Heads, pool: Subset) -> None:
    images, labels = pool.images[:400], pool.labels[:400]
    fit = lambda: heads.fit(images, labels)  # noqa: E731
    elapsed, busy = seconds(fit, 5), processor_seconds(fit)
    report(
        f"fit: {heads.members} heads, 400 labels", seconds=elapsed, processor_seconds=busy, target="< 2 s",
        met=elapsed < 2,
    )  # fmt: skip


def learning(heads: Heads, pool: Subset, test: Subset) -> None:
    """Random labels; the logistic regression sees the same labels and the same standardised features."""
    assert heads.normalisation is not None
    mean, deviation = np.array(heads.normalisation.mean), np.array(heads.normalisation.deviation)
    seen, unseen = ((heads.embedding(part.images) - mean) / deviation for part in (pool, test))
    for count, least in TARGETS.items():
        rows = []
        for seed in SEEDS:
            some = np.random.default_rng(seed).permutation(len(pool))[:count]
            heads.seed = seed
            probs = heads.fit(pool.images[some], pool.labels[some]).predict_proba(test.images)
            votes = probs.argmax(axis=2)
            linear = LogisticRegression(C=0.1, max_iter=500).fit(seen[some], pool.labels[some])
            rows.append(
                {
                    "accuracy": float((votes == test.labels).mean()),
                    "accuracy_of_the_vote": float((majority_vote(probs) == test.labels).mean()),
                    "PWD": pairwise_disagreement(votes),
                    "least_fit": min(history.fit for history in heads.history_),
                    "logistic_regression": float(linear.score(unseen, test.labels)),
                }
            )
        means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
        report(
            f"heads: stl10, {count} random labels, {heads.members} members, {len(SEEDS)} seeds",
            **means,
            spread_over_seeds=float(np.std([row["accuracy"] for row in rows])),
            target=f"accuracy ≥ {least}, every member fits 99%",
            met=means["accuracy"] >= least and min(row["least_fit"] for row in rows) >= 0.99,
        )


def run() -> None:
    dataset = load("stl10")
    cut = split(dataset, pool=2600, validation=600, test=800, initial=100, seed=0)
    assert dataset.test is not None
    pool, test = dataset.train.take(cut.pool), dataset.test.take(cut.test)
    for side in (128, SIDE):
        embedding(pool, side)
    with tempfile.TemporaryDirectory() as folder:
        heads = Heads(members=MEMBERS, device="cpu", cache=folder, progress=False)
        heads.normalisation = heads.statistics(pool.images)
        found_again(heads, pool)
        fitting(heads, pool)
        learning(heads, pool, test)


if __name__ == "__main__":
    run()
