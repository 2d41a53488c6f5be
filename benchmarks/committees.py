"""Synthetic committees at three stages of learning, given by the share DIS of images on which members differ."""

from functools import cache

import numpy as np

M, N, T, C = 20, 45_000, 5_000, 10
STAGES = {"late": 0.03, "middle": 0.20, "early": 0.60}


def committee(images: int, noise: float, seed: int) -> np.ndarray:
    """Return softmax outputs (M, images, C) in float32 for easy and hard images, with noise for each member."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, C, images)
    common = rng.normal(0, 1, (images, C))
    common[np.arange(images), truth] += 2 + 2 * rng.gamma(2.0, 1.0, images)
    out = np.empty((M, images, C), np.float32)
    for m in range(M):
        logits = common + noise * rng.normal(0, 1, (images, C))
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        out[m] = logits / logits.sum(axis=1, keepdims=True)
    return out


def differing(probs: np.ndarray) -> float:
    """Return DIS, the share of images on which any two members differ."""
    votes = probs.argmax(-1)
    return float((votes != votes[0]).any(axis=0).mean())


@cache
def noise_for(stage: str) -> float:
    """Return the noise at which a reference set has the stage's DIS, found by bisection."""
    low, high = 0.01, 6.0
    for _ in range(12):
        middle = (low + high) / 2
        if differing(committee(T, middle, seed=1)) < STAGES[stage]:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@cache
def case(stage: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the pool (M, N, C) and the reference (M, T, C) of a stage."""
    noise = noise_for(stage)
    return committee(N, noise, seed=0), committee(T, noise, seed=1)
