"""The process that trains: ``python -m versionspace.label.trainer FOLDER``.

Orders come in on its standard input and news go out on its standard output, a line of JSON each. It reads the ledger
and never writes it. When its input ends, for whatever reason, it ends too, in the midst of a fit if need be.

    in   {"size": 12}                                   train on the labels there are; ask for so many images
    out  {"kind": "ready", "gone": [...]}               ids of images that are not there
         {"kind": "step", "round": 3, "stage": "fit", "share": 0.4}
         {"kind": "round", "events": [...], "guesses": {...}, "upto": 57}
                                                        to be committed by whoever holds the ledger
         {"kind": "failed", "text": "..."}
"""

import base64
import json
import os
import queue
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.campaign.images import opened, restored
from versionspace.campaign.learner import HEADS, learner, training_of
from versionspace.campaign.round import Rounds, Step
from versionspace.ensemble.predict import Opinions
from versionspace.errors import VersionspaceError
from versionspace.machine import cores
from versionspace.store.layout import Folder, read_arrays, read_config
from versionspace.store.ledger import Event, Ledger
from versionspace.store.state import replay
from versionspace.subprocesses import connect_to_parent
from versionspace.types import Array

NICE = 10


class Trainer:
    """One campaign's rounds, computed on snapshots of its ledger."""

    def __init__(self, folder: Path, tell: Any) -> None:
        self.folder, self.tell = Folder(folder), tell
        self.config = read_config(self.folder.config)
        pictures = restored(opened(self.config), read_arrays(self.folder.split), partly=True)
        threads = self.config.machine.threads or max(1, cores() - 1)
        if self.config.ensemble.net == HEADS:
            # The backbone looks at each image once, ever: while the person gives the first labels.
            tell({"kind": "step", "round": 0, "stage": "features", "share": 0.0})
            training = training_of(self.config, has_validation=False)
            learner(self.config, 2, lambda: pictures.of("pool"), training=training, threads=threads)
        self.said: Opinions | None = None
        self.rounds = Rounds(self.config, pictures, self.folder, threads=threads, report=self._step, seen=self._seen)

    def _seen(self, said: Mapping[str, Opinions]) -> None:
        """The page wants the members' vote on the pool: guesses, grids, second looks."""
        self.said = said.get("pool")

    def round(self, size: int) -> dict[str, Any]:
        """Trains on the labels of now; the news of it."""
        with Ledger.view(self.folder.ledger) as ledger:
            state = replay(ledger.events(), ledger=ledger.path)
        state.gone = self.rounds.pictures.gone
        for ask in state.asks:
            ask.closed = ask.purpose != "audit"  # whoever commits the round closes the asks before it
        query = self.config.query.model_copy(update={"size": size})
        self.rounds.config = self.config.model_copy(update={"query": query})
        events = self.rounds.compute(state, max(state.metrics, default=0) + 1)
        guesses = self._guesses(state.classes)
        return {"kind": "round", "events": [encode(e) for e in events], "guesses": guesses, "upto": state.last}

    def _guesses(self, classes: list[str]) -> dict[str, Any] | None:
        said = self.said
        if said is None:
            return None
        whole = self.rounds.pictures.over_whole_pool
        majority = whole(said.majority.astype(np.int32))
        agreement = whole((said.votes == said.majority).mean(axis=0).astype(np.float32))
        return {"classes": classes, "majority": _packed(majority), "agreement": _packed(agreement)}

    def _step(self, step: Step) -> None:
        self.tell({"kind": "step", "round": step.round, "stage": step.stage, "share": round(step.share, 3)})


def encode(event: Event) -> dict[str, Any]:
    """An event for the other side."""
    return {
        "kind": event.kind, "round": event.round, "body": event.body, "environment": event.environment,
    }  # fmt: skip


def decode(found: Mapping[str, Any]) -> Event:
    """An event from the other side."""
    return Event(found["kind"], found["round"], found["body"], environment=found["environment"])


def unpacked(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Guesses from the other side."""
    if found is None:
        return None
    majority = np.frombuffer(base64.b64decode(found["majority"]), np.int32)
    agreement = np.frombuffer(base64.b64decode(found["agreement"]), np.float32)
    return {"classes": found["classes"], "majority": majority, "agreement": agreement}


def _packed(array: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def main() -> None:
    """Takes orders until its input ends."""
    orders: queue.Queue[str] = queue.Queue()
    send = connect_to_parent(orders.put)
    if hasattr(os, "nice"):
        os.nice(NICE)

    def tell(news: Mapping[str, Any]) -> None:
        send(json.dumps(news) + "\n")

    try:
        trainer = Trainer(Path(sys.argv[1]), tell)
        tell({"kind": "ready", "gone": sorted(map(str, trainer.rounds.pictures.gone))})
        while True:
            tell(trainer.round(int(json.loads(orders.get())["size"])))
    except VersionspaceError as error:
        tell({"kind": "failed", "text": str(error)})
        sys.exit(1)


if __name__ == "__main__":
    main()
