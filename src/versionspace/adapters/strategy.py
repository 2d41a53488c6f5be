"""From fitted classifiers and rows of features to the arguments of `versionspace.query`, for all adapters."""

from typing import Any

import numpy as np

from versionspace.classifiers import committee
from versionspace.errors import InputError
from versionspace.query import Chosen, Method, find, query
from versionspace.types import Array, ArrayLike, Seed

REFERENCE = 2_000
"""Largest number of rows that serve as reference set by default."""


def choose(
    method: str,
    k: int,
    *,
    models: Any,
    candidates: Any,
    labelled: Any,
    reference: Any,
    perturbations: ArrayLike,
    vote: str,
    seed: Seed,
) -> Chosen:
    """Return the k candidates to label next, by position among the candidates, with what the method needs.

    Args:
        method: a name in `versionspace.METHODS`.
        k: how many to choose.
        models: a fitted classifier, a fitted ensemble of scikit-learn, or a list of classifiers.
        candidates: rows that may be chosen.
        labelled: labelled rows; their features, and those of the candidates, are the rows themselves.
        reference: rows on which distances between members are measured.
        perturbations: for `dfal`, the size of each candidate's smallest adversarial perturbation.
        vote: "soft" or "hard".
        seed: as for `versionspace.query`.
    """
    row = find(method)
    given: dict[str, Any] = {}
    if row.pool and row.pool != "any" and (models is not None or not row.pool_optional):
        given["pool"] = _probabilities(row, models, candidates)
    if "reference" in row.needs:
        given["reference"] = _probabilities(row, models, _sample(reference))
    if row.features:
        given["features"] = _dense(candidates)
    if row.labelled and len_of(labelled):
        given["labelled_features"] = _dense(labelled)
    if row.perturbations:
        given["perturbations"] = perturbations
    if row.takes_vote:
        given["vote"] = vote
    return query(method, k, ids=np.arange(len_of(candidates)), seed=seed, return_record=True, **given)


def len_of(rows: Any) -> int:
    """Return the number of rows."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _probabilities(method: Method, models: Any, rows: Any) -> Array:
    """Return the probabilities of the members; those of their mean for methods that look at one model."""
    if models is None:
        raise InputError(
            "ensemble", expected=f"fitted classifiers, since {method.name!r} looks at their predictions", got="None",
            fix="Pass a list of classifiers, or one with estimators_ such as a random forest.",
        )  # fmt: skip
    listed = models if isinstance(models, list | tuple) or hasattr(models, "estimators_") else [models]
    probs = committee(listed, rows)
    return probs.mean(axis=0) if method.pool == "one member" else probs


def _sample(rows: Any) -> Any:
    """Return at most `REFERENCE` rows, evenly spaced, so that they are the same in every round."""
    count = len_of(rows)
    if count <= REFERENCE:
        return rows
    kept = np.linspace(0, count - 1, REFERENCE).astype(np.int64)
    return rows[kept] if hasattr(rows, "shape") else [rows[i] for i in kept]


def _dense(rows: Any) -> Array:
    """Return rows as a dense array (n, F)."""
    array = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
    return array.reshape(len(array), -1)
