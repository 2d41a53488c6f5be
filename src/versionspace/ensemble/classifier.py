"""What `Ensemble` has in common with the classifiers of scikit-learn: parameters, classes of any kind, predictions."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from versionspace.ensemble.arguments import read_labels, to_array
from versionspace.errors import InputError
from versionspace.types import Array, ArrayLike, is_count

BLOCK = 4_096
"""Images whose probabilities are averaged at a time."""


class Classifier:
    """Parameters and predictions in the style of scikit-learn, for a class with ``predict_proba`` and ``_params``."""

    classes_: Array
    """(C,): the classes, in the order of the columns of ``predict_proba``."""
    _params: dict[str, Any]
    """The arguments of the constructor as they were passed."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor; ``deep`` is for scikit-learn and has no effect."""
        return dict(self._params)

    def set_params(self, **params: Any) -> Self:
        """Set arguments of the constructor. The ensemble then has to be fitted again."""
        unknown = sorted(set(params) - set(self._params))
        if unknown:
            raise InputError(
                unknown[0], expected="one of " + ", ".join(self._params), got="another name", fix="See get_params()."
            )
        type(self).__init__(self, **{**self._params, **params})
        return self

    def predict_proba(self, images: ArrayLike, members: bool = False) -> Array:
        """Return probabilities; implemented by the ensemble."""
        raise NotImplementedError

    def predict(self, images: ArrayLike) -> Array:
        """Return the class that the soft vote of the members chooses for each image, (N,), as in ``classes_``."""
        winners: Array = self.predict_proba(images).argmax(axis=1)
        return self.classes_[winners]

    def score(self, images: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike = None) -> float:
        """Return the accuracy of `predict`, optionally with a weight for each image."""
        right = self.predict(images) == np.asarray(labels)
        return float(np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight)))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags  # type: ignore[import-untyped]

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(poor_score=True),
            input_tags=InputTags(),
        )


def mean_over_members(probs_MNC: Array) -> Array:
    """Return the mean probabilities, float64 (N, C), summed in member order as for a soft vote."""
    total: Array = probs_MNC[0].astype(np.float64)
    for member in probs_MNC[1:]:
        total += member
    return total / len(probs_MNC)


def read_classes(classes: int | Sequence[Any] | None) -> int | Array | None:
    """Return the number of classes, their names, or None: those of the labels."""
    if classes is None or is_count(classes):
        return None if classes is None else int(classes)
    names = np.asarray(classes) if isinstance(classes, Sequence | np.ndarray) and not isinstance(classes, str) else None
    if names is None or names.ndim != 1 or len(names) == 0 or len(set(names.tolist())) < len(names):
        raise InputError(
            "classes",
            expected="a whole number of at least 1, a list of different classes, or None for those of the labels",
            got=repr(classes),
            fix="Pass classes=10 for labels from 0 to 9, or classes=['cat', 'dog'].",
        )
    return names


def count_classes(classes: int | Array | None) -> int:
    """Return C; 0 before the labels are known."""
    if classes is None:
        return 0
    return classes if isinstance(classes, int) else len(classes)


def encode(labels: ArrayLike, count: int, classes: int | Array | None, name: str = "labels") -> tuple[Array, Array]:
    """Return labels as int64 (count,) from 0 to C − 1, and the C classes that these stand for."""
    if isinstance(classes, int):
        return read_labels(labels, count, classes, name), np.arange(classes)
    if labels is None:
        return read_labels(labels, count, 1, name), np.arange(1)
    array = to_array(labels, name)
    with np.errstate(invalid="ignore"):
        whole = array.dtype.kind != "f" or bool((np.isfinite(array) & (array == np.floor(array))).all())
    if array.shape != (count,) or array.dtype.kind not in "iubfUOT" or not whole:
        raise InputError(
            name,
            expected=f"one class of shape ({count},) for each image: whole numbers or names",
            got=f"{array.dtype} of shape {array.shape}" + ("" if whole else ", not all whole numbers"),
            fix="Pass the class of each image, in the same order.",
        )
    names = np.unique(array) if classes is None else classes
    position = {value: i for i, value in enumerate(names.tolist())}
    unknown = [value for value in array.tolist() if value not in position]
    if unknown:
        raise InputError(
            name, expected=f"classes among {', '.join(map(repr, names.tolist()[:10]))}", got=repr(unknown[0]),
            fix="Leave out images of other classes, or pass classes=… with all of them.",
        )  # fmt: skip
    return np.array([position[value] for value in array.tolist()], np.int64), names
