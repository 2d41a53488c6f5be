"""The table of query methods, one row each; ``versionspace methods`` and docs/methods.md are generated from it.

To add a method, write its score as a function of a `Problem` and add a row here, or call `register` from outside.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from versionspace.errors import InputError
from versionspace.query import batchbald, committee, coverage, diversity, epig, probcover, typiclust, uncertainty
from versionspace.query.inputs import Problem
from versionspace.query.ranking import Selection
from versionspace.space import Beliefs, Diameter, gvd_over, pwd_over
from versionspace.text import did_you_mean
from versionspace.types import Floats, Vote


@dataclass(frozen=True)
class Method:
    """A query method: its name, its formula, its source, its cost, the functions that compute it and their inputs.

    `register` adds a method of your own.

    >>> from versionspace.query.uncertainty import entropy
    >>> Method("doubt", "Doubt", "example", "H[mean_m p_m]", "none", "M·N·C", entropy, pool="probs").needs
    ('pool',)
    """

    name: str
    label: str
    """The name as written in the literature."""
    family: str
    formula: str
    """The utility; higher means ask first."""
    paper: str
    cost: str
    score: Callable[[Problem], Floats]
    """Return the utilities of all images, float64 (N,); for a method that chooses a set, those of its first step."""
    choose: Callable[[Problem, int], Selection] | None = None
    """For methods that choose a set: return k images, best first."""
    pays: str = ""
    """From how many labels a class on the method was ahead of random, in studies/coverage; "" if not measured."""
    pool: Literal["any", "votes", "either", "probs", "one member", ""] = ""
    """What the pool must contain; "any": only the number of images matters; "either": probabilities, or votes with
    another result; "": no pool."""
    pool_optional: bool = False
    """Whether the method also works without a pool."""
    members: int = 1
    """The smallest number of members."""
    diameter: Callable[[Beliefs, Vote], Diameter] | None = None
    """Return the diameter that is used, measured on the reference set; the method then needs a reference set."""
    targets: bool = False
    """Whether probabilities on the reference set are used as such; the method then needs a reference set."""
    takes_vote: bool = False
    """Whether ``vote`` has an effect; a soft vote needs probabilities for the reference set."""
    takes_outcomes: bool = False
    """Whether ``outcomes`` has an effect."""
    features: bool = False
    network_features: bool = False
    """Whether the features are those of the trained network as published, not any features of the images."""
    labelled: bool = False
    """Whether the features of labelled images are used."""
    perturbations: bool = False

    @property
    def pointwise(self) -> bool:
        """Whether the score of an image is independent of the other images, as `Stream` requires."""
        return self.choose is None

    @property
    def works_without_members(self) -> bool:
        """Whether the method can choose the first images of all, before there are labels and members."""
        no_pool = self.pool in ("", "any") or self.pool_optional
        return no_pool and self.diameter is None and not self.perturbations

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of the required arguments."""
        given = {
            "pool": self.pool != "" and not self.pool_optional,
            "reference": self.diameter is not None or self.targets,
            "features": self.features,
            "perturbations": self.perturbations,
        }
        return tuple(name for name, needed in given.items() if needed)

    @property
    def needs_in_words(self) -> str:
        """The required arguments and what each must contain, as text."""
        pool = {
            "any": "pool (or ids)",
            "votes": "pool (votes suffice)",
            "either": "pool (probabilities or votes)",
            "probs": "pool (probabilities)",
            "one member": "pool (probabilities of one member)",
        }
        reference = f"reference ({'probabilities' if self.targets else 'votes suffice'})"
        if self.takes_vote:
            reference = "reference (probabilities; votes suffice for a hard vote)"
        words = {"pool": pool.get(self.pool, ""), "reference": reference}
        listed = [words.get(name, name) for name in self.needs] + [f"{name} (optional)" for name in self.optional]
        return ", ".join(listed)

    @property
    def optional(self) -> tuple[str, ...]:
        """The names of the arguments that may be omitted."""
        given = {"pool": self.pool_optional, "labelled_features": self.labelled}
        return tuple(name for name, possible in given.items() if possible)


def _pwd(reference: Beliefs, vote: Vote) -> Diameter:
    return pwd_over(reference)


def _m_pwd(reference: Beliefs, vote: Vote) -> Diameter:
    return pwd_over(reference, power=1)


def _m2_pwd(reference: Beliefs, vote: Vote) -> Diameter:
    return pwd_over(reference, power=2)


def _gvd(reference: Beliefs, vote: Vote) -> Diameter:
    return gvd_over(reference, vote)


def _m_gvd(reference: Beliefs, vote: Vote) -> Diameter:
    return gvd_over(reference, vote, power=1)


def _gvd_loo(reference: Beliefs, vote: Vote) -> Diameter:
    return gvd_over(reference, vote, leave_one_out=True)


_LIU = "Liu et al. 2020"

# Each row: name, label, family, formula; paper, cost; functions; inputs.
_BUILT_IN = (
    Method(
        "random", "Random", "baseline", "uniform in [0, 1)",
        "–", "N",
        uncertainty.random,
        pool="any",
    ),
    Method(
        "vr", "VR", "prior mass", "1 − max_y s_y/M",
        "Freeman 1965; " + _LIU, "M·N",
        committee.variation_ratio,
        pool="votes", members=2,
    ),
    Method(
        "ge", "GE", "prior mass", "Σ_y (s_y/M)(1 − s_y/M)",
        "Cuong et al. 2013; " + _LIU, "M·N",
        committee.gibbs_error,
        pool="votes", members=2,
    ),
    Method(
        "bald", "BALD", "uncertainty", "H[mean_m p_m] − mean_m H[p_m]",
        "Houlsby et al. 2011; Gal et al. 2017", "M·N·C",
        uncertainty.bald,
        pool="probs", members=2,
    ),
    Method(
        "coreset", "Core-Set", "representation", "min over labelled and chosen l of ‖f(x) − f(l)‖₂",
        "Sener and Savarese 2018", "N·(L + k)·F",
        diversity.distance_to_labelled, diversity.choose_coreset,
        features=True, network_features=True, labelled=True,
    ),
    Method(
        "dfal", "DFAL", "uncertainty", "−‖smallest adversarial perturbation of x‖",
        "Ducoffe and Precioso 2018", "N",
        uncertainty.smallest_perturbation,
        perturbations=True,
    ),
    Method(
        "pwd", "PWD", "diameter", "−max_y PWD(V_x^y)",
        _LIU, "M·N + M²·T + K·M²",
        committee.worst_case_diameter,
        pool="votes", members=2, diameter=_pwd,
    ),
    Method(
        "gvd", "GVD", "diameter", "−max_y GVD(V_x^y)",
        _LIU, "M·N + M·T·C + K·T'·R",
        committee.worst_case_diameter,
        pool="votes", members=2, diameter=_gvd, takes_vote=True,
    ),
    Method(
        "m2-pwd", "M²-PWD", "diameter", "−max_y (s_y/M)² PWD(V_x^y)",
        "Tosh and Dasgupta 2017; " + _LIU, "M·N + M²·T + K·M²",
        committee.worst_case_diameter,
        pool="votes", members=2, diameter=_m2_pwd,
    ),
    Method(
        "m-pwd", "M-PWD", "diameter", "−max_y (s_y/M) PWD(V_x^y)",
        _LIU + ", appendix", "M·N + M²·T + K·M²",
        committee.worst_case_diameter,
        pool="votes", members=2, diameter=_m_pwd,
    ),
    Method(
        "m-gvd", "M-GVD", "diameter", "−max_y (s_y/M) GVD(V_x^y)",
        _LIU + ", appendix", "M·N + M·T·C + K·T'·R",
        committee.worst_case_diameter,
        pool="votes", members=2, diameter=_m_gvd, takes_vote=True,
    ),
    Method(
        "gvd-loo", "GVD-LOO", "diameter", "−max_y GVD(V_x^y), each member against the vote of the others",
        "versionspace", "M·N + M·T·C + K·T'·R·s",
        committee.worst_case_diameter,
        pool="votes", members=2, diameter=_gvd_loo, takes_vote=True,
    ),
    Method(
        "gvd-batch", "GVD-Batch", "diameter", "−max GVD over the common refinement of the picks' splits and x's",
        "versionspace", "k times gvd, over ever smaller sub-spaces",
        committee.worst_case_diameter, committee.choose_gvd_batch,
        pool="votes", members=2, diameter=_gvd, takes_vote=True,
        pays="from 2 a class",
    ),
    Method(
        "entropy", "Entropy", "uncertainty", "H[mean_m p_m]",
        "Shannon 1948; Settles 2009", "M·N·C",
        uncertainty.entropy,
        pool="probs",
    ),
    Method(
        "margin", "Margin", "uncertainty", "second largest − largest of mean_m p_m",
        "Scheffer et al. 2001", "M·N·C",
        uncertainty.margin,
        pool="probs",
        pays="from 5 a class",
    ),
    Method(
        "least-confidence", "Least confidence", "uncertainty", "1 − max_c of mean_m p_m",
        "Lewis and Gale 1994", "M·N·C",
        uncertainty.least_confidence,
        pool="probs",
    ),
    Method(
        "vote-entropy", "Vote entropy", "prior mass", "−Σ_y (s_y/M) ln(s_y/M)",
        "Dagan and Engelson 1995", "M·N",
        committee.vote_entropy,
        pool="votes", members=2,
    ),
    Method(
        "batchbald", "BatchBALD", "uncertainty", "H[y_picks, y_x] − H[y_picks] − mean_m H[p_m]",
        "Kirsch et al. 2019", "M·N·C, then min(C^k, 10,000)·M·C for each image scored",
        uncertainty.bald, batchbald.choose_batchbald,
        pool="probs", members=2, takes_outcomes=True,
    ),
    Method(
        "power-bald", "PowerBALD", "uncertainty", "ln(H[mean_m p_m] − mean_m H[p_m]) + Gumbel noise",
        "Kirsch et al. 2023", "M·N·C",
        uncertainty.power_bald,
        pool="probs", members=2,
    ),
    Method(
        "epig", "EPIG", "uncertainty", "mean over reference images t of H[y_x] + H[y_t] − H[y_x, y_t]",
        "Bickford Smith et al. 2023", "M·N·T·C², with T at most 500",
        epig.epig,
        pool="probs", members=2, targets=True,
    ),
    Method(
        "badge", "BADGE", "representation", "‖(p − e_ŷ) ⊗ f‖₂, then drawn ∝ squared distance to the nearest pick",
        "Ash et al. 2020", "k·N·(C + F)",
        diversity.gradient_norm, diversity.choose_badge,
        pool="one member", features=True,
    ),
    Method(
        "maxherding", "MaxHerding", "coverage", "E_x[max(k(x, x̃) − covered(x), 0)]",
        "Bae et al. 2024", "N·(T + L)·F, then about N·T·ln k",
        coverage.herding_gain, coverage.choose_herding,
        features=True, labelled=True,
        pays="from 2 a class",
    ),
    Method(
        "uherding", "UHerding", "coverage", "E_x[(1 − margin(x))·max(k(x, x̃) − covered(x), 0)]",
        "Bae et al. 2025", "M·N·C + N·(T + L)·F + L²·F, then about N·T·ln k",
        coverage.uherding_gain, coverage.choose_uherding,
        pool="probs", pool_optional=True, features=True, labelled=True,
        pays="from 2 a class",
    ),
    Method(
        "pwd-cover", "PWD-Cover", "coverage", "E_x[w(x)·max(k(x, x̃) − covered(x), 0)], w = 1 − covered·(1 − GE)",
        "versionspace", "M·N·C + N·(T + L)·F, then about N·T·ln k",
        coverage.pwd_cover_gain, coverage.choose_pwd_cover,
        pool="either", pool_optional=True, members=2, features=True, labelled=True,
        pays="from 2 a class",
    ),
    Method(
        "gvd-cover", "GVD-Cover", "coverage", "E_x[w(x)·max(k(x, x̃) − covered(x), 0)], w = 1 − covered·(1 − VR)",
        "versionspace", "M·N·C + N·(T + L)·F, then about N·T·ln k",
        coverage.gvd_cover_gain, coverage.choose_gvd_cover,
        pool="either", pool_optional=True, members=2, features=True, labelled=True,
        pays="from 2 a class",
    ),
    Method(
        "probcover", "ProbCover", "coverage", "share of images within a radius of x that no label's ball contains",
        "Yehuda et al. 2022", "N·(T + L)·F + T²·F, then about N·T·ln k",
        probcover.ball_share, probcover.choose_probcover,
        features=True, labelled=True,
        pays="not up to 20 a class",
    ),
    Method(
        "typiclust", "TypiClust", "coverage", "1 / mean distance to 20 neighbours in the largest unlabelled cluster",
        "Hacohen et al. 2022", "N·(L + k)·F for each iteration of k-means, and s²·F for a pick in a cluster of s",
        typiclust.first_typicality, typiclust.choose_typiclust,
        features=True, labelled=True,
        pays="from 2 a class",
    ),
)  # fmt: skip

TABLE: dict[str, Method] = {method.name: method for method in _BUILT_IN}
"""All query methods by name: the built-in ones, then those that `register` added."""
METHODS: tuple[str, ...] = tuple(TABLE)
"""The names of the built-in query methods, in table order; `names` also returns registered ones."""


def names() -> tuple[str, ...]:
    """Return the names of all query methods, in table order."""
    return tuple(TABLE)


def find(name: str) -> Method:
    """Return the method of this name. Raises `InputError`, which suggests the most similar name."""
    if isinstance(name, str) and name in TABLE:
        return TABLE[name]
    raise InputError(
        "method",
        expected="one of " + ", ".join(names()),
        got=repr(name),
        fix=did_you_mean(str(name).lower().replace("_", "-"), names(), "See versionspace.METHODS."),
    )


_NAME = re.compile("[a-z][a-z0-9]*(-[a-z0-9]+)*")


def register(method: Method) -> None:
    """Add a query method to the table, for this process.

    Its name can then be used wherever a built-in name can: `query`, `utilities`, `Stream`, configs and reports.
    Raises `InputError` if the name is taken or malformed, or if the method has no argument that lists the images.

    >>> def middle(problem: Problem) -> Floats:
    ...     return 0.0 - abs(problem.positions() - problem.images / 2)
    >>> register(Method("middle", "Middle", "example", "-|n - N/2|", "none", "N", middle, pool="any"))
    >>> import versionspace as vs
    >>> vs.query("middle", 1, ids=["a", "b", "c", "d"]).tolist()
    ['c']
    >>> del TABLE["middle"]
    """
    if not _NAME.fullmatch(method.name):
        raise InputError(
            "method.name",
            expected="lowercase words and digits joined by hyphens",
            got=repr(method.name),
            fix="For example 'my-method'.",
        )
    if method.name in TABLE:
        raise InputError("method.name", expected="a new name", got=repr(method.name), fix="This method exists already.")
    if not set(method.needs) & {"pool", "features", "perturbations"}:
        raise InputError(
            "method",
            expected="pool, features or perturbations among its arguments",
            got="none of them",
            fix="Set pool='any' if the method needs only the number of images.",
        )
    TABLE[method.name] = method
