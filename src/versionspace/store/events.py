"""Events: what a ledger holds. A label is never changed; a new answer to the same image is a new event.

kind        body
begun       settings, seed, classes, sizes of groups and chunks, checksums of the dataset
split       checksum of split.npz, numbers of images; with known labels a hash of them
class       a class that was added later
proposed    part, purpose ("audit", "initial", "cold start", "query"), ids best first, utilities
answered    id, class (None: skipped), part and rank of the proposal, and how it was shown
closed      the round is over though answers are missing
measured    labels, metrics, checksums of the votes and weights
ended       why
reopened    total: goes on after its end, or with another budget; rules: "past" where a stop rule no longer counts
resumed     nothing: only where and when, and for a person's campaign what is not as it was when it began
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS = ("begun", "split", "class", "proposed", "answered", "closed", "measured", "ended", "reopened", "resumed")


@dataclass(frozen=True)
class Event:
    """One line of the ledger."""

    kind: str
    round: int = 0
    body: Mapping[str, Any] = field(default_factory=dict)
    """What is the same in every run with this config and these answers."""
    who: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """What depends on the clock or the machine: seconds, versions, threads."""
    uid: str | None = None
    """Made by whoever sends it; the same one twice is one event."""
    at: float = 0.0
    """Seconds since 1970; set when committed."""
    number: int = 0
    """Set when committed."""


def encoded(value: Mapping[str, Any]) -> str:
    """JSON with sorted keys; numbers that are not finite are refused."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def chained(before: str, event: Event, at: float) -> str:
    """A hash of this event and of all before it: a line that was changed later is found by `verify`."""
    parts = [before, event.kind, event.round, encoded(event.body), event.who, encoded(event.environment), event.uid, at]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
