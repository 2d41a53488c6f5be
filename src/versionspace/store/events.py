"""The events of a ledger. A label is never changed: a new answer for the same image is a new event.

kind        body
begun       settings, seed, classes, sizes of groups and chunks, checksums of the dataset
split       checksum of split.npz, numbers of images; a hash of the labels if they are known
class       name of a class that was added later
renamed     class, to
merged      class, into: labels of the class are labels of the other one from then on
deleted     class: its labels no longer count, and their images are asked again
ordered     classes: in the order in which the page shows them; the order of the others is kept
described   class, and key or guidance: the key that chooses it, a line on what belongs to it
proposed    see `Proposed`
answered    see `Answered`
closed      empty: the round ended although answers are missing
measured    see `versionspace.store.metrics.RoundMetrics`
ended       why
final       see `versionspace.store.metrics.FinalModel`
reopened    total: the budget from now on; rules: "past" if stop rules no longer apply
target      accuracy: what is good enough from now on
check       images: label the audit before anything else, until it has this many answers
resumed     empty: the environment says when and where, and for a person's campaign what has changed since it began
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from versionspace.types import Array, ImageId


@dataclass(frozen=True)
class Event:
    """One row of the ledger."""

    kind: str
    round: int = 0
    body: Mapping[str, Any] = field(default_factory=dict)
    """What is the same in every run with this config and these answers."""
    who: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """What depends on the clock or the machine: seconds, versions, threads."""
    uid: str | None = None
    """Chosen by the sender; the ledger stores each uid once."""
    at: float = 0.0
    """Seconds since 1970; set on commit."""
    number: int = 0
    """Position in the ledger, from 1; set on commit."""


@dataclass(frozen=True)
class Proposed:
    """The body of a "proposed" event: images to label."""

    part: int
    """Number of the proposal within its round, from 0."""
    purpose: str
    """"audit", "initial", "cold start" or "query"."""
    ids: tuple[ImageId, ...]
    """Best first."""
    utilities: tuple[float, ...]

    def to_body(self) -> dict[str, Any]:
        """Return the proposal as JSON data."""
        return {"part": self.part, "purpose": self.purpose, "ids": list(self.ids), "utilities": list(self.utilities)}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> "Proposed":
        """Return what `to_body` wrote. Raises KeyError or TypeError if it is damaged.

        >>> proposed = Proposed(0, "query", (7, 3), (0.5, 0.4))
        >>> Proposed.from_body(proposed.to_body()) == proposed
        True
        """
        return cls(body["part"], body["purpose"], tuple(body["ids"]), tuple(body["utilities"]))


@dataclass(frozen=True)
class Answered:
    """The body of an "answered" event: the answer for one image."""

    id: ImageId
    name: str | None
    """The class; None if the image was skipped."""
    part: int
    """Number of the proposal that asked for the image, within its round."""
    rank: int
    """Position of the image in that proposal."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """How the image was presented, and why it has no class: "seconds", "guess", "reason" and others."""

    def to_body(self) -> dict[str, Any]:
        """Return the answer as JSON data; the details are keys beside the others."""
        return {"id": self.id, "class": self.name, "part": self.part, "rank": self.rank, **self.details}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> "Answered":
        """Return what `to_body` wrote. Raises KeyError if it is damaged.

        >>> answered = Answered(7, "cat", part=0, rank=1, details={"seconds": 1.5})
        >>> Answered.from_body(answered.to_body()) == answered
        True
        """
        details = {key: value for key, value in body.items() if key not in ("id", "class", "part", "rank")}
        return cls(body["id"], body["class"], body["part"], body["rank"], details)


def as_ids(array: Array) -> tuple[ImageId, ...]:
    """Return ids as Python's own integers or strings, as events hold them."""
    return tuple(np.asarray(array).tolist())


def canonical_json(value: Mapping[str, Any]) -> str:
    """Return JSON with sorted keys and without spaces. Raises ValueError for a number that is not finite."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def chain_hash(previous: str, event: Event, at: float) -> str:
    """Return a hash of an event and of the previous event's hash, so that `verify` detects a changed event."""
    body, environment = canonical_json(event.body), canonical_json(event.environment)
    fields = [previous, event.kind, event.round, body, event.who, environment, event.uid, at]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()
