"""Choose labels for your own models: a committee of scikit-learn classifiers on handwritten digits.

versionspace needs only the probabilities of the models. Run with: python examples/own_models.py
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import versionspace as vs

images, truth = load_digits(return_X_y=True)
images = images / 16


def train_committee(labelled):
    """Train ten classifiers that differ in their random features; return a function that gives their probabilities."""
    members = [
        make_pipeline(RBFSampler(gamma=0.1, n_components=200, random_state=m), LogisticRegression(C=100, max_iter=500))
        for m in range(10)
    ]
    for member in members:
        member.fit(images[labelled], truth[labelled])
    return lambda rows: vs.committee(members, images[rows])  # (M, N, C)


def simulate(method, seed):
    """Label 100 images, ten at a time; return the accuracy of the committee's vote on the test images."""
    order = np.random.default_rng(seed).permutation(len(images))
    pool, reference, test = order[:1000], order[1000:1300], order[1300:]
    # Start with one image of each class, so that every member knows all classes.
    labelled = np.array([pool[truth[pool] == c][0] for c in range(10)])
    while True:
        probabilities = train_committee(labelled)
        if len(labelled) == 100:
            vote = probabilities(test).mean(axis=0).argmax(axis=1)
            return (vote == truth[test]).mean()
        unlabelled = np.setdiff1d(pool, labelled)
        # Distances between members are measured on the reference images, which are never labelled.
        beliefs = {"pool": probabilities(unlabelled), "reference": probabilities(reference)}
        chosen = vs.query(method, 10, ids=unlabelled, seed=seed, **(beliefs if method != "random" else {}))
        # Here a person would answer; the simulation looks the answers up in `truth`.
        labelled = np.concatenate([labelled, chosen])


for method in ("random", "gvd-batch"):
    accuracy = np.mean([simulate(method, seed) for seed in range(3)])
    print(f"{method:10} accuracy with 100 labels, mean of 3 seeds: {100 * accuracy:.1f}%")
