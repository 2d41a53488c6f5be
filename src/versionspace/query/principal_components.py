"""The coordinates in which coverage is measured: leading principal components of features of length 1.

Features of pretrained networks share a large mean, which makes all images look alike, and have most of their structure
in a few directions. They are scaled to length 1, so that no single image dominates; projected to the directions in
which they vary most about their mean; and scaled to length 1 again. On lite0 features of CIFAR-10, 30 labels that
MaxHerding chose gave 65.8% without the projection and 67.3% with it, which also takes a twentieth of the time.
"""

import numpy as np

from versionspace import rng
from versionspace.query.unit_rows import blocks, unit_rows
from versionspace.types import Array, Ints

COMPONENTS = 64
_SPARE = 16
"""Further directions that are followed while the leading ones are determined."""
_PASSES = 4
_BLOCK = 4_096
"""Rows projected at a time."""


class PrincipalComponents:
    """A projection to the principal components of some rows, about their mean.

    Components are found by a randomised range finder (Halko, Martinsson and Tropp 2011). With at most `COMPONENTS`
    features, only the mean is subtracted. Cost T·F·(`COMPONENTS` + 16)·10.

    Args:
        features: (N, F), in memory or on disk.
        rows: the positions of the rows to fit, (T,).
        seed: of the range finder.
    """

    def __init__(self, features: Array, rows: Ints, seed: int) -> None:
        sample = unit_rows(features, rows)
        self.mean: Array = sample.mean(axis=0, dtype=np.float64).astype(np.float32)
        self.directions: Array | None = None
        """(F, `COMPONENTS`), orthonormal; None if all features are kept."""
        if sample.shape[1] > COMPONENTS:
            self.directions = _leading_directions(sample - self.mean, rng.key(seed, "components"))

    def __call__(self, features: Array) -> Array:
        """Return rows (n, F) in these coordinates, scaled to length 1: float32 (n, min(F, `COMPONENTS`))."""
        width = len(self.mean) if self.directions is None else self.directions.shape[1]
        projected = np.empty((len(features), width), np.float32)
        for some in blocks(len(features), _BLOCK):
            centred = unit_rows(features, some) - self.mean
            projected[some] = centred if self.directions is None else centred @ self.directions
            projected[some] = unit_rows(projected, some)
        return projected


def _leading_directions(centred: Array, seed: int) -> Array:
    """Return orthonormal directions (F, `COMPONENTS`) along which the rows (T, F) vary most."""
    count = min(COMPONENTS + _SPARE, *centred.shape)
    start = rng.generator(seed, "start").standard_normal((centred.shape[1], count)).astype(np.float32)
    basis, _ = np.linalg.qr(centred @ start)
    for _ in range(_PASSES):
        basis, _ = np.linalg.qr(centred.T @ basis)
        basis, _ = np.linalg.qr(centred @ basis)
    _, _, directions = np.linalg.svd(basis.T @ centred, full_matrices=False)
    leading: Array = np.ascontiguousarray(directions[:COMPONENTS].T)
    return leading
