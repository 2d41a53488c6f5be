"""The metrics of a round as typed records: the body of a "measured" event.

The numbers are computed in `versionspace.campaign.metrics`; docs/campaigns.md defines each of them.
"""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Any

FIT_THRESHOLD = 0.99
"""With a lower mean fit, the members do not fit their labels and are not samples of the version space."""

HEADLINE_SETS = ("test", "validation", "reference")
"""The sets of images that may stand for a round when a single number is reported, in order of preference."""


@dataclass(frozen=True)
class SetMetrics:
    """Metrics on one set of images, as shares. Metrics that need labels are None if labels are unknown."""

    images: int
    pwd: float
    gvd: float
    """Against the soft vote."""
    gvd_hard: float
    agreement: float
    accuracy: float | None = None
    """Mean over members."""
    accuracy_deviation: float | None = None
    """Standard deviation over members."""
    vote_accuracy: float | None = None
    wrong_agreement: float | None = None
    gibbs_distance: float | None = None
    """Error of a random member outside the agreement region."""
    vote_distance: float | None = None
    """Error of the vote outside the agreement region."""

    def to_body(self) -> dict[str, Any]:
        """Return the known metrics as JSON data."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> "SetMetrics":
        """Return what `to_body` wrote. Raises KeyError or TypeError if a metric is missing or unknown."""
        _require(cls, body)
        return cls(**body)


@dataclass(frozen=True)
class AuditMetrics:
    """Accuracy of the vote on the audit, with a confidence interval that is valid in all rounds simultaneously."""

    images: int
    accuracy: float | None
    """None if no audit image is labelled."""
    low: float
    high: float


@dataclass(frozen=True)
class RoundMetrics:
    """Everything that a round measured."""

    labels: int
    """Number of labels that the members were trained on."""
    classes: Mapping[str, int]
    """Number of labels of each class."""
    fit: float
    """Mean share of its training labels that a member reproduces."""
    consistent: float
    """Share of members that reproduce all of their training labels."""
    epochs: float
    """Mean over members."""
    diameter: float
    """PWD on the reference set."""
    kappa: float | None
    """Agreement with the vote of the previous round; None in the first."""
    audit: AuditMetrics | None
    votes_sha256: str
    sets: Mapping[str, SetMetrics]
    """By name: "test", "validation", "reference", "pool"."""
    weights_sha256: Mapping[str, str] | None = None
    """By file; None if this round's members were not saved."""

    def to_body(self) -> dict[str, Any]:
        """Return the metrics as JSON data: the body of the "measured" event."""
        body = {one.name: getattr(self, one.name) for one in fields(self)}
        body["classes"] = dict(self.classes)
        body["audit"] = None if self.audit is None else asdict(self.audit)
        body["sets"] = {name: metrics.to_body() for name, metrics in self.sets.items()}
        if self.weights_sha256 is None:
            del body["weights_sha256"]
        return body

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> "RoundMetrics":
        """Return what `to_body` wrote. Raises KeyError or TypeError if a metric is missing or unknown.

        >>> metrics = RoundMetrics(labels=10, classes={"cat": 4, "dog": 6}, fit=1.0, consistent=1.0, epochs=30.0,
        ...                        diameter=0.2, kappa=None, audit=None, votes_sha256="", sets={})
        >>> RoundMetrics.from_body(metrics.to_body()) == metrics
        True
        """
        _require(cls, body)
        audit = body["audit"]
        sets = {name: SetMetrics.from_body(metrics) for name, metrics in body["sets"].items()}
        return cls(**{**body, "audit": None if audit is None else AuditMetrics(**audit), "sets": sets})

    def after_edit(self, before: str, after: str | None) -> "RoundMetrics":
        """Return the metrics after a class was renamed, merged into another, or, with None, deleted."""
        counts: dict[str, int] = {}
        for name, count in self.classes.items():
            now = after if name == before else name
            if now is not None:
                counts[now] = counts.get(now, 0) + count
        return replace(self, classes=counts)

    def headline_set(self) -> SetMetrics | None:
        """Return the metrics on the first of `HEADLINE_SETS` that exists; None if none does."""
        return next((self.sets[name] for name in HEADLINE_SETS if name in self.sets), None)

    def headline(self, name: str) -> float | None:
        """Return one metric on the first of `HEADLINE_SETS` where it is known; None if it is unknown on all."""
        known = (getattr(self.sets[one], name) for one in HEADLINE_SETS if one in self.sets)
        return next((value for value in known if value is not None), None)

    @property
    def samples_version_space(self) -> bool:
        """Whether the members fit their labels."""
        return self.fit >= FIT_THRESHOLD


@dataclass(frozen=True)
class FinalModel:
    """The body of a "final" event: the members that were trained on all labels after the end."""

    labels: int
    """Number of labels that they were trained on."""
    audit: int
    """How many of them are of the audit."""
    weights_sha256: Mapping[str, str]
    """By file."""

    def to_body(self) -> dict[str, Any]:
        """Return the record as JSON data."""
        return asdict(self)

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> "FinalModel":
        """Return what `to_body` wrote. Raises KeyError or TypeError if something is missing or unknown."""
        _require(cls, body)
        return cls(**body)


def _require(record: type, body: Mapping[str, Any]) -> None:
    """Raise KeyError for the first field without a default that is missing."""
    for one in fields(record):
        if one.default is MISSING and one.name not in body:
            raise KeyError(one.name)
