"""Every query method as a query strategy of modAL.

>>> import numpy as np
>>> from types import SimpleNamespace
>>> from sklearn.naive_bayes import GaussianNB
>>> X = np.arange(20.0).reshape(10, 2)
>>> learner = SimpleNamespace(estimator=GaussianNB().fit(X, [0, 1] * 5), X_training=X[:4])
>>> positions, utilities = query_strategy("entropy", seed=0)(learner, X, n_instances=2)
>>> positions.shape, utilities.shape
((2,), (2,))
"""

from collections.abc import Callable
from typing import Any

from versionspace import rng
from versionspace.adapters.strategy import choose
from versionspace.query import find
from versionspace.types import Array, Floats, Seed


def query_strategy(
    method: str, *, reference: Any = None, vote: str = "soft", seed: Seed = None, n_instances: int = 1
) -> Callable[..., tuple[Array, Floats]]:
    """Return a function (learner, X_pool, n_instances=…) -> positions in X_pool, utilities.

    It is what modAL takes as ``query_strategy``; utilities are the metrics that ``learner.query`` can return.

    The members are the learners of a `Committee`; of an `ActiveLearner`, its classifier or, if that is an ensemble of
    scikit-learn such as a random forest, its members.

    Args:
        method: a name in `versionspace.METHODS`; not ``dfal``, which needs perturbations.
        reference: samples on which distances between members are measured; by default those of the pool.
        vote: "soft" or "hard".
        seed: makes the result reproducible.
        n_instances: how many to choose, if the call does not say.
    """
    find(method)
    root = rng.root(seed)

    def strategy(learner: Any, X_pool: Any, n_instances: int = n_instances, **_: Any) -> tuple[Array, Floats]:
        members = getattr(learner, "learner_list", None)
        models = learner.estimator if members is None else [member.estimator for member in members]
        labelled = (learner if members is None else members[0]).X_training
        chosen = choose(
            method,
            n_instances,
            models=models,
            candidates=X_pool,
            labelled=X_pool[:0] if labelled is None else labelled,
            reference=X_pool if reference is None else reference,
            perturbations=None,
            vote=vote,
            seed=root,
        )
        return chosen.positions, chosen.utilities  # modAL would unpack an array of two positions

    return strategy
