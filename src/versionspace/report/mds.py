"""Version spaces on paper: metric multi-dimensional scaling of hypotheses, as the paper's appendix describes.

Distances are shares of the test set on which two hypotheses differ. First the Gibbs classifiers of the stages and the
truth are placed,

    d(Gibbs_a, Gibbs_b) = mean over members i of a, j of b of the share on which i and j differ,
    d(Gibbs_a, truth)   = mean over members of a of their error,

then each version space by itself, moved so that its centroid lies on its Gibbs classifier. Kruskal and Wish 1978.

Stress is minimised by SMACOF (de Leeuw 1977): started from classical scaling (Torgerson 1952) and from a few seeded
draws, the best kept. It is ten lines; scikit-learn's version of it has changed defaults from release to release, and
takes seconds to import.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from versionspace import rng
from versionspace.errors import InputError
from versionspace.types import Array, ArrayLike, Floats

DRAWS = 8
"""Seeded starts beside classical scaling."""
STEPS = 2_000
ENOUGH = 1e-12
"""SMACOF stops when a step lowers the raw stress by less than this share of it."""


@dataclass(frozen=True)
class Plane:
    """Points in two dimensions."""

    points: Floats
    """(P, 2), in the unit of the distances; centred."""
    stress: float
    """Kruskal's stress-1, √(Σ(δ − d)² / Σd²): 0 where the distances are kept exactly."""


@dataclass(frozen=True)
class Embedding:
    """Stages of a run, and the truth."""

    gibbs: Floats
    """(S, 2): one point a stage."""
    truth: Floats | None
    """(2,)."""
    members: tuple[Floats, ...]
    """For each stage (M, 2), centred on its Gibbs point."""
    stress: float
    """Of the Gibbs points and the truth."""
    stresses: tuple[float, ...]
    """Of each stage's members."""


def between(one_MT: Array, other_MT: Array) -> Floats:
    """(M, M'): the share of images on which two hypotheses differ. Cost M·M'·T.

    >>> between(np.array([[0, 0], [0, 1]]), np.array([[0, 1]])).ravel().tolist()
    [0.5, 0.0]
    """
    return np.array([(other_MT != votes).mean(axis=1) for votes in one_MT], np.float64)


def scale(distances_PP: ArrayLike, seed: int = 0) -> Plane:
    """Points in the plane whose distances are as near to the given ones as stress-1 can be brought. Cost steps · P².

    The result is turned so that its longest axis lies across and its first point to the left and below: a picture
    may be turned and mirrored freely, so it is always turned the same way.

    >>> plane = scale([[0, 3, 4], [3, 0, 5], [4, 5, 0]])
    >>> bool(plane.stress < 1e-6), float(np.hypot(*(plane.points[1] - plane.points[2])).round(6))
    (True, 5.0)
    """
    wanted = np.asarray(distances_PP, np.float64)
    if wanted.ndim != 2 or wanted.shape[0] != wanted.shape[1] or not np.isfinite(wanted).all():
        raise InputError(
            "distances", expected="finite (P, P)", got=str(wanted.shape), fix="Pass one distance for every two points."
        )
    wanted = (wanted + wanted.T) / 2
    np.fill_diagonal(wanted, 0.0)
    size = float(wanted.max(initial=0.0))
    if size == 0.0:
        return Plane(np.zeros((len(wanted), 2)), 0.0)
    draw = rng.generator(seed, "report", "embedding")
    starts = [_classical(wanted), *(draw.normal(size=(len(wanted), 2)) * size for _ in range(DRAWS))]
    found = [_smacof(wanted, start) for start in starts]
    # Rounded: of equally good ones the first, which is classical scaling's, whatever the last bits say.
    best = min(found, key=lambda points: round(stress(wanted, points), 9))
    return Plane(_turned(best), stress(wanted, best))


def stress(distances_PP: Floats, points_P2: Floats) -> float:
    """Kruskal's stress-1: √(Σ(δ − d)² / Σd²) over all two points; 0 where all lie in one place as they should.

    >>> stress(np.array([[0.0, 2.0], [2.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]]))
    1.0
    """
    found = _distances(points_P2)
    below = float((found**2).sum())
    above = float(((distances_PP - found) ** 2).sum())
    return (above / below) ** 0.5 if below else float(above > 0)


def embed(votes: Sequence[Array], truth: Array | None, seed: int = 0) -> Embedding:
    """Stages of a run in the plane: for each its members' votes (M, T) on the test set; truth (T,). Cost S²·M²·T.

    >>> found = embed([np.array([[1, 1, 0, 0], [1, 0, 1, 0]]), np.zeros((2, 4), int)], truth=np.zeros(4, int))
    >>> np.hypot(*(found.gibbs - found.truth).T).round(6).tolist()       # the errors: a half, and none
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
    wanted = np.zeros((count + (truth is not None),) * 2)
    for a in range(count):
        for b in range(a):
            wanted[a, b] = wanted[b, a] = between(votes[a], votes[b]).mean()
        if truth is not None:
            wanted[a, count] = wanted[count, a] = (votes[a] != truth).mean()
    centres = scale(wanted, seed)
    planes = [scale(between(v, v), rng.key(seed, stage)) for stage, v in enumerate(votes)]
    return Embedding(
        gibbs=centres.points[:count],
        truth=None if truth is None else centres.points[count],
        members=tuple(plane.points + at for plane, at in zip(planes, centres.points[:count], strict=True)),
        stress=centres.stress,
        stresses=tuple(plane.stress for plane in planes),
    )


def _distances(points: Floats) -> Floats:
    out: Floats = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    return out


def _classical(wanted: Floats) -> Floats:
    """The two leading axes of the doubly centred squares."""
    centre = np.eye(len(wanted)) - 1 / len(wanted)
    values, vectors = np.linalg.eigh(-centre @ wanted**2 @ centre / 2)
    leading = np.zeros((len(wanted), 2))
    taken = min(2, len(wanted))
    leading[:, :taken] = vectors[:, ::-1][:, :taken] * np.sqrt(np.maximum(values[::-1][:taken], 0.0))
    return leading


def _smacof(wanted: Floats, start: Floats) -> Floats:
    """Guttman's transform until it no longer helps: no step raises the stress."""
    points, before = start, np.inf
    for _ in range(STEPS):
        found = _distances(points)
        now = float(((wanted - found) ** 2).sum())
        if before - now <= ENOUGH * now:
            break
        before = now
        ratio = -np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)
        np.fill_diagonal(ratio, 0.0)
        np.fill_diagonal(ratio, -ratio.sum(axis=1))
        points = ratio @ points / len(points)
    return points


def _turned(points: Floats) -> Floats:
    centred = points - points.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    out: Floats = centred @ axes.T
    for axis in range(2):
        first = out[np.flatnonzero(np.abs(out[:, axis]) > 1e-9)[:1], axis]
        if len(first) and first[0] > 0:
            out[:, axis] = -out[:, axis]
    return out
