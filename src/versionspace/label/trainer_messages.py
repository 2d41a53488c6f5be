"""Messages between the trainer process and its supervisor: one JSON object per line. Imports no training framework.

to the trainer    {"size": 12}               train on the current labels, ask for this many images
from the trainer  {"kind": "ready", "missing": [...]}       ids of images that are missing from the folder
                  {"kind": "step", "round": 3, "stage": "fit", "share": 0.4}
                  {"kind": "round", "events": [...], "votes": {...}, "last_event": 57}
                  {"kind": "failed", "text": "..."}
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from versionspace.label.messages import PoolVotes
from versionspace.store import Event
from versionspace.types import Array


@dataclass(frozen=True)
class RoundResult:
    """A finished round, to be committed by the process that holds the ledger."""

    events: list[Event]
    votes: PoolVotes | None = None
    """None if the members did not vote on the pool."""
    last_event: int | None = None
    """Number of the last event that the round took into account; None if unknown."""

    def to_message(self) -> dict[str, Any]:
        """Return the message that carries this round."""
        votes = None if self.votes is None else {
            "classes": list(self.votes.classes),
            "majority": _to_text(self.votes.majority.astype(np.int32)),
            "agreement": _to_text(self.votes.agreement.astype(np.float32)),
        }  # fmt: skip
        events = [
            {"kind": event.kind, "round": event.round, "body": event.body, "environment": event.environment}
            for event in self.events
        ]
        return {"kind": "round", "events": events, "votes": votes, "last_event": self.last_event}

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> "RoundResult":
        """Return the round that a message carries."""
        events = [Event(e["kind"], e["round"], e["body"], environment=e["environment"]) for e in message["events"]]
        votes = message["votes"]
        if votes is not None:
            majority, agreement = _to_array(votes["majority"], np.int32), _to_array(votes["agreement"], np.float32)
            votes = PoolVotes(tuple(votes["classes"]), majority, agreement)
        return cls(events, votes, message["last_event"])


def _to_text(array: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def _to_array(text: str, dtype: Any) -> Array:
    return np.frombuffer(base64.b64decode(text), dtype)
