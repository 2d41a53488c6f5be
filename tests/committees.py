"""Synthetic committees for tests; ``noise`` controls how much the members disagree."""

import numpy as np


def probabilities(members, images, classes, *, seed=0, noise=1.5, dtype=np.float64):
    """Return softmax outputs (M, N, C) of a score for each class that members share, plus independent noise."""
    rng = np.random.default_rng(seed)
    common = rng.normal(0, 2, (images, classes))
    logits = common + noise * rng.normal(0, 1, (members, images, classes))
    probs = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return (probs / probs.sum(axis=-1, keepdims=True)).astype(dtype)


def arguments(method, *, images=40, members=6, classes=4, seed=0):
    """Return valid arguments of `query` for a method of the table."""
    rng = np.random.default_rng(seed + 1)
    given = {}
    if method.pool:
        given["pool"] = probabilities(1 if method.pool == "one member" else members, images, classes, seed=seed)
    if "reference" in method.needs:
        given["reference"] = probabilities(members, 30, classes, seed=seed + 2)
    if method.features:
        given["features"] = rng.normal(size=(images, 5))
    if method.labelled:
        given["labelled_features"] = rng.normal(size=(3, 5))
    if method.perturbations:
        given["perturbations"] = rng.random(images)
    return given
