"""Every query method as a query strategy of scikit-activeml.

>>> import numpy as np
>>> from sklearn.naive_bayes import GaussianNB
>>> X = np.arange(20.0).reshape(10, 2)
>>> y = np.array([0.0, np.nan, np.nan, 0.0, np.nan, np.nan, 1.0, np.nan, np.nan, 1.0])
>>> VersionSpaceQuery("margin", random_state=0).query(X, y, ensemble=GaussianNB(), batch_size=2).shape
(2,)
"""

from typing import Any

import numpy as np
from skactiveml.base import SingleAnnotatorPoolQueryStrategy  # type: ignore[import-untyped]
from skactiveml.utils import MISSING_LABEL, is_labeled  # type: ignore[import-untyped]
from sklearn.base import clone  # type: ignore[import-untyped]

from versionspace.adapters.strategy import choose, len_of
from versionspace.query import find
from versionspace.types import Array


class VersionSpaceQuery(SingleAnnotatorPoolQueryStrategy):  # type: ignore[misc]
    """A method of `versionspace.METHODS` as a `SingleAnnotatorPoolQueryStrategy`.

    Args:
        method: the name of the method.
        vote: "soft" or "hard", for the methods based on the Gibbs-vote disagreement.
        missing_label: what stands in ``y`` for an unknown label.
        random_state: makes the result reproducible.
    """

    def __init__(
        self,
        method: str = "gvd-batch",
        vote: str = "soft",
        missing_label: Any = MISSING_LABEL,
        random_state: Any = None,
    ) -> None:
        super().__init__(missing_label=missing_label, random_state=random_state)
        self.method = method
        self.vote = vote

    def query(
        self,
        X: Any,
        y: Any,
        ensemble: Any = None,
        fit_ensemble: bool = True,
        reference: Any = None,
        perturbations: Any = None,
        candidates: Any = None,
        batch_size: int = 1,
        return_utilities: bool = False,
    ) -> Array | tuple[Array, Array]:
        """Return the positions of the samples to label next, (batch_size,), best first.

        Args:
            X: all samples (n, F), labelled and unlabelled.
            y: their labels (n,), with ``missing_label`` where unknown.
            ensemble: a list of classifiers, a single one, or an ensemble of scikit-learn such as a random forest; not
                for methods that look at features only.
            fit_ensemble: whether to fit a copy of it to the labelled samples first.
            reference: samples (T, F) on which distances between members are measured; by default those of X.
            perturbations: one number for each candidate, for ``dfal``.
            candidates: None for the unlabelled samples, positions in X, or samples (m, F).
            batch_size: how many to choose.
            return_utilities: also return utilities (batch_size, n), or (batch_size, m) for candidates that are samples:
                row i has NaN for samples that are no candidates or were chosen before. The utility of the sample chosen
                at step i is that of the step; those of the others are known for methods that score each sample
                independently, and NaN for those that choose a set.
        """
        X, y, candidates, batch_size, return_utilities = self._validate_data(
            X, y, candidates, batch_size, return_utilities, reset=True
        )
        rows, mapping = self._transform_candidates(candidates, X, y)
        known = is_labeled(y, missing_label=self.missing_label_)
        models = _fitted(ensemble, X[known], y[known]) if fit_ensemble and ensemble is not None else ensemble
        given = {
            "models": models,
            "candidates": rows,
            "labelled": X[known],
            "reference": X if reference is None else np.asarray(reference),
            "perturbations": perturbations,
            "vote": self.vote,
            "seed": int(self.random_state_.randint(2**31 - 1)),
        }
        chosen = choose(self.method, batch_size, **given)
        indices: Array = chosen.positions if mapping is None else mapping[chosen.positions]
        if not return_utilities:
            return indices
        utilities = np.full((batch_size, len_of(rows) if mapping is None else len(X)), np.nan)
        if find(self.method).pointwise:
            ranked = choose(self.method, len_of(rows), **given)
            utilities[:, ranked.positions if mapping is None else mapping[ranked.positions]] = ranked.utilities
        for step, index in enumerate(indices.tolist()):
            utilities[step, index] = chosen.utilities[step]
            utilities[step + 1 :, index] = np.nan
        return indices, utilities


def _fitted(ensemble: Any, X: Array, y: Array) -> Any:
    """Return copies of classifiers, fitted to the labelled samples."""
    if isinstance(ensemble, list | tuple):
        return [clone(model).fit(X, y) for model in ensemble]
    return clone(ensemble).fit(X, y)
