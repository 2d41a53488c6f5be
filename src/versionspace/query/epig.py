"""EPIG: what the label of an image is expected to tell about the labels of target images (Bickford Smith et al. 2023).

    u(x) = mean over targets x* of I[y ; y*]
         = H[p̄(x)] + mean H[p̄(x*)] − mean H[mean_m p_m(x) ⊗ p_m(x*)]                              nats

The targets are images of the reference set: a sample of the images on which the model will be used. More than
`TARGETS` of them are replaced by a random sample, which depends on the seed only.
"""

import numpy as np

from versionspace import rng
from versionspace.query.inputs import Problem
from versionspace.query.uncertainty import entropies, mean_over_members
from versionspace.space import Beliefs
from versionspace.types import Floats, Ints

TARGETS = 500
"""Largest number of reference images over which the mean is taken."""
_TINY = np.finfo(np.float64).tiny


def epig(problem: Problem) -> Floats:
    """Return the mean mutual information with the targets. Cost N·T·C²·M products and N·T·C² logarithms, T ≤ TARGETS.

    Images are processed one at a time, so the result is bitwise independent of the chunking and memory is C²·T.
    """
    assert problem.reference is not None
    pool, reference = problem.beliefs(), problem.reference
    targets_MTC = _normalised(reference, _targets(reference.images, problem.seed))
    M, T, _ = targets_MTC.shape
    target_entropy = float(entropies(mean_over_members(targets_MTC)).mean())
    flat = targets_MTC.reshape(M, -1) / M
    scores = np.empty(problem.images)
    for chunk in pool.chunks():
        probs_MNC = _normalised(pool, chunk)
        marginal = entropies(mean_over_members(probs_MNC))
        for n in range(probs_MNC.shape[1]):
            joint = (np.ascontiguousarray(probs_MNC[:, n].T) @ flat).ravel()
            joint_entropy = -float(joint @ np.log(np.maximum(joint, _TINY))) / T
            scores[chunk.start + n] = marginal[n] + target_entropy - joint_entropy
    return np.maximum(scores, 0.0)  # mutual information is at least 0, but rounding may yield −1e-16


def _normalised(beliefs: Beliefs, images: Ints | slice) -> Floats:
    """Return probabilities whose rows sum to 1: information is a small difference of entropies."""
    probs_MNC = beliefs.probs_at(images)
    total: Floats = probs_MNC.sum(axis=2, keepdims=True)
    return probs_MNC / total


def _targets(images: int, seed: int) -> Ints:
    """Return the positions of at most `TARGETS` reference images, ascending."""
    if images <= TARGETS:
        return np.arange(images)
    hashes = rng.hashes(rng.key(seed, "targets"), np.arange(images))
    return np.sort(np.argpartition(hashes, TARGETS)[:TARGETS])
