"""Committees of classifiers in the style of scikit-learn: their probabilities side by side, with their classes aligned.

A classifier is anything with ``predict_proba`` and ``classes_``. Members of a committee often saw different classes,
because a small or resampled set of labels lacks some: column 2 of one member is then another class than column 2 of the
next. Nothing fails, and every disagreement is wrong.
"""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from versionspace import rng
from versionspace.errors import InputError
from versionspace.space import as_array
from versionspace.types import Array, ArrayLike, Ints, Seed, is_count

ROWS = 10_000
"""Rows of X that a member predicts at a time."""
_DRAWS = 100
"""Attempts to draw a bootstrap sample with at least two classes."""


def committee(models: Any, X: ArrayLike, *, classes: ArrayLike = None, rows: int = ROWS) -> Array:
    """Return the probabilities of fitted classifiers on the rows of X, (M, N, C), with the same classes for all.

    A class that a member has not seen has probability 0 for it. Cost: that of ``predict_proba`` for each member.

    Args:
        models: fitted classifiers with ``predict_proba`` and ``classes_``, such as what `bootstrap_committee` returns;
            or a fitted ensemble of scikit-learn, such as a random forest, whose members are in ``estimators_``.
        X: what they predict, with N rows: an array, a sparse matrix, a data frame or a list of texts.
        classes: the C classes in the order of the columns; by default all that a member knows, sorted.
        rows: how many rows are predicted at a time.

    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> first = LogisticRegression().fit(X[:3], ["a", "b", "c"])
    >>> second = LogisticRegression().fit(X[1:], ["b", "c", "c"])
    >>> committee([first, second], X).shape, committee([first, second], X)[1, :, 0].tolist()
    ((2, 4, 3), [0.0, 0.0, 0.0, 0.0])
    """
    if classes is None and _has_members(models):
        classes = np.arange(len(models.classes_))  # its members know classes by their numbers
    members = _read_models(models.estimators_ if _has_members(models) else models)
    known = [np.asarray(model.classes_) for model in members]
    columns = np.unique(np.concatenate(known)) if classes is None else as_array(classes, "classes")
    where = [_columns_of(own, columns, m) for m, own in enumerate(known)]
    N = _length(X)
    probs: Array | None = None
    for some in _chunks(N, rows):
        for m, model in enumerate(members):
            part = np.asarray(model.predict_proba(_take(X, some)))
            if part.shape != (some.stop - some.start, len(known[m])):
                raise InputError(
                    f"models[{m}].predict_proba",
                    expected=f"shape ({some.stop - some.start}, {len(known[m])}), a column for each of its classes_",
                    got=f"{part.shape}",
                    fix="Classifiers with several outputs are not supported: pass one for each output.",
                )
            if probs is None:
                probs = np.zeros((len(members), N, len(columns)), part.dtype)
            probs[m, some, where[m]] = part.T
    assert probs is not None
    return probs


def bootstrap_committee(
    estimator: Any, X: ArrayLike, y: ArrayLike, members: int = 10, seed: Seed = 0, sample_weight: ArrayLike = None
) -> list[Any]:
    """Return copies of a classifier, each fitted to rows of X and y that are drawn with replacement.

    A draw has at least two classes. Random states of the classifier that are None become functions of the seed.

    Args:
        estimator: a classifier with ``fit``, ``predict_proba`` and ``classes_``, such as those of scikit-learn.
        X: n labelled rows: an array, a sparse matrix, a data frame or a list of texts.
        y: their classes (n,), numbers or names.
        members: M.
        seed: makes the result reproducible.
        sample_weight: (n,), passed on to ``fit``.

    >>> from sklearn.linear_model import LogisticRegression
    >>> models = bootstrap_committee(LogisticRegression(), [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], members=3)
    >>> committee(models, [[0.5], [2.5]]).shape
    (3, 2, 2)
    """
    if isinstance(estimator, type) or not callable(getattr(estimator, "fit", None)):
        raise InputError(
            "estimator", expected="a classifier with fit and predict_proba", got=_name(estimator),
            fix="Pass an instance, for example LogisticRegression().",
        )  # fmt: skip
    if not is_count(members):
        raise InputError("members", expected="a whole number of at least 1", got=repr(members), fix="Pass a number.")
    labels, root = as_array(y, "y"), rng.root(seed)
    if labels.ndim != 1 or len(labels) != _length(X) or len(np.unique(labels)) < 2:
        raise InputError(
            "y", expected=f"the class of each of the {_length(X)} rows of X, at least two different classes",
            got=f"shape {labels.shape}, {len(np.unique(labels))} classes", fix="Label an example of another class.",
        )  # fmt: skip
    weights = None if sample_weight is None else as_array(sample_weight, "sample_weight")
    models = []
    for m in range(members):
        rows = _draw(labels, rng.generator(root, "bootstrap", m))
        fit = {} if weights is None else {"sample_weight": weights[rows]}
        models.append(_copy(estimator, rng.key(root, "member", m)).fit(_take(X, rows), labels[rows], **fit))
    return models


def _draw(labels: Array, generator: np.random.Generator) -> Ints:
    """Return rows drawn with replacement, of at least two classes."""
    for _ in range(_DRAWS):
        rows = np.sort(generator.integers(0, len(labels), len(labels)))
        if (labels[rows] != labels[rows[0]]).any():
            return rows
    other = np.flatnonzero(labels != labels[rows[0]])
    rows[-1] = other[generator.integers(len(other))]
    return np.sort(rows)


def _copy(estimator: Any, key: int) -> Any:
    """Return an unfitted copy, with random states of its own where the estimator leaves them open."""
    if not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    from sklearn.base import clone  # type: ignore[import-untyped]

    made = clone(estimator)
    states = [name for name, value in made.get_params().items() if name.endswith("random_state") and value is None]
    return made.set_params(**dict.fromkeys(states, key % 2**31))


def _has_members(models: Any) -> bool:
    """Return whether this is a fitted ensemble of classifiers, as those of scikit-learn are."""
    found = getattr(models, "estimators_", None)
    if found is None or not hasattr(models, "classes_"):
        return False
    return np.ndim(found) == 1 and all(hasattr(member, "predict_proba") for member in found)


def _read_models(models: Any) -> list[Any]:
    if callable(getattr(models, "predict_proba", None)) or not hasattr(models, "__iter__"):
        raise InputError(
            "models", expected="a list of fitted classifiers", got=_name(models),
            fix="For a single model, pass its predict_proba to versionspace.query, or [model] here.",
        )  # fmt: skip
    listed = list(models)
    if not listed:
        raise InputError("models", expected="at least one fitted classifier", got="none", fix="Fit some first.")
    for m, model in enumerate(listed):
        for attribute, fix in (
            ("predict_proba", "Use a classifier with probabilities; CalibratedClassifierCV adds them to others."),
            ("classes_", "Call fit first, or use a classifier in the style of scikit-learn."),
        ):
            if not hasattr(model, attribute):
                raise InputError(
                    f"models[{m}]", expected=f"a fitted classifier with {attribute}", got=_name(model), fix=fix
                )
    return listed


def _columns_of(own: Array, columns: Array, member: int) -> Ints:
    """Return the columns of a member's classes. Raises `InputError` if one of them has none."""
    position = {value: i for i, value in enumerate(columns.tolist())}
    unknown = [value for value in own.tolist() if value not in position]
    if unknown:
        raise InputError(
            "classes", expected=f"every class of models[{member}]", got=f"no {unknown[0]!r}",
            fix="Leave classes out to use all that a member knows.",
        )  # fmt: skip
    return np.array([position[value] for value in own.tolist()], np.int64)


def _name(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _length(X: ArrayLike) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _chunks(count: int, size: int) -> Iterator[slice]:
    if count == 0:
        raise InputError("X", expected="at least one row", got="none", fix="There is nothing to predict.")
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def _take(X: Any, rows: Ints | slice) -> Any:
    """Return some rows of an array, a sparse matrix, a data frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    if hasattr(X, "shape"):
        return X[rows]
    return X[rows] if isinstance(rows, slice) else [X[i] for i in rows.tolist()]
