"""Maps of the version space: metric multidimensional scaling of hypotheses, as in the paper's appendix.

The distance between two hypotheses is the share of test images on which they differ. The Gibbs classifiers of the
stages of a run and the true labels are placed first, by

    d(Gibbs_a, Gibbs_b) = mean over members i of a, j of b of the share on which i and j differ,
    d(Gibbs_a, truth)   = mean error of the members of a.

Each version space is then laid out separately, and moved so that its centroid lies on its Gibbs classifier. Kruskal
and Wish 1978.

SMACOF (de Leeuw 1977) minimises the stress, from classical scaling (Torgerson 1952) and from a few random starts; the
best result is kept. It is implemented here because it takes ten lines, while scikit-learn's implementation has changed
defaults between releases and takes seconds to import.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from versionspace import rng
from versionspace.errors import InputError
from versionspace.types import Array, ArrayLike, Floats

RANDOM_STARTS = 8
"""Starts in addition to classical scaling."""
MAX_STEPS = 2_000
TOLERANCE = 1e-12
"""SMACOF stops when a step reduces the raw stress by less than this share of it."""


@dataclass(frozen=True)
class PlanarLayout:
    """Points in two dimensions."""

    points: Floats
    """(P, 2), in the unit of the distances, centred."""
    stress: float
    """Kruskal's stress-1, √(Σ(δ − d)² / Σd²): 0 if all distances are exact."""


@dataclass(frozen=True)
class VersionSpaceMap:
    """The stages of a run and the true labels as points in the plane."""

    gibbs: Floats
    """(S, 2): one point per stage."""
    truth: Floats | None
    """(2,)."""
    members: tuple[Floats, ...]
    """For each stage (M, 2), centred on its Gibbs classifier."""
    stress: float
    """Stress of the Gibbs classifiers and the truth."""
    member_stress: tuple[float, ...]
    """Stress of the members of each stage."""


def disagreements(votes_MT: Array, others_LT: Array) -> Floats:
    """Return (M, L) the share of images on which two hypotheses differ. Cost M·L·T.

    >>> disagreements(np.array([[0, 0], [0, 1]]), np.array([[0, 1]])).ravel().tolist()
    [0.5, 0.0]
    """
    return np.array([(others_LT != votes).mean(axis=1) for votes in votes_MT], np.float64)


def scale(distances_PP: ArrayLike, seed: int = 0) -> PlanarLayout:
    """Return points in the plane whose distances approximate the given ones with minimal stress-1. Cost steps · P².

    Rotations and reflections do not change the stress, so the layout is put in a fixed orientation: the longest axis
    is horizontal, and the first point is at the bottom left. Raises `InputError` unless the matrix is square and
    finite.

    >>> layout = scale([[0, 3, 4], [3, 0, 5], [4, 5, 0]])
    >>> bool(layout.stress < 1e-6), float(np.hypot(*(layout.points[1] - layout.points[2])).round(6))
    (True, 5.0)
    """
    target = np.asarray(distances_PP, np.float64)
    if target.ndim != 2 or target.shape[0] != target.shape[1] or not np.isfinite(target).all():
        raise InputError(
            "distances", expected="finite (P, P)", got=str(target.shape), fix="Pass one distance for every two points."
        )
    target = (target + target.T) / 2
    np.fill_diagonal(target, 0.0)
    largest = float(target.max(initial=0.0))
    if largest == 0.0:
        return PlanarLayout(np.zeros((len(target), 2)), 0.0)
    generator = rng.generator(seed, "report", "embedding")
    starts = [_classical(target)]
    starts += [generator.normal(size=(len(target), 2)) * largest for _ in range(RANDOM_STARTS)]
    layouts = [_smacof(target, start) for start in starts]
    # Rounded, so that the last bits do not decide between equally good layouts: the first wins.
    best = min(layouts, key=lambda points: round(stress(target, points), 9))
    return PlanarLayout(_orient(best), stress(target, best))


def stress(distances_PP: Floats, points_P2: Floats) -> float:
    """Return Kruskal's stress-1, √(Σ(δ − d)² / Σd²), over all pairs of points; 0 if all distances are 0 as required.

    >>> stress(np.array([[0.0, 2.0], [2.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]]))
    1.0
    """
    achieved = _distances(points_P2)
    below = float((achieved**2).sum())
    above = float(((distances_PP - achieved) ** 2).sum())
    return (above / below) ** 0.5 if below else float(above > 0)


def map_stages(votes: Sequence[Array], truth: Array | None, seed: int = 0) -> VersionSpaceMap:
    """Return the stages of a run in the plane, from the members' votes (M, T) of each stage and truth (T,).

    Raises `InputError` if there is no stage, or if stages have different numbers of images. Cost S²·M²·T.

    >>> found = map_stages([np.array([[1, 1, 0, 0], [1, 0, 1, 0]]), np.zeros((2, 4), int)], truth=np.zeros(4, int))
    >>> np.hypot(*(found.gibbs - found.truth).T).round(6).tolist()       # the errors of the two stages
    [0.5, 0.0]
    """
    if not votes:
        raise InputError("votes", expected="at least one stage", got="none", fix="Pass the votes of a round.")
    images = {v.shape[1] for v in votes} | ({len(truth)} if truth is not None else set())
    if len(images) > 1:
        raise InputError(
            "votes", expected="the same test images at all stages", got=f"{sorted(images)} images", fix="Use one split."
        )
    count = len(votes)
    target = np.zeros((count + (truth is not None),) * 2)
    for a in range(count):
        for b in range(a):
            target[a, b] = target[b, a] = disagreements(votes[a], votes[b]).mean()
        if truth is not None:
            target[a, count] = target[count, a] = (votes[a] != truth).mean()
    centres = scale(target, seed)
    clouds = [scale(disagreements(v, v), rng.key(seed, stage)) for stage, v in enumerate(votes)]
    return VersionSpaceMap(
        gibbs=centres.points[:count],
        truth=None if truth is None else centres.points[count],
        members=tuple(cloud.points + centre for cloud, centre in zip(clouds, centres.points[:count], strict=True)),
        stress=centres.stress,
        member_stress=tuple(cloud.stress for cloud in clouds),
    )


def _distances(points: Floats) -> Floats:
    distances: Floats = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    return distances


def _classical(target: Floats) -> Floats:
    """Return the two leading axes of the doubly centred squared distances."""
    centre = np.eye(len(target)) - 1 / len(target)
    values, vectors = np.linalg.eigh(-centre @ target**2 @ centre / 2)
    leading = np.zeros((len(target), 2))
    taken = min(2, len(target))
    leading[:, :taken] = vectors[:, ::-1][:, :taken] * np.sqrt(np.maximum(values[::-1][:taken], 0.0))
    return leading


def _smacof(target: Floats, start: Floats) -> Floats:
    """Apply Guttman's transform, which never increases the stress, until it converges."""
    points, before = start, np.inf
    for _ in range(MAX_STEPS):
        achieved = _distances(points)
        now = float(((target - achieved) ** 2).sum())
        if before - now <= TOLERANCE * now:
            break
        before = now
        ratio = -np.divide(target, achieved, out=np.zeros_like(target), where=achieved > 0)
        np.fill_diagonal(ratio, 0.0)
        np.fill_diagonal(ratio, -ratio.sum(axis=1))
        points = ratio @ points / len(points)
    return points


def _orient(points: Floats) -> Floats:
    centred = points - points.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    oriented: Floats = centred @ axes.T
    for axis in range(2):
        first = oriented[np.flatnonzero(np.abs(oriented[:, axis]) > 1e-9)[:1], axis]
        if len(first) and first[0] > 0:
            oriented[:, axis] = -oriented[:, axis]
    return oriented
