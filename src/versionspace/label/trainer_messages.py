"""Messages between the trainer process and its supervisor: one JSON object per line. Imports no training framework.

to the trainer    {"size": 12}               train on the current labels, ask for this many images
                  {"final": true}            train the final model, on the labels of the audit, too
                  {"result": "predictions", "to": "…"}      write a file for download
from the trainer  {"kind": "reading", "text": "..."}    how far the folder is read
                  {"kind": "ready"}
                  {"kind": "missing", "missing": [...], "unreadable": {"...": "why"}}    ids of images to leave out
                  {"kind": "extracted", "done": 512, "total": 8000, "seconds": 37.0}     features; seconds left, or null
                  {"kind": "features", "ids": [...], "features": "..."}    of the images that a cold start chooses from
                  {"kind": "step", "round": 3, "stage": "fit", "share": 0.4}
                  {"kind": "round", "events": [...], "votes": {...}, "last_event": 57}
                  {"kind": "final", "body": {...}, "last_event": 61}
                  {"kind": "result", "result": "predictions", "labels": 60, "last_event": 61, "rows": 9, "problem": ""}
                  {"kind": "failed", "text": "..."}
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from versionspace.data import progress_text
from versionspace.label.messages import PoolVotes
from versionspace.store import Event
from versionspace.types import Array, ImageId


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


@dataclass(frozen=True)
class SampleFeatures:
    """Features of the images that a cold start chooses from."""

    ids: tuple[ImageId, ...]
    features: Array
    """(S, F), sent as float16."""

    def to_message(self) -> dict[str, Any]:
        """Return the message that carries these features."""
        with np.errstate(over="ignore"):
            small = np.nan_to_num(self.features.astype(np.float16))
        return {"kind": "features", "ids": list(self.ids), "features": _to_text(small)}

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> "SampleFeatures":
        """Return the features that a message carries."""
        features = _to_array(message["features"], np.float16).astype(np.float32)
        return cls(tuple(message["ids"]), features.reshape(len(message["ids"]), -1))


@dataclass(frozen=True)
class Extracted:
    """How many images have features, of how many, and the seconds until all have; None if not known yet."""

    done: int
    total: int
    seconds: float | None

    def text(self) -> str:
        """Return it as text.

        >>> Extracted(512, 8_000, 37.4).text()
        'features of 512 of 8,000 images, about 37 s left'
        """
        return f"features of {progress_text(self.done, self.total, self.seconds, ' images')}"

    def to_message(self) -> dict[str, Any]:
        """Return the message that carries this."""
        return {"kind": "extracted", "done": self.done, "total": self.total, "seconds": self.seconds}

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> "Extracted":
        """Return what a message carries."""
        return cls(message["done"], message["total"], message["seconds"])


def _to_text(array: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def _to_array(text: str, dtype: Any) -> Array:
    return np.frombuffer(base64.b64decode(text), dtype)
