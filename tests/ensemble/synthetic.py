"""Small synthetic images of classes that can be learnt."""

import numpy as np


def images(count, *, classes=4, shape=(8, 8, 1), seed=0, noise=40):
    rng = np.random.default_rng(seed)
    patterns = np.random.default_rng(99).normal(size=(classes, *shape))
    labels = rng.integers(0, classes, count)
    pixels = 128 + 50 * patterns[labels] + noise * rng.normal(size=(count, *shape))
    return pixels.clip(0, 255).astype(np.uint8), labels
